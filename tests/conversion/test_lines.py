"""What line 1.5 writes of a checkpoint's switch, of mounts, types and profiling Jobs, and what it reads of line 1.2.

That each field that a line adds has its place in the other version, recorded conversions show (tests/golden), and examples of line 1.6.
"""

import json
from typing import Any, Final

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import MISSING, lookup
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of
from tests.laws.laws import other

GRAPH: Final = "DynamoGraphDeployment"


def _object(version: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"nvidia.com/{version}", "kind": GRAPH, "metadata": {"name": "g", "namespace": "ns"}, "spec": spec}


def _checkpoint(line: Line, version: str, block: dict[str, Any], **metadata: str) -> tuple[Any, dict[str, Any]]:
    """The converted block of a checkpoint, and the annotations."""
    old = version == "v1alpha1"
    obj = _object(
        version,
        {"services": {"a": {"checkpoint": block}}} if old else {"components": [{"name": "a", "experimental": {"checkpoint": block}}]},
    )
    obj["metadata"] |= metadata
    there = convert(kind_of(GRAPH, line), obj, other(version)).object
    spec, notes = there["spec"], there["metadata"].get("annotations", {})
    return lookup(spec, ("components", 0, "experimental", "checkpoint") if old else ("services", "a", "checkpoint")), notes


def test_a_block_of_v1beta1_is_on_unless_it_says_otherwise(subtests: pytest.Subtests) -> None:
    for line in Line:
        with subtests.test(line=line):
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
    assert block is MISSING, "a reader of line 1.2 takes a block for an enabled one"
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
    main: dict[str, Any] = beta["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]
    return main


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


def test_each_container_of_a_request_keeps_its_resources_whichever_line_reads_them(subtests: pytest.Subtests) -> None:
    """`there` writes v1alpha1, and `here` reads it."""
    for there in Line:
        for here in Line:
            with subtests.test(there=there, here=here):
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


def test_fields_of_kinds_with_one_version_are_not_converted() -> None:
    """F14 is a field of checkpoints, F15 of models."""
    for kind in ("DynamoCheckpoint", "DynamoModel"):
        with pytest.raises(KeyError):
            kind_of(kind, Line.V1_5)
