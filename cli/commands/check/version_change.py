"""Oversights in a change of versions by hand: what stays in the cluster, and fields that are written as the other version has them.

On an apply, an API server removes what the manager said before, by the fields of the version in which he said it. It can't remove what the
new version has no field for, one entry of a list that v1alpha1 merges as a whole, and one of two fields that v1beta1 has as one.
`check --fix` moves fields of the other version to their places in the own one, by conversion.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from ....api.kinds import ALPHA, BETA, BY_NAME, api_version
from ....api.paths import MISSING, Key, Path, lookup
from ....api.schema import whole_schema
from ....api.walk.default import default
from ....conversion.kind import Kind
from ....conversion.kinds import KINDS, field_rows
from ....conversion.lens.protocol import ConversionError
from ....conversion.objects import convert_object, target
from ....conversion.remainder import annotation_keys
from ....conversion.translate import Translation
from ....policies.components import list_containers
from ....policies.review import Fields
from ...rewrite.align import Origin
from ...rewrite.tree import is_same_json
from ...validation.fixes import FieldEdit
from ..convert.fields import trace_converted

_ENTRIES: Final = {("env", "name"): ("envs", "name"), ("volumeMounts", "mountPath"): ("volumeMounts", "mountPoint")}  # of both versions
_LISTS: Final = ("components", "containers")  # of the other version, through which a field is reached by an item's name
_SERVICES: Final = ("spec", "services")
_EACH: Final = "{}"
_WHOLE: Final = "v1alpha1 merges the list as a whole, so the API server keeps its other entries"


class RetainedField(NamedTuple):
    """A field that stays in the cluster; `path` is of the new manifest, or of the old one where the new version has no such field."""

    path: Path
    text: str


def list_retained(old: Fields, new: Fields) -> Iterator[RetainedField]:
    """Fields of an old manifest that stay beside the new one of the other version; both can be read into their types."""
    kind, version = KINDS.get(new["kind"]), str(new["apiVersion"]).rpartition("/")[2]
    if kind is None:
        return
    if not set(annotation_keys(kind)) & ((new.get("metadata") or {}).get("annotations") or {}).keys():
        yield from _without_field(kind.name, old, new, version)
    before = _components(old)
    for name, (path, after) in _components(new).items():
        if name in before:
            yield from (_entries if version == BETA else _role)(path, before[name][1], after)


def _without_field(kind: str, old: Fields, new: Fields, version: str) -> Iterator[RetainedField]:
    """Fields that the new version lacks; of components that remain, and only values other than the default."""
    names = _components(new)
    for left, right, _ in field_rows(KINDS[kind]):
        pattern = "" if left and right else right if version == ALPHA else left
        for path in _match_paths(old, tuple(pattern.replace(_EACH, f".{_EACH}").split("."))) if pattern.startswith("spec.") else ():
            if (path[1] != "services" or path[2] in names) and not _by_default(old, path):
                reason = f"{version} has no field for it, so the annotation {annotation_keys(KINDS[kind])[0]} keeps it"
                yield RetainedField(path, f"stays in the cluster after the move to {version}: {reason}")


def _match_paths(value: Any, pattern: tuple[str, ...], path: Path = ()) -> Iterator[Path]:
    if not pattern:
        yield path
    elif type(value) is dict:
        for name in value if pattern[0] == _EACH else (pattern[0],):
            if value.get(name) is not None:
                yield from _match_paths(value[name], pattern[1:], (*path, Key(name) if pattern[0] == _EACH else name))


def _by_default(obj: Fields, path: Path) -> bool:
    left, last = copy.deepcopy(obj), str(path[-1])
    holder: Any = lookup(left, path[:-1])
    value = holder.pop(last)
    default(left, whole_schema(obj["kind"], str(obj["apiVersion"]).rpartition("/")[2]))
    return bool(holder.get(last) == value)


def _components(obj: Fields) -> dict[str, tuple[Path, Fields]]:
    """Finds the components of a graph: by name, the path and the content of each; for a component the spec."""
    spec = obj.get("spec") or {}
    components: dict[str, tuple[Path, Fields]] = {} if obj["kind"] == "DynamoGraphDeployment" else {"": (("spec",), spec)}
    components |= {name: (("spec", "services", Key(name)), service or {}) for name, service in (spec.get("services") or {}).items()}
    return components | {
        component.get("name"): (("spec", "components", index), component) for index, component in enumerate(spec.get("components") or ())
    }


def _entries(path: Path, before: Fields, after: Fields) -> Iterator[RetainedField]:
    """Entries that the flat lists of v1alpha1 held and the component's containers don't, beside others."""
    sidecar = before.get("frontendSidecar") or {}
    for number, container in enumerate(list_containers(after)):
        where = (*path, "podTemplate", "spec", "containers", number)
        flat = {"main": before, after.get("frontendSidecar"): sidecar}.get(container.get("name")) or {}
        for (name, key), (other, other_key) in _ENTRIES.items():
            listed = [item.get(key) for item in container.get(name) or ()]
            if name == "volumeMounts":
                listed += [(after.get("compilationCache") or {}).get("mountPath")] if after.get("compilationCache") else []
            gone = [item[other_key] for item in flat.get(other) or () if item.get(other_key) and item[other_key] not in listed]
            if gone and listed:
                yield RetainedField((*where, name), f"still holds {', '.join(map(str, gone))} after the move from v1alpha1: {_WHOLE}")


def _role(path: Path, before: Fields, after: Fields) -> Iterator[RetainedField]:
    """The role of a worker, which v1beta1 has in its type."""
    role = before.get("type")
    if role in ("prefill", "decode") and after.get("componentType") == "worker" and not after.get("subComponentType"):
        text = f"still comes with subComponentType {role} after the move from v1beta1, whose type is both fields"
        yield RetainedField((*path, "componentType"), text)


def move_fields(data: Fields, edits: Sequence[FieldEdit]) -> tuple[Fields, Origin] | None:
    """The object with the fields of edits moved, and where its values come from; None where they can't be without a decision.

    An edit's value is the line to convert for, and the field's path in the other version, with list items by name. Costs the object's size.
    """
    kind, version = data["kind"], str(data["apiVersion"]).partition("/")[2]
    other = BY_NAME[kind].other(version)
    named, rest = {"name": _name(data.get("metadata"))}, copy.deepcopy(data)
    part: Fields = {"apiVersion": api_version(other), "kind": kind, "metadata": named, "spec": {}}
    places: list[tuple[Path, Path]] = []
    line, _ = edits[0].value
    for edit in edits:
        value, block = lookup(data, edit.path), lookup(rest, edit.path[:-1])
        if value is MISSING or not isinstance(block, dict):
            return None
        del block[edit.path[-1]]
        placed = _put(part, edit.value[1], value)
        if placed is None or lookup(part, placed) is MISSING:  # two fields say different things of one
            return None
        places.append((placed, edit.path))
    try:
        converted = convert_object(part, target(api_version(version), line)).object
        home = convert_object({**converted, "metadata": named}, target(api_version(other), line)).object
    except ConversionError:
        return None
    if not _is_whole(KINDS[kind], part, converted, home):
        return None
    merged = _merged(rest.get("spec") or {}, converted["spec"])
    if merged is MISSING:
        return None
    new = {**rest, "spec": merged}
    back = trace_converted(KINDS[kind], part, new)

    def origin(path: Path) -> Path | None:
        if lookup(rest, path) is not MISSING:
            return path
        old = back(path)
        around = [place for place in places if old is not None and old[: len(place[0])] == place[0]]
        if old is None or not around:
            return None
        there, here = max(around, key=lambda place: len(place[0]))
        return (*here, *old[len(there) :])

    return new, origin


def _put(part: Any, path: Path, value: Any) -> Path | None:
    """Writes a value into an object, whose list items are found by name; returns the path with their indices, None without one."""
    steps: list[str | int] = []
    for step, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(part, list):
            index = next((index for index, item in enumerate(part) if _name(item) == step), len(part))
            if index == len(part):
                part.append({"name": str(step)})
            steps.append(index)
            part = part[index]
            continue
        if not isinstance(part, dict):
            return None
        steps.append(step)
        if following is None:
            part[str(step)] = _merged(part[step], value) if step in part else copy.deepcopy(value)
        else:
            part = part.setdefault(str(step), [] if step in _LISTS else {})
    return tuple(steps)


def _is_whole(kind: Kind, part: Fields, converted: Fields, home: Fields) -> bool:
    """Whether conversion has a place for each value; of several that share one, all must come back."""
    translation = Translation(kind, part, converted["apiVersion"].partition("/")[2], converted)
    shared: dict[Path, list[Path]] = {}
    for leaf in _leaves(part["spec"], ("spec",)):
        place = translation.translate(leaf)
        if place.exact:
            shared.setdefault(place.path, []).append(leaf)
        elif leaf[-1:] != ("name",) or not isinstance(leaf[-2], int):  # the name of a component or container is a key there
            return False
    several = (leaf for leaves in shared.values() if len(leaves) > 1 for leaf in leaves)
    return all(is_same_json(lookup(part, leaf), lookup(home, leaf)) for leaf in several)


def _leaves(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict) and value:
        for name, below in value.items():
            yield from _leaves(below, (*path, Key(name) if path == _SERVICES else name))
    elif isinstance(value, list) and value:
        for index, below in enumerate(value):
            yield from _leaves(below, (*path, index))
    else:
        yield path


def _merged(value: Any, other: Any) -> Any:
    """Both values in one; MISSING where they say different things of one field."""
    if isinstance(value, dict) and isinstance(other, dict):
        both = {**value, **other, **{name: _merged(value[name], other[name]) for name in value.keys() & other.keys()}}
        return MISSING if MISSING in both.values() else both
    if isinstance(value, list) and isinstance(other, list) and all(map(_name, (*value, *other))):
        merged = {_name(item): item for item in value}
        merged |= {name: _merged(merged.get(name, item), item) for item in other for name in (_name(item),)}
        return MISSING if MISSING in merged.values() else list(merged.values())
    return value if is_same_json(value, other) else MISSING


def _name(item: Any) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else ""
