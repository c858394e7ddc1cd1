"""The result of `kubectl apply`, worked out without a server: client-side by the last applied annotation, server-side by managed fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from ...api.schema import Node as Schema
from ...api.schema import resolve, whole_schema
from ...api.shape import child, item_key, keyed_items
from ...conversion.difference import MAX_DEPTH
from ...policies.review import Fields

Owned: TypeAlias = "dict[str, Owned]"  # fields, and items of lists by `item_key`; empty: the whole value

LAST: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ITSELF: Final = "\0"  # among owned fields, none of which can have this name: the value as a whole
_KUBECTL: Final = "kubectl"  # as `kubectl apply --server-side` calls itself
_SERVERS: Final = frozenset({"managedFields", "generation", "creationTimestamp", "selfLink"})


def simulate_apply(file: Fields, stored: Fields, live: Fields, kind: str) -> Fields:
    """The result of `kubectl apply`; `stored` is the object in the file's version, `live` as the cluster gave it, with its managed fields.

    A client-side apply merges maps, replaces lists, and removes what the annotation says was applied before and the file omits. A
    server-side apply merges lists by their keys, and removes fields that only its manager applied before in the same version and the file
    omits. Cost is linear in both objects; values below MAX_DEPTH are replaced as a whole.
    """
    version = str(file.get("apiVersion"))
    wanted = dict(file)
    if isinstance(metadata := file.get("metadata"), dict):  # of an exported file: what only a server writes is not applied
        wanted["metadata"] = {name: value for name, value in metadata.items() if name not in _SERVERS}
    if is_server_side(live):
        appliers, others = _managers(live)
        node = whole_schema(kind, version.partition("/")[2])
        merged: Fields = _merged(stored, wanted, _MergeContext(_owned(appliers, version), _owned(others, version), node))
        return merged
    metadata = wanted.get("metadata")
    if isinstance(metadata, dict) and metadata.get("annotations") is None:  # kubectl sends some, even if the file has none
        wanted["metadata"] = {**metadata, "annotations": {}}
    return _patched(stored, wanted, _last(live) or {}, 0)


def is_server_side(live: Fields) -> bool:
    """Whether an object is under server-side apply, so that the next one is that, too."""
    appliers, _ = _managers(live)
    return bool(appliers) and (_last(live) is None or _KUBECTL in {entry.get("manager") for entry in appliers})


def _last(live: Fields) -> Fields | None:
    """The object that `kubectl apply` applied last, in either version; None where its annotation is missing or can't be used."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST)
    try:
        last = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return last if isinstance(last, dict) else None


def _patched(stored: Fields, file: Fields, last: Fields, depth: int) -> Fields:
    """The result of kubectl's three-way merge patch."""
    out: Fields = {}
    for name, old in stored.items():
        if name not in file:
            if name not in last:
                out[name] = old
        elif (new := file[name]) is None:
            if name in last and last[name] is None:  # a null that was applied before is no change
                out[name] = old
        elif isinstance(old, dict) and isinstance(new, dict) and depth < MAX_DEPTH:
            before = last.get(name)
            out[name] = _patched(old, new, before if isinstance(before, dict) else {}, depth + 1)
        else:
            out[name] = new
    return out | {name: value for name, value in file.items() if name not in stored and value is not None}


def _managers(live: Fields) -> tuple[list[Fields], list[Fields]]:
    """The entries of managers that apply, of kubectl alone if it is one of them, and those of all others."""
    entries = (live.get("metadata") or {}).get("managedFields")
    managers = [
        entry for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict) and not entry.get("subresource")
    ]
    appliers = [entry for entry in managers if entry.get("operation") == "Apply"]
    appliers = [entry for entry in appliers if entry.get("manager") == _KUBECTL] or appliers
    return appliers, [entry for entry in managers if entry not in appliers]


def _owned(entries: Iterable[Fields], version: str) -> Owned:
    """Fields that any manager owns in a version."""
    owned: Owned = {}
    for entry in entries:
        if entry.get("apiVersion") == version:
            _add(owned, entry.get("fieldsV1"), 0)
    return owned


def _add(owned: Owned, fields: Any, depth: int) -> None:
    if not isinstance(fields, dict) or depth >= MAX_DEPTH:
        return
    for name, below in fields.items():
        what, _, rest = name.partition(":")
        if what == "f":
            _add(owned.setdefault(rest, {}), below, depth + 1)
        elif what == "k":
            _add(owned.setdefault(item_key(json.loads(rest)), {}), below, depth + 1)
        elif name == ".":
            owned[_ITSELF] = {}


class _MergeContext(NamedTuple):
    """A place in a server-side apply: what the applying manager owned there, what others own, and the schema."""

    ours: Owned | None
    others: Owned | None
    node: Schema | None
    depth: int = 0

    def below(self, step: str | int, key: str | None = None) -> _MergeContext:
        """The place of a field, or of the item of a list with a key."""
        name = str(step) if key is None else key
        node = child(self.node, step).node
        return _MergeContext((self.ours or {}).get(name), (self.others or {}).get(name), node, self.depth + 1)


def _merged(stored: Any, file: Any, at: _MergeContext) -> Any:
    """A stored value with the applied one."""
    if at.depth >= MAX_DEPTH:
        return file
    if isinstance(stored, dict) and isinstance(file, dict):
        if resolve(at.node or {}).get("x-kubernetes-map-type") == "atomic":
            return file
        out = {}
        for name, old in stored.items():
            below = at.below(name)
            if name in file:
                out[name] = _merged(old, file[name], below)  # a null, too, which an API server refuses
            elif (value := _left(old, below)) is not None:
                out[name] = value
        return out | {name: value for name, value in file.items() if name not in stored}
    olds, news = keyed_items(stored, at.node), keyed_items(file, at.node)
    if olds is None or news is None:
        return file
    if len(news) < len(file):  # an API server refuses a list with two items of one key
        return file
    made = [_merged(olds[key], new, at.below(0, key)) if key in olds else new for key, new in news.items()]
    kept = (_left(old, at.below(0, key)) for key, old in olds.items() if key not in news)
    return [*made, *(item for item in kept if item is not None)]


def _left(old: Any, at: _MergeContext) -> Any:
    """The rest of a value that the file leaves out; None for nothing."""
    if at.ours is None:
        return old
    if not at.ours or _ITSELF in at.ours:
        return _of_others(old, at)
    return _each(old, at, _left)


def _of_others(old: Any, at: _MergeContext) -> Any:
    """The part of a value that other managers own; None for nothing."""
    if at.others is None:
        return None
    return _each(old, at, _of_others) if at.others else old


def _each(old: Any, at: _MergeContext, part: Callable[[Any, _MergeContext], Any]) -> Any:
    """A value with a part of each of its fields or items; None where none has any."""
    if at.depth >= MAX_DEPTH:
        return None
    if isinstance(old, dict):
        fields = {name: value for name, below in old.items() if (value := part(below, at.below(name))) is not None}
        return fields or None
    items = keyed_items(old, at.node)
    parts = [value for key, item in (items or {}).items() if (value := part(item, at.below(0, key))) is not None]
    return parts or None
