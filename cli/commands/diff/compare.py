"""Compares two objects of one version beside their schema: lists with keys by key, quantities by amount, order where it means something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ....api.kinds import BY_NAME
from ....api.line import Line
from ....api.paths import MISSING, Key, Path, lookup
from ....api.quantity import is_quantity, parse
from ....api.schema import Node, resolve, whole_schema
from ....api.shape import child
from ....conversion.difference import MAX_DEPTH, are_identical, same_text
from ....conversion.kinds import KINDS
from ....conversion.remainder import ASIDE, reserved_keys
from ....conversion.translate import translate_path
from ....policies.annotations import ORIGIN_VERSION, WORKLOAD_PROVIDER
from ....policies.review import Fields
from ...objects.forms import read_in_version
from .secrets import is_secret_flag, is_secret_variable

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"
ORDER: Final = "order"  # the same entries, in another order

# lists whose order is read from front to back, although their entries have names
_ORDERED: Final = frozenset({"env", "envs", "initContainers"})
# of metadata: fields that the API server or kubectl writes
_SERVERS: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid", "deletionGracePeriodSeconds")
_CLIENTS: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ADDED_BY_OPERATOR: Final = frozenset({ORIGIN_VERSION, WORKLOAD_PROVIDER})  # of graphs
_NO_FIELD: Final = object()  # what a version holds that has no such field


class FieldChange(NamedTuple):
    """One difference; an absent side is None. `spelling`: both sides mean the same. `secret`: the surrounding text indicates a secret."""

    path: Path
    what: str
    before: Any
    after: Any
    spelling: bool = False
    secret: bool = False


class Difference(NamedTuple):
    """A change, and the version of its fields."""

    change: FieldChange
    version: str


def compare_objects(old: Any, new: Any, schema: Node | None, path: Path = ()) -> list[FieldChange]:
    """The differences of two values, in an order that depends on neither side's order of keys."""
    return list(_compare(old, new, schema, path))


def _compare(old: Any, new: Any, node: Node | None, path: Path) -> Iterator[FieldChange]:
    if isinstance(old, dict) and isinstance(new, dict) and len(path) < MAX_DEPTH:
        for name in sorted(old.keys() | new.keys()):
            step, below = child(node, name)
            yield from _compare(old.get(name, MISSING), new.get(name, MISSING), below, (*path, step))
    elif isinstance(old, list) and isinstance(new, list) and len(path) < MAX_DEPTH:
        yield from _lists(old, new, node, path)
    elif old is MISSING or new is MISSING:
        yield _one_sided(old, new, node, path)
    # values too deep for recursion are compared as text
    elif not (same_text(old, new) if isinstance(old, (dict, list)) else are_identical(old, new)):
        yield FieldChange(path, CHANGED, old, new, _is_same_amount(old, new, node, path))


def _one_sided(old: Any, new: Any, node: Node | None, path: Path) -> FieldChange:
    value = new if old is MISSING else old
    # an empty list or map says what its absence says; an empty block may switch something on
    same = value == [] or (value == {} and "additionalProperties" in resolve(node or {}))
    return FieldChange(path, ADDED, None, value, same) if old is MISSING else FieldChange(path, REMOVED, value, None, same)


def _is_same_amount(old: Any, new: Any, node: Node | None, path: Path) -> bool:
    """Whether a field is a quantity, by its schema or as one of the texts of v1alpha1 that are read so, and both are the same one."""
    here = resolve(node or {})
    typed = bool(here.get("x-kubernetes-int-or-string")) and "pattern" in here
    read = here.get("type") == "string" and ("resources" in path or path[-2:] == ("sharedMemory", "size"))
    return (typed or read) and is_quantity(old) and is_quantity(new) and parse(old) == parse(new)


def _lists(old: list[Any], new: list[Any], node: Node | None, path: Path) -> Iterator[FieldChange]:
    olds, news = _keyed(old, node), _keyed(new, node)
    if olds is None or news is None:
        yield from _by_index(old, new, node, path)
        return
    for key in sorted(olds.keys() | news.keys()):
        below = child(node, 0).node
        yield from _compare(olds.get(key, MISSING), news.get(key, MISSING), below, (*path, Key(key)))
    stayed = [key for key in olds if key in news]
    if stayed != [key for key in news if key in olds]:
        means = path[-1:] and path[-1] in _ORDERED
        yield FieldChange(path, ORDER, stayed, [key for key in news if key in olds], not means)


def _by_index(old: list[Any], new: list[Any], node: Node | None, path: Path) -> Iterator[FieldChange]:
    if resolve(node or {}).get("x-kubernetes-list-type") == "set" and sorted(map(repr, old)) == sorted(map(repr, new)):
        yield FieldChange(path, ORDER, old, new, spelling=True)
    elif len(old) != len(new):
        yield FieldChange(path, CHANGED, old, new)
    else:
        for index, (mine, theirs) in enumerate(zip(old, new, strict=True)):
            secret = index > 0 and (is_secret_flag(old[index - 1]) or is_secret_flag(new[index - 1]))
            # variables that share a name are no map, and a path without names is ambiguous
            variable = is_secret_variable(mine) or is_secret_variable(theirs)
            value = (*path, index, "value")
            for change in _compare(mine, theirs, child(node, index).node, (*path, index)):
                yield change._replace(secret=True) if secret or (variable and change.path == value) else change


