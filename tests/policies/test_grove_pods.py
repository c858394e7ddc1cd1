"""An update is refused where it would change what Grove never changes in the set that is rendered, and only there."""

import copy
from typing import Any

from dynamo_webhooks.admission.judging import judge
from dynamo_webhooks.conversion.lens.protocol import Fields
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.settings import Settings
from tests.rows import run_each

_MINE = {"schedulerName": "mine"}
_NODES: dict[str, Any] = {"multinode": {"nodeCount": 2}}


def _graph(framework: str = "", pod: Fields | None = None, gpus: str = "1", engine: str = "vllm", **fields: Any) -> Fields:
    resources = {"limits": {"nvidia.com/gpu": gpus}}
    main = {"name": "main", "image": "example/vllm:1.2.0", "args": [f"python3 -m dynamo.{engine}"], "resources": resources}
    components = [
        {"name": "frontend", "type": "frontend", "podTemplate": {"spec": {"containers": [{"name": "main", "image": "a"}]}}},
        {"name": "w", "type": "worker", **fields, "podTemplate": {"spec": {"containers": [main], **(pod or {})}}},
    ]
    spec = {"components": components, **({"backendFramework": framework} if framework else {})}
    kind, metadata = "DynamoGraphDeployment", {"name": "g", "namespace": "ns"}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}


def _shared(*, gpus: str = "1", replicas: int | None = None, **service: Any) -> Fields:
    """A graph whose pods share memory of GPUs."""
    scaled: Fields = {} if replicas is None else {"replicas": replicas}
    return _graph("vllm", gpus=gpus, experimental={"gpuMemoryService": {"mode": "InterPod", **service}}, **scaled)


def _scheduled(obj: Fields, name: str) -> Fields:
    obj = copy.deepcopy(obj)
    for component in obj["spec"]["components"]:
        component["podTemplate"]["spec"]["schedulerName"] = name
    return obj


def _list_refusals(obj: Fields, old: Fields | None = None, *, grove: bool = True) -> list[str]:
    facts = Facts(grove=grove, lws=True, dra=True, operatorVersion="1.2.0", operatorPrincipal="")
    review = Review("DynamoGraphDeployment/v1beta1", UPDATE if old else CREATE, obj, old, facts=facts)
    return [finding.rule.name for finding in judge(review) if finding.level == "error"]


def _read_fixed(obj: Fields) -> object:
    """What Grove refuses to change."""
    rendered = render(obj, Settings(grove=True))
    assert not rendered.problems
    template = next(child for child in rendered.children if child["kind"] == "PodCliqueSet")["spec"]["template"]
    cliques = [
        (clique["name"], clique["spec"].get("startsAfter"), clique["spec"]["minAvailable"], clique["spec"]["podSpec"].get("schedulerName"))
        for clique in template["cliques"]
    ]
    return cliques, template["cliqueStartupType"], template.get("resourceClaimTemplates")


@run_each(
    ("before", "after", "rule"),
    [
        (_graph(), _graph(gpus="2"), ""),
        (_graph(), _graph(engine="trtllm"), ""),
        (_graph(**_NODES), _graph(**_NODES, replicas=2), ""),
        (_graph(**_NODES), _graph(multinode={"nodeCount": 3}), "grove-node-count-immutable"),
        (_graph(**_NODES), _graph(**_NODES, engine="sglang"), ""),
        (_graph(**_NODES), _graph(**_NODES, engine="trtllm"), "grove-engine-immutable"),
        (_graph(**_NODES, engine="trtllm"), _graph(**_NODES, engine="vllm"), "grove-engine-immutable"),
        (_graph(**_NODES, engine="trtllm"), _graph(**_NODES, engine="other"), "grove-engine-immutable"),
        (_shared(), _shared(replicas=2), ""),
        (_shared(), _shared(gpus="2"), "gms-interpod-claim-immutable"),
        (_shared(gpus="2"), _shared(gpus="1"), "gms-interpod-claim-immutable"),
        (_shared(), _shared(deviceClassName="mine"), "gms-interpod-claim-immutable"),
        (_shared(), _shared(deviceClassName="gpu.nvidia.com"), ""),
        (_scheduled(_graph(), "mine"), _scheduled(_graph(), "other"), "grove-scheduler-immutable"),
        (_graph(), _scheduled(_graph(), "mine"), "grove-scheduler-immutable"),
        (_scheduled(_graph(), "mine"), _graph(), "grove-scheduler-immutable"),
    ],
)
def test_a_change_is_refused_that_grove_refuses(before: Fields, after: Fields, rule: str) -> None:
    assert bool(rule) is (_read_fixed(before) != _read_fixed(after))
    refused = _list_refusals(after, before)
    assert set(refused) == ({rule} if rule else set())
    swapped = copy.deepcopy(after)
    swapped["spec"]["components"].reverse()
    assert set(_list_refusals(swapped, before)) == set(refused), "components are found by their names"


@run_each(
    ("obj", "rules"),
    [
        (_graph(pod={"nodeName": "a"}), ["grove-pod-placement"]),
        (
            _graph(pod={"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}),
            ["grove-pod-placement"],
        ),
        (_graph(pod={"topologySpreadConstraints": []}), []),
        (_graph(pod=_MINE), ["grove-one-scheduler"]),
        (_scheduled(_graph(), "mine"), []),
        (_graph(pod={"schedulerName": "kai-scheduler"}), []),  # KAI may be there, and have the other pods, too
    ],
)
def test_what_grove_refuses_of_pods_is_refused(obj: Fields, rules: list[str]) -> None:
    assert _list_refusals(obj) == rules
    assert _list_refusals(obj, grove=False) == []
    metadata = {**obj["metadata"], "labels": {"a": "b"}}
    assert _list_refusals({**obj, "metadata": metadata}, obj) == [], "a stored graph is not refused for what it has"


def test_a_scheduler_of_one_component_is_refused_by_an_update() -> None:
    assert _list_refusals(_graph(pod=_MINE), _graph()) == ["grove-one-scheduler", "grove-scheduler-immutable"]


def test_changes_that_only_grove_refuses_are_admitted_without_it() -> None:
    for after in (_graph(multinode={"nodeCount": 3}), _graph(**_NODES, engine="trtllm"), _scheduled(_graph(**_NODES), "mine")):
        assert _list_refusals(after, _graph(**_NODES), grove=False) == []
