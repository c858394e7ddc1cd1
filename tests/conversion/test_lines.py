"""What line 1.5 adds, converted: every field comes over natively, in both lines, and a checkpoint's switch is written by the line."""

import json
from typing import Any, Final

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of

GRAPH: Final = "DynamoGraphDeployment"
OVERRIDE: Final = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {"packDomain": None, "weight": 0.5}}}
SERVICE: Final[dict[str, Any]] = {
    "minAvailable": 2,
    "runtimeVersionOverride": "1.5.0",
    "providerOverride": OVERRIDE,
    "multinode": {"nodeCount": 2},
    "roles": [{"name": "leader", "providerOverride": OVERRIDE}, {"name": "worker", "providerOverride": OVERRIDE}],
}
SPEC: Final[dict[str, Any]] = {
    "providerOverride": OVERRIDE,
    "experimental": {"kvTransferPolicy": {"domain": "rack", "clusterTopologyName": "t"}},
}
REPLICAS: Final = {"runtimeNamespace": "ns-g", "scheduledReplicas": 1, "replicas": 1, "updatedReplicas": 1, "componentKind": "PodClique"}
STATUS: Final[dict[str, Any]] = {"placement": {"state": "Reported", "score": 0.5}, "checkpoints": {"a": {"checkpointID": "x"}}}


def _object(version: str, spec: dict[str, Any], status: dict[str, Any] | None = None) -> dict[str, Any]:
    made = {"apiVersion": f"nvidia.com/{version}", "kind": GRAPH, "metadata": {"name": "g", "namespace": "ns"}, "spec": spec}
    return made if status is None else {**made, "status": status}


ALPHA: Final = _object(
    "v1alpha1",
    {**SPEC, "services": {"a": SERVICE}},
    {**STATUS, "state": "pending", "services": {"a": {**REPLICAS, "componentNames": ["p"], "componentName": "p"}}},
)
BETA: Final = _object(
    "v1beta1",
    {**SPEC, "components": [{"name": "a", **SERVICE}]},
    {**STATUS, "state": "pending", "components": {"a": {**REPLICAS, "componentNames": ["p"]}}},
)


def _said(obj: dict[str, Any]) -> dict[str, Any]:
    return {part: obj[part] for part in ("spec", "status") if part in obj}


def _kept(obj: dict[str, Any]) -> list[Any]:
    """What the remainder holds besides the sign that there is one."""
    notes = obj["metadata"].get("annotations") or {}
    return [entry for text in notes.values() for entry in json.loads(text).get("kept", [])]


@pytest.mark.parametrize("line", Line)
def test_every_added_field_has_its_place_in_the_other_version(line: Line) -> None:
    kind = kind_of(GRAPH, line)
    over, back = convert(kind, ALPHA, "v1beta1").object, convert(kind, BETA, "v1alpha1").object
    assert (_said(over), _said(back)) == (_said(BETA), _said(ALPHA))
    assert _kept(over) == _kept(back) == []
    assert convert(kind, over, "v1alpha1").object == ALPHA
    assert convert(kind, back, "v1beta1").object == BETA


def _checkpoint(
    line: Line, version: str, block: dict[str, Any], notes: dict[str, str] | None = None, uid: str = ""
) -> tuple[Any, dict[str, Any]]:
    """The converted block of a checkpoint, and the annotations."""
    if version == "v1beta1":
        obj = _object(version, {"components": [{"name": "a", "experimental": {"checkpoint": block}}]})
        obj["metadata"] |= {"uid": uid} if uid else {}
        there = convert(kind_of(GRAPH, line), obj, "v1alpha1").object
        return there["spec"]["services"]["a"].get("checkpoint"), there["metadata"].get("annotations", {})
    obj = _object(version, {"services": {"a": {"checkpoint": block}}})
    obj["metadata"]["annotations"] = notes or {}
    there = convert(kind_of(GRAPH, line), obj, "v1beta1").object
    return (there["spec"]["components"][0].get("experimental") or {}).get("checkpoint"), there["metadata"].get("annotations", {})


@pytest.mark.parametrize("line", Line)
def test_a_block_of_v1beta1_is_on_unless_it_says_otherwise(line: Line) -> None:
    assert _checkpoint(line, "v1beta1", {"checkpointRef": "c"})[0] == {"enabled": True, "checkpointRef": "c"}
    assert _checkpoint(line, "v1beta1", {"enabled": True})[0] == {"enabled": True}
    off = {"enabled": False, "startupPolicy": "Immediate"}
    assert _checkpoint(line, "v1beta1", off, uid="u")[0] == off
    # what no API server has stored is written as the Go operator does, which leaves v1alpha1's default out
    assert _checkpoint(line, "v1beta1", off)[0] == (off if line is Line.V1_2 else {"startupPolicy": "Immediate"})


