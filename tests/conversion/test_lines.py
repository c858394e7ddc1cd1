"""What line 1.5 adds, converted: every field comes over natively, in both lines, and a checkpoint's switch is written by the line.

Every field is also written in the other version by one converter and read back by another: the Go operators 1.2 and 1.5, and ours. The Go
operators are played by what was measured of them. Both decode into types, so members of other lines, and in annotations ours, are dropped.
On line 1.5 a block of a checkpoint without its switch is off. What they do with the fields that they know is what we do on their line:
tests/golden compares that with recorded answers. A pair that can't be lossless stands in LOSSES with the reason.
"""

import copy
import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import MISSING, lookup
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of
from tests.laws.laws import other, version_of

GRAPH: Final = "DynamoGraphDeployment"
OVERRIDE: Final = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {"packDomain": None, "weight": 0.5}}}


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


Object = dict[str, Any]
V1ALPHA1: Final = "v1alpha1"
V1BETA1: Final = "v1beta1"
OURS_ALONE: Final = ("kept", "both", "mountsJoined", "profilerLine")


def _go(line: Line) -> Callable[[Object, str], Object]:
    def converted(obj: Object, version: str) -> Object:
        obj = _without_ours(obj)
        prune(obj, load_schema(obj["kind"], version_of(obj), line))
        if line is Line.V1_5 and version_of(obj) == V1BETA1:
            for component in _components(obj):
                if isinstance(block := lookup(component, ("experimental", "checkpoint")), dict):
                    block.setdefault("enabled", False)
        made = _without_ours(convert(kind_of(obj["kind"], line), obj, version).object)
        prune(made, load_schema(obj["kind"], version, line))
        return made

    return converted


def _ours(obj: Object, version: str) -> Object:
    return convert(kind_of(obj["kind"], Line.V1_5), obj, version).object


CONVERTERS: Final[dict[str, Callable[[Object, str], Object]]] = {"Go 1.2": _go(Line.V1_2), "Go 1.5": _go(Line.V1_5), "ours": _ours}


def _without_ours(obj: Object) -> Object:
    """A copy whose annotations lack the members that only this project reads."""
    obj = copy.deepcopy(obj)
    notes = obj["metadata"].get("annotations") or {}
    for key, text in notes.items():
        notes[key] = json.dumps(_dropped(json.loads(text)))
    return obj


def _dropped(value: Any) -> Any:
    return {name: _dropped(below) for name, below in value.items() if name not in OURS_ALONE} if type(value) is dict else value


def _components(obj: Object) -> list[Object]:
    spec = obj.get("spec") or {}
    return spec.get("components") or [spec]


class Field(NamedTuple):
    """A field of line 1.5 with a value, in the version that the object is written in."""

    kind: str
    version: str
    path: tuple[str | int, ...]
    value: Any

    @property
    def object(self) -> Object:
        obj: Object = {"apiVersion": f"nvidia.com/{self.version}", "kind": f"Dynamo{self.kind}", "metadata": {"name": "g"}}
        if self.kind == "GraphDeployment" and self.path[:2] not in (("spec", "services"), ("spec", "components")):
            obj["spec"] = {"services": {"a": {}}} if self.version == V1ALPHA1 else {"components": [{"name": "a"}]}
        node: Any = obj
        for step, after in zip(self.path, (*self.path[1:], ""), strict=True):
            if type(step) is int:
                node.append({"name": "a"})
                node = node[0]
            elif after == "":
                node[step] = copy.deepcopy(self.value)
            else:
                node = node.setdefault(step, [] if type(after) is int else {})
        return obj


POD: Final = ("schedulingGroup", {"podGroupName": "p"})


def _in_both(kind: str, left: tuple[str | int, ...], right: tuple[str | int, ...], value: Any) -> list[Field]:
    return [Field(kind, V1ALPHA1, left, value), Field(kind, V1BETA1, right, value)]


def _of_component(name: str, value: Any, right: tuple[str, ...] = (), *, graph_only: bool = False) -> list[Field]:
    steps, there = tuple(name.split(".")), right or tuple(name.split("."))
    graph = _in_both("GraphDeployment", ("spec", "services", "a", *steps), ("spec", "components", 0, *there), value)
    return graph if graph_only else graph + _in_both("ComponentDeployment", ("spec", *steps), ("spec", *there), value)


def _of_checkpoint(name: str, value: Any) -> list[Field]:
    """Members of an enabled block: it is there in both lines, so that the field alone is lost."""
    found = _of_component("checkpoint", {"enabled": True, name: value}, ("experimental", "checkpoint"))
    return [field for field in found if field.version == V1ALPHA1]


def _status(left: str, right: str, value: Any, kind: str = "GraphDeployment") -> list[Field]:
    return _in_both(kind, ("status", *left.split(".")), ("status", *right.split(".")), value)


