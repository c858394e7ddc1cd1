"""What a default yields, and how edits become the smallest JSON patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..api.paths import MISSING, Path, lookup

if TYPE_CHECKING:
    from .rule import Rule

PatchOperation: TypeAlias = dict[str, Any]


class Edit(NamedTuple):
    """Sets one field that is absent, null or empty to a value; `rule` is the default that wants it."""

    rule: Rule
    path: Path
    value: Any


def to_json_patch(obj: dict[str, Any], edits: list[Edit]) -> list[PatchOperation]:
    """Writes edits as RFC 6902 operations: only `add`, one per edited field or per missing parent; never more than was asked for."""
    made: dict[Path, Any] = {}  # parents created by this patch, with the value that the operation carries
    operations: list[PatchOperation] = []
    for edit in edits:
        path = edit.path
        depth = _existing(obj, path)
        top = path[: depth + 1]
        if depth == len(path) - 1:
            operations.append({"op": "add", "path": to_json_pointer(path), "value": edit.value})
            continue
        if top not in made:
            made[top] = {}
            operations.append({"op": "add", "path": to_json_pointer(top), "value": made[top]})
        _fill(made[top], path[depth + 1 :], edit.value)
    return operations


def apply(obj: dict[str, Any], edits: list[Edit]) -> dict[str, Any]:
    """Returns the object with the edits applied; containers on an edited path are copied once, all others shared with the input."""
    copied: dict[int, Any] = {}  # by id: containers of the result that are not shared
    for edit in edits:
        obj = _with(obj, edit.path, edit.value, copied)
    return obj


def to_json_pointer(path: Path) -> str:
    """Writes a path as an RFC 6901 JSON pointer."""
    return "/".join(("", *[str(part).replace("~", "~0").replace("/", "~1") for part in path]))


def _existing(obj: object, path: Path) -> int:
    """Counts the leading steps that exist and hold something that can have children."""
    for depth in range(len(path) - 1, 0, -1):
        found = lookup(obj, path[:depth])
        if found is not MISSING and found is not None:
            return depth
    return 0


def _fill(tree: dict[str, Any], rest: Path, value: Any) -> None:
    for part in rest[:-1]:
        tree = tree.setdefault(str(part), {})
    tree[str(rest[-1])] = value


def _with(node: Any, path: Path, value: Any, copied: dict[int, Any]) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if id(node) not in copied:
        node = list(node) if isinstance(step, int) else dict(node or {})
        copied[id(node)] = node
    if isinstance(step, int):
        node[step] = _with(node[step], rest, value, copied)
    else:
        node[str(step)] = _with(node.get(step), rest, value, copied)
    return node
