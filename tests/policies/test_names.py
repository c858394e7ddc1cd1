"""Names of a graph are refused where its rendered children couldn't have them, and only there."""

import pytest

from dynamo_webhooks.admission.judging import judge
from dynamo_webhooks.conversion.lens.protocol import Fields
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.settings import Settings

_MAX_CHARACTERS = 63
_RULES = {"dynamo-namespace-length", "child-name-length"}


def _graph(namespace: int, graph: int, component: int, **fields: object) -> Fields:
    metadata = {"name": "g" * graph, "namespace": "n" * namespace}
    engine = {"name": "main", "image": "example/vllm:1.6.0", "args": ["serve"], "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    worker = {"name": "C" * component, "podTemplate": {"spec": {"containers": [engine]}}, **fields}
    kind, version = "DynamoGraphDeployment", "nvidia.com/v1beta1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"components": [worker]}}


def _refused(obj: Fields, *, grove: bool, old: Fields | None = None) -> bool:
    review = Review("DynamoGraphDeployment/v1beta1", UPDATE if old else CREATE, obj, old, facts=Facts(grove=grove, lws=True))
    return any(finding.rule.name in _RULES for finding in judge(review))


def _list_names(value: object) -> list[str]:
    """All that becomes a label, and the names of Services, of children."""
    if isinstance(value, list):
        return [name for item in value for name in _list_names(item)]
    if not isinstance(value, dict):
        return []
    own = [str(label) for label in (value.get("labels") or {}).values()] if isinstance(value.get("labels"), dict) else []
    own += [value["metadata"]["name"]] if value.get("kind") == "Service" else []
    return own + [name for item in value.values() for name in _list_names(item)]


@pytest.mark.parametrize("grove", [False, True])
@pytest.mark.parametrize("kind", ["frontend", "worker", "decode", "planner"])
def test_names_are_refused_where_children_cannot_have_them(kind: str, *, grove: bool) -> None:
    settings = Settings(grove=grove, lws=True)
    for namespace, graph, component in ((1, 31, 22), (1, 31, 23), (1, 31, 31), (1, 31, 32), (34, 28, 3), (34, 29, 3), (34, 31, 3)):
        obj = _graph(namespace, graph, component, type=kind)
        children = render(obj, settings)
        assert not children.problems
        too_long = any(len(name) > _MAX_CHARACTERS for name in _list_names(children.children))
        assert _refused(obj, grove=grove) is too_long, (namespace, graph, component)


def test_what_is_named_otherwise_is_admitted() -> None:
    assert _refused(_graph(34, 31, 3, type="planner"), grove=True)
    assert not _refused(_graph(34, 31, 3, type="planner", globalDynamoNamespace=True), grove=True)
    assert _refused(_graph(1, 31, 32, type="worker", multinode={"nodeCount": 2}), grove=True)
    assert not _refused(_graph(1, 31, 32, type="worker", multinode={"nodeCount": 2}), grove=False), "its set has a cut name"


def test_a_graph_that_is_there_is_not_refused_for_its_names() -> None:
    long = _graph(34, 31, 33, type="frontend")
    assert not _refused({**long, "metadata": {**long["metadata"], "labels": {"a": "b"}}}, grove=True, old=long)
