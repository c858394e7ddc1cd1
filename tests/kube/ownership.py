"""Server-side apply in small: which manager owns which leaf of an object, and what an apply changes.

A leaf is a value that isn't a map; lists are owned whole, except those that Kubernetes keys by `name`, `type` or `uid` (KEYED below).
Owners are kept as the manager's paths; `managedFields` shows managers and operations, not the encoded field sets.
"""

from copy import deepcopy
from typing import Any, Final, TypeAlias

from dynamo_webhooks.kube.errors import ConflictError
from dynamo_webhooks.kube.protocol import Node

Path: TypeAlias = tuple[str, ...]
Owner: TypeAlias = tuple[str, str]  # manager, and Apply or Update
Owners: TypeAlias = dict[Owner, set[Path]]

# Lists that are maps by this key at every path; tests with the real API server verify it.
KEYED: Final = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "conditions": "type",
    "webhooks": "name",
    "ownerReferences": "uid",
    "imagePullSecrets": "name",
}
_UNOWNED: Final = {
    ("apiVersion",),
    ("kind",),
    *(("metadata", name) for name in ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")),
}


def leaves(node: Node) -> dict[Path, Any]:
    """The leaves of an object that can have an owner, by path; an element of a keyed list is a step `[name]`."""
    values: dict[Path, Any] = {}
    _walk(node, (), values)
    return {path: value for path, value in values.items() if path not in _UNOWNED}


def apply(live: Node, wanted: Node, owners: Owners, manager: str, *, force: bool) -> Node:
    """The object after an apply; `owners` is changed. Raises ConflictError naming the other managers and their fields."""
    me, new, old = (manager, "Apply"), leaves(wanted), leaves(live)
    taken = {
        (owner[0], path)
        for owner, paths in owners.items()
        if owner != me
        for path, value in new.items()
        if path in paths and old.get(path) != value
    }
    if taken and not force:
        lines = ", ".join(f'conflict with "{owner}": .{".".join(path)}' for owner, path in sorted(taken))
        raise ConflictError(409, "Conflict", f"Apply failed with {len(taken)} conflict(s): {lines}")
    for owner, path in taken:
        for operation in ("Apply", "Update"):
            owners.get((owner, operation), set()).discard(path)
    result = deepcopy(live)
    dropped = owners.get(me, set()) - new.keys()
    owners[me] = set(new)
    for path in sorted(dropped, key=len, reverse=True):
        if not any(path in paths for paths in owners.values()):
            _remove(result, path)
    _merge(result, wanted)
    _forget(owners)
    return result


def meant(obj: Node, subresource: str) -> Node:
    """The part of an applied object that a subresource takes."""
    if subresource != "status":
        return obj
    return {name: value for name, value in obj.items() if name in {"apiVersion", "kind", "metadata", "status"}}


def written(before: Node, after: Node, owners: Owners, manager: str) -> None:
    """Records a write other than an apply: its manager becomes the only owner of each changed leaf."""
    old, new = leaves(before), leaves(after)
    changed = {path for path, value in new.items() if path not in old or old[path] != value}
    for owner, paths in owners.items():
        owners[owner] = (paths & new.keys()) - changed
    owners.setdefault((manager, "Update"), set()).update(changed)
    _forget(owners)


def shown(owners: Owners, api_version: str) -> list[Node]:
    """What `metadata.managedFields` says, without the field sets."""
    return [{"manager": name, "operation": operation, "apiVersion": api_version} for name, operation in sorted(owners)]


def _forget(owners: Owners) -> None:
    for owner in [owner for owner, paths in owners.items() if not paths]:
        del owners[owner]


def _walk(node: Any, path: Path, values: dict[Path, Any]) -> None:
    key = KEYED.get(path[-1]) if path else None
    if isinstance(node, dict) and node:
        for name, value in node.items():
            _walk(value, (*path, name), values)
    elif isinstance(node, list) and node and key and all(isinstance(each, dict) and key in each for each in node):
        for each in node:
            step = (*path, f"[{each[key]}]")
            values[step] = each[key]  # the element itself is owned, whatever else is in it
            for name, value in each.items():
                if name != key:
                    _walk(value, (*step, name), values)
    else:
        values[path] = node


def _merge(into: Node, wanted: Node) -> None:
    for name, value in wanted.items():
        key, there = KEYED.get(name), into.get(name)
        if isinstance(value, dict) and isinstance(there, dict):
            _merge(there, value)
        elif key and isinstance(value, list) and isinstance(there, list):
            for each in value:
                match = next((other for other in there if other.get(key) == each.get(key)), None)
                if match is None:
                    there.append(deepcopy(each))
                else:
                    _merge(match, each)
        else:
            into[name] = deepcopy(value)


def _remove(node: Any, path: Path) -> None:
    """Removes a leaf, and the maps that hold nothing else any more; an element of a keyed list goes when only its key is left."""
    name, rest = path[0], path[1:]
    if isinstance(node, list):
        element = next((each for each in node if any(f"[{each.get(key)}]" == name for key in KEYED.values())), None)
        if element is not None and rest:
            _remove(element, rest)
        elif element is not None and len(element) == 1:
            node.remove(element)
    elif isinstance(node, dict) and name in node:
        if rest:
            _remove(node[name], rest)
        if not rest or node[name] in ({}, []):
            del node[name]
