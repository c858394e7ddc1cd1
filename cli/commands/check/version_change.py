"""What stays in the cluster when a manifest changes its version by hand, though the new manifest doesn't say it.

On an apply, an API server removes what the manager said before, by the fields of the version in which he said it. It can't remove what the
new version has no field for, one entry of a list that v1alpha1 merges as a whole, and one of two fields that v1beta1 has as one.
"""

import copy
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ....api.kinds import ALPHA, BETA
from ....api.paths import Key, Path
from ....api.schema import whole_schema
from ....api.walk.default import default
from ....conversion.kinds import KINDS, field_rows
from ....conversion.remainder import annotation_keys
from ....policies.domain import list_containers

Fields = dict[str, Any]
GRAPH: Final = "DynamoGraphDeployment"
_EACH: Final = "{}"
_WHOLE: Final = "v1alpha1 merges the list as a whole, so the API server keeps its other entries"


class Stay(NamedTuple):
    """Something that stays; `path` is of the new manifest, or of the old one where the new version has no such field."""

    path: Path
    text: str


def stays(old: Fields, new: Fields) -> Iterator[Stay]:
    """What of an old manifest stays beside the new one of the other version; both can be read into their types."""
    kind, version = KINDS.get(new["kind"]), str(new["apiVersion"]).rpartition("/")[2]
    if kind is None:
        return
    if not set(annotation_keys(kind)) & ((new.get("metadata") or {}).get("annotations") or {}).keys():
        yield from _without_field(kind.name, old, new, version)
    for path, before, after in _components(old, new):
        yield from _entries(path, before, after) if version == BETA else _role(path, before, after)


def _without_field(kind: str, old: Fields, new: Fields, version: str) -> Iterator[Stay]:
    """Fields that the new version lacks; of components that remain, and only values other than the default."""
    names = {name for _, name in _named(new)}
    for left, right, _ in field_rows(KINDS[kind]):
        pattern = "" if left and right else right if version == ALPHA else left
        for path in _found(old, tuple(pattern.replace(_EACH, f".{_EACH}").split("."))) if pattern.startswith("spec.") else ():
            if (path[1] != "services" or path[2] in names) and not _by_default(old, path):
                reason = f"{version} has no field for it, so the annotation {annotation_keys(KINDS[kind])[0]} keeps it"
                yield Stay(path, f"stays in the cluster after the move to {version}: {reason}")


def _found(value: Any, pattern: tuple[str, ...], path: Path = ()) -> Iterator[Path]:
    if not pattern:
        yield path
    elif type(value) is dict:
        for name in value if pattern[0] == _EACH else (pattern[0],):
            if value.get(name) is not None:
                yield from _found(value[name], pattern[1:], (*path, Key(name) if pattern[0] == _EACH else name))


def _by_default(obj: Fields, path: Path) -> bool:
    left, last = copy.deepcopy(obj), str(path[-1])
    holder = _at(left, path[:-1])
    value = holder.pop(last)
    default(left, whole_schema(obj["kind"], str(obj["apiVersion"]).rpartition("/")[2]))
    return bool(holder.get(last) == value)


def _named(obj: Fields) -> Iterator[tuple[Path, str]]:
    """Where the components of a graph are, and their names; for a component the spec."""
    spec = obj.get("spec") or {}
    if obj["kind"] != GRAPH:
        yield ("spec",), ""
    for name in spec.get("services") or ():
        yield ("spec", "services", Key(name)), name
    for index, one in enumerate(spec.get("components") or ()):
        yield ("spec", "components", index), one.get("name")


def _components(old: Fields, new: Fields) -> Iterator[tuple[Path, Fields, Fields]]:
    """Components that are in both, and where in the new one."""
    before = {name: _at(old, path) for path, name in _named(old)}
    for path, name in _named(new):
        if name in before:
            yield path, before[name], _at(new, path)


def _at(value: Any, path: Path) -> Fields:
    for name in path:
        value = value[name]
    return value or {}


def _entries(path: Path, before: Fields, after: Fields) -> Iterator[Stay]:
    """Entries that the flat lists of v1alpha1 held and the component's containers don't, beside others."""
    sidecar = before.get("frontendSidecar") or {}
    for number, container in enumerate(list_containers(after)):
        where = (*path, "podTemplate", "spec", "containers", number)
        flat = {"main": before, after.get("frontendSidecar"): sidecar}.get(container.get("name")) or {}
        for (name, key), (other, other_key) in _LISTS.items():
            said = [item.get(key) for item in container.get(name) or ()]
            if name == "volumeMounts":
                said += [(after.get("compilationCache") or {}).get("mountPath")] if after.get("compilationCache") else []
            gone = [item[other_key] for item in flat.get(other) or () if item.get(other_key) and item[other_key] not in said]
            if gone and said:
                yield Stay((*where, name), f"still holds {', '.join(map(str, gone))} after the move from v1alpha1: {_WHOLE}")


_LISTS: Final = {("env", "name"): ("envs", "name"), ("volumeMounts", "mountPath"): ("volumeMounts", "mountPoint")}


def _role(path: Path, before: Fields, after: Fields) -> Iterator[Stay]:
    """The role of a worker, which v1beta1 has in its type."""
    role = before.get("type")
    if role in ("prefill", "decode") and after.get("componentType") == "worker" and not after.get("subComponentType"):
        yield Stay(
            (*path, "componentType"), f"still comes with subComponentType {role} after the move from v1beta1, whose type is both fields"
        )
