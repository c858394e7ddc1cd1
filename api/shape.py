"""Steps through an object beside its schema: lists children, and distinguishes fields from the keys of a map."""

from typing import Any, Final, NamedTuple

from .paths import Key, Path
from .schema import Node, resolve


class Child(NamedTuple):
    """One step down: the path's step as reports print it, and the schema there, None where there is none."""

    step: str | int
    node: Node | None


# schemas leave metadata open, wherever an object is; these two of it are maps
_NAMES: Final[Node] = {"type": "object", "additionalProperties": {"type": "string"}}
_OPEN: Final[dict[str, Node]] = {"labels": _NAMES, "annotations": _NAMES}


def child(node: Node | None, step: str | int) -> Child:
    """The schema of a field, a key or an index; without a schema, names are fields."""
    here = resolve(node) if node is not None else {}
    if isinstance(step, int):
        found = here.get("items")
        return Child(step, resolve(found) if isinstance(found, dict) else None)
    known = (here.get("properties") or {}).get(step)
    if known is not None:
        return Child(str(step), resolve(known))
    extra = here.get("additionalProperties")
    if extra:
        return Child(Key(step), resolve(extra) if isinstance(extra, dict) else None)
    return Child(str(step), _OPEN.get(step))


def path_of(pointer: str, obj: Any, schema: Node) -> Path:
    """A JSON pointer into an object as a path: a step into a list is a number, and keys of maps differ from fields."""
    path: list[str | int] = []
    node: Node | None = schema
    for part in pointer.split("/")[1:]:
        word = part.replace("~1", "/").replace("~0", "~")
        step, node = child(node, int(word) if isinstance(obj, list) and word.isdecimal() else word)
        path.append(step)
        obj = _below(obj, step)
    return tuple(path)


def _below(obj: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return obj[step] if isinstance(obj, list) and step < len(obj) else None
    return obj.get(step) if isinstance(obj, dict) else None
