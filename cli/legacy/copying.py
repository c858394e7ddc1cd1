"""Copies values that today's schema has a field for, leaf by leaf, with a row for each. What is wrong is left out and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.paths import MISSING, Key
from dynamo_webhooks.api.schema import Node, resolve
from dynamo_webhooks.cli.legacy.rows import DECIDE, MAPPED, NO_EQUIVALENT, Row, leaves, step
from dynamo_webhooks.cli.nearest import hint

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path

NOTHING: Final = "empty, and left out"
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
}
_WORDS: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def node_at(schema: Node, path: Path) -> Node | None:
    """The schema of a place; None when today's kind has no such place."""
    node = resolve(schema)
    for part in path:
        below = (node.get("properties") or {}).get(part) or node.get("items" if isinstance(part, int) else "additionalProperties")
        if not isinstance(below, dict):
            return None
        node = resolve(below)
    return node


class Copying:
    """One copy: `rows` grows, the source stays as it is."""

    def __init__(self, rows: list[Row]) -> None:
        """Tells into `rows`."""
        self.rows = rows

    def copied(self, value: Any, node: Node, source: Path, to: Path) -> Any:
        """The value as today's field takes it; MISSING when nothing of it can be taken."""
        node = resolve(node)
        if value is None:
            return self.left(value, source, NO_EQUIVALENT, NOTHING)
        fitting = _fitting(value, node)
        if fitting is MISSING:
            return self.left(value, source, DECIDE, f"must be {_wanted(node)}, and is {_seen(value)}; it is left out")
        if isinstance(value, dict) and value and (node.get("properties") or node.get("additionalProperties")):
            return self._mapping(value, node, source, to)
        if isinstance(value, list) and value and node.get("items"):
            return self._list(value, node["items"], source, to)
        for leaf in leaves(value, source):
            text = "as text" if fitting is not value else ""
            self.rows.append(Row(leaf, MAPPED, (*to, *leaf[len(source) :]), text, leaf))
        return _cloned(fitting)

    def left(self, value: object, source: Path, outcome: str, text: str) -> object:
        """Leaves a whole value out, with a row for each of its leaves."""
        self.rows += [Row(leaf, outcome, (), text, source) for leaf in leaves(value, source)]
        return MISSING

    def _mapping(self, value: dict[str, Any], node: Node, source: Path, to: Path) -> Any:
        properties, entry = node.get("properties") or {}, node.get("additionalProperties")
        made = {}
        for key, child in value.items():
            if key in properties:
                name, below = key, properties[key]
            elif isinstance(entry, dict):
                name, below = Key(key), entry
            else:
                self.left(child, (*source, step(key)), NO_EQUIVALENT, f"no field today{hint(str(key), properties)}")
                continue
            copied = self.copied(child, below, (*source, name), (*to, name))
            if copied is not MISSING:
                made[key] = copied
        return made or MISSING

    def _list(self, value: list[Any], items: Node, source: Path, to: Path) -> Any:
        made: list[Any] = []
        for index, child in enumerate(value):
            copied = self.copied(child, items, (*source, index), (*to, len(made)))
            if copied is not MISSING:
                made.append(copied)
        return made or MISSING


def _fitting(value: object, node: Node) -> object:
    """The value if it has the field's type, whole numbers as text where text is wanted; MISSING if not."""
    if node.get("x-kubernetes-int-or-string"):
        return value if _is(value, "integer") or isinstance(value, str) else MISSING
    wanted = node.get("type")
    if wanted is None or _is(value, wanted):
        return value
    return str(value) if wanted == "string" and _is(value, "integer") else MISSING


def _is(value: object, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES.get(wanted, ()))


def _wanted(node: Node) -> str:
    return "a number or text" if node.get("x-kubernetes-int-or-string") else _WORDS.get(str(node.get("type")), "something else")


def _seen(value: object) -> str:
    return next((words for wanted, words in _WORDS.items() if _is(value, wanted)), "something else")


def _cloned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cloned(child) for key, child in value.items()}
    return [_cloned(child) for child in value] if isinstance(value, list) else value