def test_line_1_5_writes_the_switch_and_line_1_2_leaves_a_disabled_block_out() -> None:
    assert _checkpoint(Line.V1_5, "v1alpha1", {"enabled": False, "checkpointRef": "c"})[0] == {"enabled": False, "checkpointRef": "c"}
    assert _checkpoint(Line.V1_5, "v1alpha1", {"checkpointRef": "c"})[0] == {"enabled": False, "checkpointRef": "c"}
    assert _checkpoint(Line.V1_5, "v1alpha1", {"enabled": True})[0] == {"enabled": True}
    block, notes = _checkpoint(Line.V1_2, "v1alpha1", {"enabled": False, "checkpointRef": "c"})
    assert block is None, "a reader of line 1.2 takes a block for an enabled one"
    assert json.loads(notes["nvidia.com/dgd-spec"])["spec"]["services"]["a"]["checkpoint"] == {"enabled": False, "checkpointRef": "c"}
    assert _checkpoint(Line.V1_2, "v1alpha1", {"enabled": True})[0] == {}


A, B = {"name": "a", "mountPoint": "/a"}, {"name": "b", "mountPath": "/b"}
SPLIT: Final[dict[str, Any]] = {
    "volumeMounts": [{**A, "useAsCompilationCache": False}],
    "extraPodSpec": {"mainContainer": {"volumeMounts": [B]}},
}
NATIVE: Final = {"name": "a", "mountPath": "/a"}


def _to_beta(line: Line, service: dict[str, Any]) -> dict[str, Any]:
    return convert(kind_of(GRAPH, line), _object("v1alpha1", {"services": {"w": service}}), "v1beta1").object


def _to_alpha(line: Line, beta: dict[str, Any]) -> Any:
    return convert(kind_of(GRAPH, line), beta, "v1alpha1").object["spec"]["services"]["w"]


