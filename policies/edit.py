"""Makes the smallest JSON patch of what defaults yield, and applies it."""

from typing import Any, TypeAlias

from ..api.paths import MISSING, Path, lookup
from .finding import Edit

PatchOperation: TypeAlias = dict[str, Any]


def to_json_patch(obj: dict[str, Any], edits: list[Edit]) -> list[PatchOperation]:
    """Writes edits as RFC 6902 operations: only `add`, one per edited field or per missing parent; never more than was asked for."""
    created: dict[Path, Any] = {}  # parents created by this patch, with the value that the operation carries
    operations: list[PatchOperation] = []
    for edit in edits:
        path = edit.path
        depth = _existing(obj, path)
        top = path[: depth + 1]
        if depth == len(path) - 1:
            operations.append({"op": "add", "path": to_json_pointer(path), "value": edit.value})
            continue
        if top not in created:
            created[top] = {}
            operations.append({"op": "add", "path": to_json_pointer(top), "value": created[top]})
        _fill(created[top], path[depth + 1 :], edit.value)
    return operations


def apply(obj: dict[str, Any], edits: list[Edit]) -> dict[str, Any]:
    """Returns the object with the edits applied; containers on an edited path are copied once, all others shared with the input."""
    copied: dict[int, Any] = {}  # by id: containers of the result that are not shared
    for edit in edits:
        obj = _with(obj, edit.path, edit.value, copied)
    return obj


def to_json_pointer(path: Path) -> str:
    """Writes a path as an RFC 6901 JSON pointer."""
    pointer = ""
    for part in path:
        text = str(part)
        pointer += "/" + (text.replace("~", "~0").replace("/", "~1") if "/" in text or "~" in text else text)
    return pointer


def _existing(obj: object, path: Path) -> int:
    """Counts the leading steps that exist and hold something that can have children."""
    last = len(path) - 1
    for depth in range(last):
        obj = lookup(obj, path[depth : depth + 1])
        if obj is MISSING or obj is None:
            return depth
    return last


def _fill(tree: dict[str, Any], path: Path, value: Any) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(str(part), {})
    tree[str(path[-1])] = value


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
