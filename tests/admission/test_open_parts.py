"""Parts of role templates that definitions leave open are judged by the webhook as `check` does offline."""

from copy import deepcopy
from typing import Any, Final

import pytest

from dynamo_webhooks.admission.open_parts import judge_open_parts
from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from tests.admission.writes import sent

MAIN: Final = {"name": "main", "image": "example/vllm:1.6.0", "readinessProbe": {"httpGett": {}}}
WRONG: Final = {
    "containers": [MAIN],
    "affinity": {"nodeAfinity": {}},
    "volumes": [{"name": "a", "emptydir": {}}, {"name": "b", "flexVolume": {}}, {"name": "c", "emptyDir": {}}],
}
GOOD: Final = {"containers": [{"name": "main", "image": "example/vllm:1.6.0"}], "volumes": [{"name": "c", "emptyDir": {"medium": None}}]}
FOUND: Final = {
    "containers[0].readinessProbe.httpGett": "unknown-field",
    "affinity.nodeAfinity": "unknown-field",
    "volumes[0].emptydir": "unknown-field",
    "volumes[1].flexVolume.driver": "schema-mismatch",
}


def _object(kind: str, version: str, pod: dict[str, Any]) -> dict[str, Any]:
    roles = [{"name": name, "podTemplate": {"spec": deepcopy(spec)}} for name, spec in (("leader", GOOD), ("worker", pod))]
    component = {"name": "w", "type": "worker", "multinode": {"nodeCount": 2}, "roles": roles}
    graph = kind == "DynamoGraphDeployment"
    spec = {"components": [component]} if graph else {name: value for name, value in component.items() if name != "name"}
    obj = {"apiVersion": f"nvidia.com/{BETA}", "kind": kind, "metadata": {"name": "g", "namespace": "n"}, "spec": spec}
    return obj if version == BETA else dict(convert(KINDS[kind], obj, ALPHA).object)


def _judge(kind: str, version: str, obj: dict[str, Any], old: dict[str, Any] | None = None, line: Line = Line.V1_6) -> dict[str, str]:
    review = Review(f"{kind}/{version}", UPDATE if old else CREATE, obj, old, facts=Facts(operatorLine=line))
    return {format_path(finding.path).partition("podTemplate.spec.")[2]: finding.rule.name for finding in judge_open_parts(review, 100)}


@pytest.mark.parametrize("version", [ALPHA, BETA])
def test_what_an_api_server_refuses_of_a_pod_is_refused_of_a_roles_too(version: str) -> None:
    main = {"name": "main", "image": "example/vllm:1.6.0", "readinessProbe": {"periodSeconds": 5}}
    limits = {"requests": {"nvidia.com/gpu": "1"}}
    pod = {
        "containers": [{**main, "resources": limits}, {"name": "side", "image": "a", "volumeMounts": [{"name": "x", "mountPath": "/x"}]}]
    }
    paths = {"containers[0].readinessProbe", "containers[0].resources.requests[nvidia.com/gpu]", "containers[1].volumeMounts[0].name"}
    obj = _object("DynamoGraphDeployment", version, pod)
    assert _judge("DynamoGraphDeployment", version, obj) == dict.fromkeys(paths, "pod-refused")
    assert _judge("DynamoGraphDeployment", version, obj, deepcopy(obj)) == {}


@pytest.mark.parametrize("kind", ["DynamoGraphDeployment", "DynamoComponentDeployment"])
@pytest.mark.parametrize("version", [ALPHA, BETA])
def test_what_the_definition_leaves_open_is_refused_unless_it_was_stored(kind: str, version: str) -> None:
    obj, good = _object(kind, version, WRONG), _object(kind, version, GOOD)
    before = deepcopy(obj)
    assert _judge(kind, version, obj) == FOUND
    assert _judge(kind, version, obj, good) == FOUND
    assert _judge(kind, version, obj, line=Line.V1_5) == {}
    assert _judge(kind, version, good) == {}
    assert _judge(kind, version, obj, deepcopy(obj)) == {}
    assert _judge(kind, version, {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}, good) == {}
    assert obj == before


def test_a_stored_mistake_is_forgiven_at_another_index_and_no_other_is() -> None:
    old = _object("DynamoGraphDeployment", BETA, WRONG)
    moved = {**WRONG, "volumes": [{"name": "new", "emptyDirr": {}}, *WRONG["volumes"]]}
    assert _judge("DynamoGraphDeployment", BETA, _object("DynamoGraphDeployment", BETA, moved), old) == {
        "volumes[0].emptyDirr": "unknown-field"
    }


def test_offline_checks_find_the_same() -> None:
    write = sent(_object("DynamoGraphDeployment", BETA, WRONG), facts=Facts(operatorLine=Line.V1_6))
    dropped = {format_path(path): "unknown-field" for path in write.shape().pruned}
    refused = {format_path(error.path): "schema-mismatch" for error in write.conform() if error.path}
    by_path = {path.partition("podTemplate.spec.")[2]: name for path, name in (dropped | refused).items()}
    assert by_path == FOUND
    assert judge_open_parts(write.review(), 100)[0].rule.name == "schema-mismatch", "unknown fields are gone"