def _keyed(items: list[Any], node: Node | None) -> dict[str, Any] | None:
    """The entries by the keys of the schema, else by name; None if these don't identify them."""
    names = tuple(resolve(node or {}).get("x-kubernetes-list-map-keys") or ("name",))
    by_key: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, dict) or not all(isinstance(item.get(name), (str, int)) for name in names):
            return None
        by_key["/".join(str(item[name]) for name in names)] = item
    return by_key if len(by_key) == len(items) else None


def strip_server_fields(obj: Fields, kind: str) -> Fields:
    """The object without values that no author wrote: server-written metadata, conversion's annotations, empty maps."""
    ours = reserved_keys(KINDS[kind]) if kind in KINDS else ()
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _SERVERS}
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {
        key: value for key, value in annotations.items() if key not in ours and not key.startswith(ASIDE) and key != _CLIENTS
    }
    metadata = {name: value for name, value in metadata.items() if value not in ({}, None)}
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "status")} | {"metadata": metadata}


def _drop_kept_fields(old: Fields, new: Fields) -> None:
    """Removes annotations of the webhooks that only one side has: an update that omits them keeps them."""
    both = [side["metadata"].get("annotations") or {} for side in (old, new)]
    for side, mine, theirs in ((old, *both), (new, *reversed(both))):
        if not _ADDED_BY_OPERATOR.isdisjoint(mine.keys() - theirs.keys()):
            rest = {key: value for key, value in mine.items() if key in theirs or key not in _ADDED_BY_OPERATOR}
            metadata = {name: value for name, value in side["metadata"].items() if name != "annotations"}
            side["metadata"] = {**metadata, "annotations": rest} if rest else metadata


def other_version(kind: str, version: str) -> str:
    """The version of a kind that a given one isn't; empty where there is none."""
    return BY_NAME[kind].other(version) if kind in KINDS else ""


class _VersionView(NamedTuple):
    """Both objects in one version."""

    kind: str
    version: str
    sides: tuple[Fields, Fields]

    def differences(self) -> list[Difference]:
        old, new = (strip_server_fields(side, self.kind) for side in self.sides)
        _drop_kept_fields(old, new)
        return [Difference(change, self.version) for change in compare_objects(old, new, whole_schema(self.kind, self.version))]

    def values_in(self, path: Path, other: _VersionView) -> list[object]:
        """Values of the corresponding field of the other version, for each side; `_NO_FIELD` where none corresponds exactly."""
        values: list[object] = []
        for mine, theirs in zip(self.sides, other.sides, strict=True):
            place = translate_path(KINDS[self.kind], _indexed(path, mine), mine, other.version, theirs)
            values.append(lookup(theirs, place.path) if place.exact else _NO_FIELD)
        return values


def find_differences(old: Fields, new: Fields, kind: str, version: str, line: Line) -> list[Difference]:
    """The differences, those of the asked version first. Raises: FormError.

    What differs in one version and is the same field with the same value in the other is a matter of spelling.
    """
    here = _VersionView(kind, version, (read_in_version(old, version, line), read_in_version(new, version, line)))
    other = other_version(kind, version)
    if not other:
        return here.differences()
    there = _VersionView(kind, other, (read_in_version(old, other, line), read_in_version(new, other, line)))
    differences = [_weighed(difference, here.values_in(difference.change.path, there)) for difference in here.differences()]
    rest = [(difference, there.values_in(difference.change.path, here)) for difference in there.differences()]
    differences += [difference for difference, other_values in rest if all(value is _NO_FIELD for value in other_values)]
    if all(difference.change.spelling for difference in differences):
        # if two fields have one meaning, the corresponding one may be absent: its value must not get lost
        differences += [
            difference
            for difference, other_values in rest
            if difference not in differences and all(value in (MISSING, _NO_FIELD) for value in other_values)
        ]
    return differences


def _weighed(difference: Difference, other_values: list[object]) -> Difference:
    old, new = other_values
    present = old not in (MISSING, _NO_FIELD) and new not in (MISSING, _NO_FIELD)
    return difference._replace(change=difference.change._replace(spelling=True)) if present and are_identical(old, new) else difference


def _indexed(path: Path, obj: object) -> Path:
    """A path by keys of lists as one by their indices, as far as the object goes."""
    steps: list[str | int] = []
    for name in path:
        step = name
        if isinstance(obj, list) and isinstance(name, Key):
            step = next((i for i, item in enumerate(obj) if isinstance(item, dict) and item.get("name") == name), name)
        steps.append(step)
        obj = lookup(obj, (step,))
    return tuple(steps)
