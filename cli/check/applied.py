"""What an API server would hold after a file has been applied to a stored object: the file over it, and what others wrote.

An object that `kubectl apply` wrote, as its annotation shows, is applied so: lists are replaced, and what the annotation has and the file
lacks goes. Every other one is applied by the server: lists with keys are merged, and what was applied before in the same version by anybody
and is left out goes. Costs as much as both objects are large; below DEPTH a value is taken as a whole.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from dynamo_webhooks.api.schema import resolve, whole_schema
from dynamo_webhooks.api.shape import child
from dynamo_webhooks.conversion.difference import DEPTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynamo_webhooks.api.schema import Node
    from dynamo_webhooks.policies.review import Fields

Said: TypeAlias = "dict[str, Said]"  # what was applied before: fields, and items of lists by `_key`

LAST: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SERVERS: Final = frozenset({"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"})


def applied(file: Fields, stored: Fields, held: Fields, kind: str) -> Fields:
    """The result of the apply; `stored` is the object in the file's version, `held` as the cluster gave it, with its managed fields."""
    version = str(file.get("apiVersion"))
    asked = {**file, "status": stored.get("status")}
    if isinstance(metadata := file.get("metadata"), dict):  # of an exported file: what only a server writes is not applied
        asked["metadata"] = {name: value for name, value in metadata.items() if name not in _SERVERS}
    last = _last(held, version)
    schema = whole_schema(kind, version.partition("/")[2])
    merge, said, node = (_Merge(False), _managed(held, version), schema) if last is None else (_Merge(True), _tree(last, 0), None)
    merged = merge.maps(stored, asked, said, node, 0)
    return {name: value for name, value in merged.items() if value is not None}


def _last(held: Fields, version: str) -> Fields | None:
    """What `kubectl apply` says that it applied last; None where it says nothing that can be used."""
    text = ((held.get("metadata") or {}).get("annotations") or {}).get(LAST)
    try:
        last = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return last if isinstance(last, dict) and last.get("apiVersion") == version else None


def _tree(value: Any, depth: int) -> Said:
    return {name: _tree(below, depth + 1) for name, below in value.items()} if isinstance(value, dict) and depth < DEPTH else {}


def _managed(held: Fields, version: str) -> Said:
    """What those who apply said in a version, all of them together."""
    said: Said = {}
    entries = (held.get("metadata") or {}).get("managedFields")
    for entry in entries if isinstance(entries, list) else ():
        if (
            isinstance(entry, dict)
            and entry.get("operation") == "Apply"
            and entry.get("apiVersion") == version
            and not entry.get("subresource")
        ):
            _add(said, entry.get("fieldsV1"), 0)
    return said


def _add(said: Said, fields: Any, depth: int) -> None:
    if not isinstance(fields, dict) or depth >= DEPTH:
        return
    for name, below in fields.items():
        what, _, rest = name.partition(":")
        if what == "f":
            _add(said.setdefault(rest, {}), below, depth + 1)
        elif what == "k":
            _add(said.setdefault(_key(json.loads(rest)), {}), below, depth + 1)


class _Merge(NamedTuple):
    """One of both ways to apply; `whole`: what goes does with all below it, whoever wrote that."""

    whole: bool

    def maps(self, stored: Fields, file: Fields, said: Said, node: Node | None, depth: int) -> Fields:
        out: Fields = {}
        for name, old in stored.items():
            if name in file:
                value = self.values(old, file[name], said.get(name, {}), child(node, name).node, depth + 1)
            else:
                value = self.left(old, said.get(name), depth + 1)
            if value is not None:
                out[name] = value
        return out | {name: value for name, value in file.items() if name not in stored}

    def values(self, stored: Any, file: Any, said: Said, node: Node | None, depth: int) -> Any:
        if depth >= DEPTH:
            return file
        if isinstance(stored, dict) and isinstance(file, dict):
            return self.maps(stored, file, said, node, depth)
        olds, news = _items(stored, node), _items(file, node)
        if olds is None or news is None:
            return file
        below = child(node, 0).node
        kept = {
            key: item for key, old in olds.items() if key not in news and (item := self.left(old, said.get(key), depth + 1)) is not None
        }
        made = [self.values(olds[key], new, said.get(key, {}), below, depth + 1) if key in olds else new for key, new in news.items()]
        return [*made, *kept.values()]

    def left(self, old: Any, said: Said | None, depth: int) -> Any:
        """What stays of a value that the file leaves out; None for nothing."""
        if said is None:
            return old
        if self.whole or not said or not isinstance(old, dict) or depth >= DEPTH:
            return None
        left = {name: value for name, below in old.items() if (value := self.left(below, said.get(name), depth + 1)) is not None}
        return left or None


def _items(value: Any, node: Node | None) -> dict[str, Any] | None:
    """The items of a list that a server merges item by item, by their keys; None for every other value."""
    names = resolve(node or {}).get("x-kubernetes-list-map-keys")
    if not names or not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    return {_key({name: item.get(name) for name in names}): item for item in value}


def _key(keys: Mapping[str, Any]) -> str:
    return json.dumps(keys, sort_keys=True)