def _main(beta: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = beta["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]
    return found


def _as_go_wrote(beta: dict[str, Any]) -> dict[str, Any]:
    """The same with an annotation that says no more than the Go operator does."""
    notes = beta["metadata"]["annotations"]
    envelope = json.loads(notes["nvidia.com/dgd-spec"])
    envelope["spec"]["services"]["w"].pop("mountsJoined", None)
    notes["nvidia.com/dgd-spec"] = json.dumps({"version": 1, "spec": envelope["spec"]})
    return beta


def test_mounts_of_a_service_stand_beside_those_of_its_main_container_since_line_1_5() -> None:
    for line, mounts in ((Line.V1_2, [B]), (Line.V1_5, [B, NATIVE])):
        beta = _to_beta(line, SPLIT)
        assert _main(beta)["volumeMounts"] == mounts
        assert _to_alpha(line, beta) == SPLIT


def test_line_1_5_reads_the_mounts_of_both_lines() -> None:
    for line in Line:
        assert _to_alpha(Line.V1_5, _as_go_wrote(_to_beta(line, SPLIT))) == SPLIT


def test_edits_of_mounts_on_line_1_5_stay_with_the_half_that_they_concern() -> None:
    more = {"name": "c", "mountPath": "/c"}
    for edit, flat, over in (
        ([B], None, [B]),
        ([NATIVE], SPLIT["volumeMounts"], None),
        ([B, more, NATIVE], SPLIT["volumeMounts"], [B, more]),
        ([NATIVE, B], None, [NATIVE, B]),
        ([{**B, "readOnly": True}, {**NATIVE, "readOnly": True}], SPLIT["volumeMounts"], [{**B, "readOnly": True}]),
    ):
        beta = _to_beta(Line.V1_5, SPLIT)
        _main(beta)["volumeMounts"] = edit
        alpha = convert(kind_of(GRAPH, Line.V1_5), beta, "v1alpha1").object
        service = alpha["spec"]["services"]["w"]
        main = service.get("extraPodSpec", {}).get("mainContainer", {})
        assert (service.get("volumeMounts"), main.get("volumeMounts")) == (flat, over)
        assert _main(convert(kind_of(GRAPH, Line.V1_5), alpha, "v1beta1").object)["volumeMounts"] == edit


def test_a_plain_secret_of_v1beta1_stays_in_the_main_container_since_line_1_5() -> None:
    sources = [{"secretRef": {"name": "s"}}]
    beta = _object(
        "v1beta1", {"components": [{"name": "w", "podTemplate": {"spec": {"containers": [{"name": "main", "envFrom": sources}]}}}]}
    )
    assert _to_alpha(Line.V1_2, beta) == {"envFromSecret": "s"}
    assert _to_alpha(Line.V1_5, beta) == {"extraPodSpec": {"mainContainer": {"envFrom": sources}}}
    written = _to_beta(Line.V1_5, {"envFromSecret": "s"})
    assert _to_alpha(Line.V1_5, written) == {"envFromSecret": "s"}
    _main(written)["envFrom"] = [{"secretRef": {"name": "t"}}]
    assert _to_alpha(Line.V1_5, written) == {"envFromSecret": "t"}, "v1alpha1's manager sees his field changed, and none that hides it"


def test_a_sidecar_of_v1beta1_stays_a_container_since_line_1_5() -> None:
    side = {"name": "sidecar-frontend", "image": "i"}
    template = {"spec": {"containers": [{"name": "main", "image": "m"}, side]}}
    beta = _object("v1beta1", {"components": [{"name": "w", "frontendSidecar": "sidecar-frontend", "podTemplate": template}]})
    assert _to_alpha(Line.V1_2, beta)["frontendSidecar"] == {"image": "i"}
    alpha = convert(kind_of(GRAPH, Line.V1_5), beta, "v1alpha1").object
    assert alpha["spec"]["services"]["w"] == {"extraPodSpec": {"containers": [side], "mainContainer": {"image": "m"}}}
    assert convert(kind_of(GRAPH, Line.V1_5), alpha, "v1beta1").object == beta
    assert _to_alpha(Line.V1_5, _to_beta(Line.V1_5, {"frontendSidecar": {"image": "i"}})) == {"frontendSidecar": {"image": "i"}}


def test_any_component_type_is_copied_since_line_1_5() -> None:
    service = {"componentType": "Worker", "subComponentType": "other"}
    for line, said in ((Line.V1_2, None), (Line.V1_5, "Worker")):
        beta = _to_beta(line, service)
        assert beta["spec"]["components"][0].get("type") == said
        assert _to_alpha(line, beta) == service


def test_line_1_5_reads_the_component_type_that_line_1_2_left_out() -> None:
    """Objects in v1beta1 may have been written by a server of line 1.2 beside definitions of line 1.5."""
    service = {"componentType": "default"}
    beta = _to_beta(Line.V1_2, service)
    assert "type" not in beta["spec"]["components"][0]
    assert _to_alpha(Line.V1_5, beta) == service
    beta["spec"]["components"][0]["type"] = "worker"
    assert _to_alpha(Line.V1_5, beta) == {"componentType": "worker"}
    beta = _to_beta(Line.V1_5, {**service, "subComponentType": "other"})
    del beta["spec"]["components"][0]["type"]
    assert "componentType" not in _to_alpha(Line.V1_5, beta), "v1beta1 took the type away"


def test_resources_of_a_request_are_those_of_the_profiler_since_line_1_5() -> None:
    few, many = {"limits": {"cpu": "1"}}, {"limits": {"cpu": "8"}}
    for containers, old, new in (
        ([{"name": "side", "resources": few}, {"name": "profiler", "resources": many}], few, many),
        ([{"name": "", "resources": many}], many, many),
        ([{"name": "side", "resources": few}], few, None),
    ):
        job = {"template": {"spec": {"containers": containers}}}
        beta = {**_object("v1beta1", {"model": "m", "overrides": {"profilingJob": job}}), "kind": "DynamoGraphDeploymentRequest"}
        for line, resources in ((Line.V1_2, old), (Line.V1_5, new)):
            kind = kind_of("DynamoGraphDeploymentRequest", line)
            alpha = convert(kind, beta, "v1alpha1").object
            assert alpha["spec"].get("profilingConfig", {}).get("resources") == resources
            back = convert(kind, alpha, "v1beta1").object
            assert back["spec"]["overrides"]["profilingJob"] == job


@pytest.mark.parametrize("there", Line)
@pytest.mark.parametrize("here", Line)
def test_each_container_of_a_request_keeps_its_resources_whichever_line_reads_them(here: Line, there: Line) -> None:
    """`there` writes v1alpha1, and `here` reads it."""
    few, many, name = {"limits": {"cpu": "1"}}, {"limits": {"cpu": "8"}}, "DynamoGraphDeploymentRequest"
    for containers, edited in (
        ([{"name": "side", "resources": few}], None),
        ([{"name": "side", "resources": few}, {"name": "profiler", "resources": many}], None),
        ([{"name": "side"}, {"name": "profiler", "resources": many}], 1),
        ([{"name": "side"}, {"name": "profiler"}], None),
        ([{"name": "side"}], None),
    ):
        spec = {"model": "m", "overrides": {"profilingJob": {"template": {"spec": {"containers": containers}}}}}
        beta = {**_object("v1beta1", spec), "kind": name}
        alpha = convert(kind_of(name, there), beta, "v1alpha1").object
        back = convert(kind_of(name, here), alpha, "v1beta1").object
        assert back["spec"]["overrides"] == spec["overrides"]
        if edited is None or there is Line.V1_2:
            continue
        alpha["spec"]["profilingConfig"]["resources"] = few
        back = convert(kind_of(name, here), alpha, "v1beta1").object
        assert back["spec"]["overrides"]["profilingJob"]["template"]["spec"]["containers"][edited]["resources"] == few