FIELDS: Final[dict[str, list[Field]]] = {
    "F1": _of_component("minAvailable", 2),
    "F2": [
        *_of_component("runtimeVersionOverride", "1.5.0"),
        *_in_both("GraphDeploymentRequest", ("spec", "runtimeVersionOverride"), ("spec", "runtimeVersionOverride"), "1.5.0"),
    ],
    "F3": [
        *_in_both("GraphDeployment", ("spec", "providerOverride"), ("spec", "providerOverride"), OVERRIDE),
        *_of_component("providerOverride", OVERRIDE, graph_only=True),
    ],
    "F4 (roles)": _of_component("roles", [{"name": name, "providerOverride": OVERRIDE} for name in ("leader", "worker")], graph_only=True),
    "F5": _of_checkpoint("startupPolicy", "WaitForCheckpoint"),
    "F6": _of_checkpoint("deletionPolicy", "Retain"),
    "F7 on": list(_of_component("checkpoint.enabled", True, ("experimental", "checkpoint", "enabled"))),
    "F7 off": list(_of_component("checkpoint.enabled", False, ("experimental", "checkpoint", "enabled"))),
    "F8": [
        field
        for others in ({}, {"gpuMemoryService": {"mode": "IntraPod"}})
        for field in _of_component("experimental", {"grove": {"forceScalingGroup": True}, **others})
        if field.version == V1BETA1
    ],
    "F9": _in_both(
        "GraphDeployment",
        ("spec", "experimental", "kvTransferPolicy", "clusterTopologyName"),
        ("spec", "experimental", "kvTransferPolicy", "clusterTopologyName"),
        "t",
    ),
    "F10": _of_component("extraPodSpec." + POD[0], POD[1], ("podTemplate", "spec", POD[0])),
    "F11": [
        field
        for name, value in (("runtimeNamespace", "n"), ("scheduledReplicas", 1))
        for field in (
            *_status(f"services.a.{name}", f"components.a.{name}", value),
            *_status(f"service.{name}", f"component.{name}", value, "ComponentDeployment"),
        )
    ],
    "F12": _status("placement", "placement", {"state": "Reported", "score": 0.5}),
    "F13": _status("checkpoints.a.checkpointID", "checkpoints.a.checkpointID", "x"),
}

KNOWS_NOT: Final = "operator 1.2 decodes into types without the field"
LOSSES: Final[dict[str, dict[tuple[str, str], str]]] = {
    name: {(writer, reader): KNOWS_NOT for writer in CONVERTERS for reader in CONVERTERS if "Go 1.2" in (writer, reader)}
    for name in FIELDS
    if not name.startswith("F7")
}
ON: Final[dict[tuple[str, str], str]] = {("Go 1.2", "Go 1.5"): "1.2 writes no switch, and 1.5 takes a block without one as off"}
OFF: Final[dict[tuple[str, str], str]] = {
    (writer, "Go 1.2"): "1.2 takes a block as on, and the switch is dropped" for writer in ("Go 1.5", "ours")
}
OFF_OF_BETA: Final[dict[tuple[str, str], str]] = {
    **{("Go 1.2", reader): "1.2 takes a block as on, and writes that" for reader in CONVERTERS},
    **{(writer, "Go 1.2"): "1.2 leaves a block that is off out" for writer in ("Go 1.5", "ours")},
}
ON_OF_BETA: Final[dict[tuple[str, str], str]] = {
    (writer, "Go 1.2"): "definitions of 1.2 have no switch: a block is on" for writer in CONVERTERS
}


def _losses(name: str, version: str) -> dict[tuple[str, str], str]:
    if name == "F7 on":
        return ON if version == V1ALPHA1 else ON_OF_BETA
    if name == "F7 off":
        return OFF if version == V1ALPHA1 else OFF_OF_BETA
    return LOSSES[name]


def test_every_added_field_has_its_place_in_the_other_version(subtests: pytest.Subtests) -> None:
    for name in FIELDS:
        for line in Line:
            with subtests.test(name=name, line=line):
                for field in FIELDS[name]:
                    obj = {**field.object, "metadata": {"name": "g", "uid": "u"}}
                    notes = convert(kind_of(obj["kind"], line), obj, other(field.version)).object["metadata"].get("annotations") or {}
                    assert [entry for text in notes.values() for entry in json.loads(text).get("kept", [])] == []


def test_who_reads_whom(subtests: pytest.Subtests) -> None:
    for name in FIELDS:
        with subtests.test(name=name):
            for field in FIELDS[name]:
                lost = set()
                for writer, there in CONVERTERS.items():
                    for reader, back in CONVERTERS.items():
                        over = there(field.object, other(field.version))
                        found = lookup(back(over, field.version), field.path)
                        if found is MISSING or json.dumps(found, sort_keys=True) != json.dumps(field.value, sort_keys=True):
                            lost.add((writer, reader))
                assert lost == set(_losses(name, field.version)), field


def test_fields_of_kinds_with_one_version_are_not_converted() -> None:
    """F14 is a field of checkpoints, F15 of models."""
    for kind in ("DynamoCheckpoint", "DynamoModel"):
        with pytest.raises(KeyError):
            kind_of(kind, Line.V1_5)


def test_every_field_of_the_line_is_tried() -> None:
    assert {name.split()[0] for name in FIELDS} == {f"F{number}" for number in range(1, 14)}
    assert all(field.object for fields in FIELDS.values() for field in fields)
