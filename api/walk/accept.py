"""Decides quickly whether the phases after decoding find nothing in a new object, as in nearly every part of nearly every object.

Plain nodes (objects, lists and scalars without patterns, lengths or combinations) are compiled into closures, each when it is first met,
with the type of their list and their CEL rules; every other node, and every value that isn't plainly valid, is passed to the
phases themselves, which alone decide.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..paths import MISSING
from ..schema import MARKS, Node, resolve
from .constraints import rule_of
from .rules import RULES

Check: TypeAlias = "Callable[[Any], bool]"

_EXACT: Final[dict[str, type]] = {"string": str, "boolean": bool}
_ENDLESS: Final = float("inf")
_SMALL: Final = range(-(2**63), 2**63)
_SIZES: Final = ("minProperties", "maxProperties", "minItems", "maxItems")
# keywords of the schema phase that a plain node may have; one with any other is asked of the phases
_PLAIN: Final = frozenset({"type", "properties", "additionalProperties", "items", "required", *_SIZES})
_PLAIN_SCALAR: Final = {"integer": frozenset({"type", "minimum", "maximum"}), "string": frozenset({"type", "enum"})}
# keywords that are no business of the schema phase
_FOREIGN: Final = frozenset({"$ref", "default", "description", "nullable", "title", *MARKS})


class Acceptance:
    """The quick way to ask what `slow` answers: whether a value has no errors under a node in any of the phases."""

    def __init__(self, slow: Callable[[Any, Node], bool]) -> None:
        """`slow` is asked of resolved nodes. Compiles nothing yet: a command that starts often would wait for nodes that it never meets."""
        self._slow = slow
        self._known: dict[int, tuple[Node, Check]] = {}  # by id of the node, which is kept alive beside its check

    def of(self, value: Any, node: Node) -> bool:
        """Whether the value has no errors under the node."""
        return self._check(node)(value)

    def _check(self, node: Node) -> Check:
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = (node, self._compiled(resolve(node)))
        return found[1]

    def _compiled(self, node: Node) -> Check:
        form = node.get("type", "")
        # formats of numbers bind typed decoders alone
        foreign = {"format", *_FOREIGN} if form == "integer" else _FOREIGN
        keywords = _PLAIN_SCALAR.get(form, _PLAIN)
        if not all(key in keywords or key in foreign or key.startswith("x-kubernetes-") for key in node):
            return self._asked(node)
        if form == "object":
            check = self._object(node)
        elif form == "array":
            check = self._list(node)
        else:
            check = self._scalar(node, form)
        return _ruled(check, node)

    def _asked(self, node: Node) -> Check:
        return lambda value: self._slow(value, node)

    def _scalar(self, node: Node, form: str) -> Check:
        slow = self._slow
        if node.get("x-kubernetes-int-or-string"):
            return lambda value: type(value) is str or (type(value) is int and value in _SMALL) or slow(value, node)
        if form == "integer":
            wanted = range(max(_SMALL.start, node.get("minimum", _SMALL.start)), min(_SMALL.stop, node.get("maximum", _SMALL.stop) + 1))
            return lambda value: (type(value) is int and value in wanted) or slow(value, node)
        if "enum" in node:
            allowed = frozenset(one for one in node["enum"] if type(one) is str)
            return lambda value: (type(value) is str and value in allowed) or slow(value, node)
        exact = _EXACT.get(form)
        return self._asked(node) if exact is None else lambda value: type(value) is exact or slow(value, node)

    def _object(self, node: Node) -> Check:
        properties: dict[str, Node] = node.get("properties") or {}
        required: list[str] = node.get("required") or []
        extra = node.get("additionalProperties")
        others = self._check(extra) if isinstance(extra, dict) else None
        fields: dict[str, Check] = {}
        least, most = node.get("minProperties", 0), node.get("maxProperties", _ENDLESS)

        def check(value: Any) -> bool:
            if type(value) is not dict:
                return self._slow(value, node)
            if not least <= len(value) <= most:
                return False
            for name in required:
                if name not in value:
                    return False
            for name, item in value.items():
                one = fields.get(name)
                if one is None:
                    if name in properties:
                        one = fields[name] = self._check(properties[name])
                    elif (one := others) is None:
                        continue
                if not one(item):
                    return False
            return True

        return check

    def _list(self, node: Node) -> Check:
        items = node.get("items")
        one = self._check(items) if items is not None else None
        least, most = node.get("minItems", 0), node.get("maxItems", _ENDLESS)
        keys = _keys(node)

        def check(value: Any) -> bool:
            if type(value) is not list:
                return self._slow(value, node)
            if not (least <= len(value) <= most and (one is None or all(map(one, value)))):
                return False
            return keys is None or _differ(value, keys) or self._slow(value, node)

        return check


def _keys(node: Node) -> tuple[str, ...] | None:
    """The key fields of a list's items: none for a set, whose items are their own keys; None for other lists."""
    form = node.get("x-kubernetes-list-type")
    return () if form == "set" else tuple(node.get("x-kubernetes-list-map-keys") or ()) if form == "map" else None


def _differ(value: list[Any], keys: tuple[str, ...]) -> bool:
    """Whether no two items are plainly the same: maps by their keys, if these are texts and numbers, others as texts."""
    found: set[Any] = set()
    for item in value:
        if not keys:
            if type(item) is not str:
                return False
            found.add(item)
        elif type(item) is not dict:
            return False
        else:
            parts = tuple(map(item.get, keys))
            for part in parts:
                if type(part) is not str and type(part) is not int:
                    return False
            found.add(parts)
    return len(found) == len(value)


def _ruled(check: Check, node: Node) -> Check:
    """The check with the node's CEL rules behind it, those of a new object."""
    entries = [(rule_of(entry["rule"]), bool(entry.get("optionalOldSelf"))) for entry in node.get(RULES) or ()]
    rules = [(rule.broken, optional) for rule, optional in entries if optional or not rule.transition]
    if not rules:
        return check

    def ruled(value: Any) -> bool:
        if not check(value):
            return False
        return value is None or all(broken(value, MISSING, optional) is None for broken, optional in rules)

    return ruled
