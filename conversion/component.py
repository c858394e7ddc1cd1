"""The component struct, shared by a graph's services and the spec of a standalone component."""

from collections.abc import Iterator
from typing import Any, Final

from ..api.line import Line
from ..api.paths import Path
from ..api.quantity import is_zero
from .experimental import Experimental
from .kind import RIGHT, property_of
from .lens.protocol import Context, Fields, Group, Lens, Row
from .lens.simple import OneSided, View, same
from .lens.structs import object_member
from .pod_template.lens import PodTemplate

_MEMBER: Final = "eppConfig"
_STALENESS: Final = "metricsStalenessThreshold"
_NONE: Final = "0s"  # the picker's default


class EndpointPicker(Lens):
    """Copied; a saturation detector without a staleness threshold gets zero, which the Go operator always writes.

    The engine saves that it was absent.
    """

    left: tuple[str, ...] = (_MEMBER,)
    right: tuple[str, ...] = (_MEMBER,)

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Copies."""
        _copy(left, right)

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Copies."""
        _copy(right, left)

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """Returns the path, which is the same on both sides."""
        return path

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """Returns the path, which is the same on both sides."""
        return path

    def rows(self) -> Iterator[Row]:
        """One row."""
        yield Row(_MEMBER, _MEMBER, "copied; a saturation detector always has a staleness threshold")


def _copy(source: Fields, target: Fields) -> None:
    value = source.get(_MEMBER)
    if value is not None:
        target[_MEMBER] = _set_staleness(value)


def _set_staleness(picker: Any) -> Any:
    if type(picker) is not dict:
        return picker
    config = object_member(picker, "config")
    detector = config.get("saturationDetector")
    if type(detector) is not dict or detector.get(_STALENESS) is not None:
        return picker
    return {**picker, "config": {**config, "saturationDetector": {**detector, _STALENESS: _NONE}}}


_PHASES: Final = ("prefill", "decode")
# the types of line 1.2; on later ones conversion copies any
_TYPES: Final = frozenset(property_of("DynamoComponentDeployment", RIGHT, "spec", "type")["enum"]) - {"lpx"}
_ROLES: Final = _TYPES.difference(_PHASES)


class Roles(Group):
    """`type` is role and phase in one word; a saved sub-role belongs to the component type that it was written with.

    A component type that v1beta1 lacks is left out there and saved, because the schema would refuse the object.
    """

    left: tuple[str, ...] = ("componentType", "subComponentType")
    right: tuple[str, ...] = ("type",)

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Save the pair if the type doesn't imply it."""
        kind = left.get("componentType")
        if type(kind) is str and kind in _ROLES and left.get("subComponentType") is None:  # the usual case
            right["type"] = kind
            return
        role = _type_of(left, context.line)
        pair = {name: left[name] for name in self.left if left.get(name) is not None}
        if role is None and remainder.get("type") is not None and pair == _roles_of(remainder["type"]):
            role = remainder["type"]
        if role is not None:
            right["type"] = role
        if context.saving and pair != _roles_of(role) and any(pair.values()):
            save.update(pair)

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Restore a pair that matches the live type; a sub-role saved alone belongs to the live component type."""
        live = right.get("type")
        if live is not None and not _has_type(live, context.line):
            save["type"] = live  # the schema refuses it; rules read it in v1alpha1
        roles = _roles_of(live)
        remembered = {name: remainder[name] for name in self.left if remainder.get(name) is not None} if remainder else None
        if remembered:
            whole = remembered if "componentType" in remembered else {**roles, **remembered}
            if _type_of(whole, context.line) == live or (live is None and _is_omitted(remembered)):
                roles = whole
            elif context.line >= Line.V1_3 and _type_of(beside := {**roles, **remembered, **roles}, context.line) == live:
                roles = beside  # a sub-role stays beside another type, as the Go operator has it
        left.update(roles)

    def rows(self) -> Iterator[Row]:
        """One row."""
        yield Row("componentType, subComponentType", "type", "worker with prefill or decode is that phase; other sub-roles are kept aside")


def _type_of(left: Fields, line: Line) -> Any:
    kind, sub = left.get("componentType"), left.get("subComponentType")
    role = sub if kind == "worker" and sub in _PHASES else kind
    return role if _has_type(role, line) else None


def _is_omitted(pair: Fields) -> bool:
    """Whether line 1.2 leaves the type out in v1beta1; line 1.3, which writes it, saves no such pair."""
    return tuple(pair) == ("componentType",) and not _has_type(pair["componentType"], Line.V1_2)


def _has_type(role: Any, line: Line) -> bool:
    """Whether v1beta1 has the type: any string since line 1.3, as the Go operator copies it, and the values of the schema on line 1.2."""
    return type(role) is str and (role in _TYPES or (line >= Line.V1_3 and bool(role)))


def _roles_of(role: Any) -> Fields:
    if role is None:
        return {}
    return {"componentType": "worker", "subComponentType": role} if role in _PHASES else {"componentType": role}


def _none(value: Any) -> bool:
    try:
        return value is None or (type(value) in (str, int, float) and is_zero(value))
    except ValueError:
        return False


def _size_of(left: Fields) -> Fields:
    memory = left.get("sharedMemory")
    if type(memory) is not dict:
        return {}
    if memory.get("disabled") is True:
        return {"sharedMemorySize": "0"}
    size = memory.get("size")
    return {} if _none(size) else {"sharedMemorySize": size}


def _memory_of(right: Fields) -> Fields:
    size = right.get("sharedMemorySize")
    if size is None:
        return {}
    return {"sharedMemory": {"disabled": True} if _none(size) else {"size": size}}


def _adapter_of(left: Fields) -> Fields:
    adapter = left.get("scalingAdapter")
    return {"scalingAdapter": {}} if type(adapter) is dict and adapter.get("enabled") is True else {}


def _switched_on(right: Fields) -> Fields:
    return {} if right.get("scalingAdapter") is None else {"scalingAdapter": {"enabled": True}}


def lenses(*shared: str) -> list[Lens]:
    """The lenses of a component, without its name; `shared` are further members that are the same on both sides."""
    names = ("globalDynamoNamespace", "replicas", "minAvailable", "runtimeVersionOverride", "multinode", "roles", "modelRef")
    return [
        Roles(),
        *same(*names, "topologyConstraint", *shared),
        EndpointPicker(),
        OneSided(left=("dynamoNamespace", "autoscaling", "ingress")),
        OneSided(left=("annotations", "labels"), save_if=bool),
        View(("sharedMemory",), ("sharedMemorySize",), _size_of, _memory_of, "the size; zero is disabled"),
        View(("scalingAdapter",), ("scalingAdapter",), _adapter_of, _switched_on, "present while enabled"),
        Experimental(),
        PodTemplate(),
    ]
