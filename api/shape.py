"""Steps through an object beside its schema, and lays a partial value over another as a server-side apply does. Pure."""

import json
from typing import Any, Final, NamedTuple

from .paths import Key, Path, lookup
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
        items = here.get("items")
        return Child(step, resolve(items) if isinstance(items, dict) else None)
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
        obj = lookup(obj, (step,))
    return tuple(path)


_MAX_LEVELS: Final = 200  # deeper values are replaced as a whole, which bounds the recursion


def merge(base: Any, over: Any, node: Node | None, replaced: list[Path], path: Path = ()) -> Any:
    """The base with what the other value says; a null removes a field. Items keep the order of the base, new ones follow.

    Lists that the schema gives no keys are replaced; `replaced` gets the paths of those that thereby lose something. Linear in both.
    """
    here = resolve(node or {})
    if len(path) < _MAX_LEVELS and isinstance(base, dict) and isinstance(over, dict) and here.get("x-kubernetes-map-type") != "atomic":
        out = dict(base)
        for name, value in over.items():
            step, below = child(here, name)
            if value is None:
                out.pop(name, None)
            else:
                out[name] = merge(base.get(name), value, below, replaced, (*path, step))
        return out
    if len(path) < _MAX_LEVELS and isinstance(base, list) and isinstance(over, list):
        if here.get("x-kubernetes-list-type") == "set":
            known = {item_key(item) for item in base}
            return base + [item for item in over if item_key(item) not in known]
        olds, news = keyed_items(base, here), keyed_items(over, here)
        if olds is not None and news is not None and (len(olds), len(news)) == (len(base), len(over)):
            below = child(here, 0).node
            merged = {key: merge(olds.get(key), item, below, replaced, (*path, index)) for index, (key, item) in enumerate(news.items())}
            return [*(olds | merged).values()]
        if base and base != over:
            replaced.append(path)
    return _without_nulls(over, len(path))


def _without_nulls(value: Any, depth: int) -> Any:
    """A value that is taken as a whole: a null in it has nothing to remove, and would remove something the next time."""
    if depth < _MAX_LEVELS and isinstance(value, dict):
        return {name: _without_nulls(below, depth + 1) for name, below in value.items() if below is not None}
    if depth < _MAX_LEVELS and isinstance(value, list):
        return [_without_nulls(item, depth + 1) for item in value]
    return value


def keyed_items(value: Any, node: Node | None) -> dict[str, Any] | None:
    """The items of a list that is merged item by item, by `item_key`; None for every other value."""
    here = resolve(node or {})
    names = here.get("x-kubernetes-list-map-keys")
    if not names or not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    fields = resolve(here["items"]).get("properties") or {}
    usual = {name: resolve(fields.get(name) or {}).get("default") for name in names}
    return {item_key({name: item.get(name, usual[name]) for name in names}): item for item in value}


def item_key(keys: Any) -> str:
    """The keys of an item as one text; an item of a set is its own key."""
    return json.dumps(keys, sort_keys=True)
