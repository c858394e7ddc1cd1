"""Every field of line 1.5, written in the other version by one converter and read back by another: the Go operators 1.2 and 1.5, and ours.

The Go operators are played by what was measured of them. Both decode into types, so members of other lines, and in annotations ours, are
dropped. On line 1.5 a block of a checkpoint without its switch is off. What they do with the fields that they know is what we do on their
line: tests/golden compares that with recorded answers. A pair that can't be lossless stands in LOSSES with the reason.
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

Object = dict[str, Any]
ALPHA: Final = "v1alpha1"
BETA: Final = "v1beta1"
OURS_ALONE: Final = ("kept", "both", "mountsJoined", "profilerLine")


def _go(line: Line) -> Callable[[Object, str], Object]:
    def converted(obj: Object, version: str) -> Object:
        obj = _without_ours(obj)
        prune(obj, load_schema(obj["kind"], _version(obj), line))
        if line is Line.V1_5 and _version(obj) == BETA:
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


def _version(obj: Object) -> str:
    return str(obj["apiVersion"]).rpartition("/")[2]


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
            obj["spec"] = {"services": {"a": {}}} if self.version == ALPHA else {"components": [{"name": "a"}]}
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


OVERRIDE: Final = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": {"packDomain": None, "weight": 0.5}}}
POD: Final = ("schedulingGroup", {"podGroupName": "p"})


def _in_both(kind: str, left: tuple[str | int, ...], right: tuple[str | int, ...], value: Any) -> list[Field]:
    return [Field(kind, ALPHA, left, value), Field(kind, BETA, right, value)]


def _of_component(name: str, value: Any, right: tuple[str, ...] = (), *, graph_only: bool = False) -> list[Field]:
    steps, there = tuple(name.split(".")), right or tuple(name.split("."))
    graph = _in_both("GraphDeployment", ("spec", "services", "a", *steps), ("spec", "components", 0, *there), value)
    return graph if graph_only else graph + _in_both("ComponentDeployment", ("spec", *steps), ("spec", *there), value)


def _checkpoint(name: str, value: Any) -> list[Field]:
    """Members of an enabled block: it is there in both lines, so that the field alone is lost."""
    found = _of_component("checkpoint", {"enabled": True, name: value}, ("experimental", "checkpoint"))
    return [field for field in found if field.version == ALPHA]


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
    "F5": _checkpoint("startupPolicy", "WaitForCheckpoint"),
    "F6": _checkpoint("deletionPolicy", "Retain"),
    "F7 on": list(_of_component("checkpoint.enabled", True, ("experimental", "checkpoint", "enabled"))),
    "F7 off": list(_of_component("checkpoint.enabled", False, ("experimental", "checkpoint", "enabled"))),
    "F8": [
        field
        for others in ({}, {"gpuMemoryService": {"mode": "IntraPod"}})
        for field in _of_component("experimental", {"grove": {"forceScalingGroup": True}, **others})
        if field.version == BETA
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
        return ON if version == ALPHA else ON_OF_BETA
    if name == "F7 off":
        return OFF if version == ALPHA else OFF_OF_BETA
    return LOSSES[name]


@pytest.mark.parametrize("name", FIELDS)
def test_who_reads_whom(name: str) -> None:
    for field in FIELDS[name]:
        lost = set()
        for writer, there in CONVERTERS.items():
            for reader, back in CONVERTERS.items():
                other = there(field.object, BETA if field.version == ALPHA else ALPHA)
                found = lookup(back(other, field.version), field.path)
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
