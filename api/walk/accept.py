"""Says quickly that the schema phase would find nothing, which is so of nearly every part of nearly every object.

Plain nodes (objects, lists and scalars without bounds, patterns, enums or combinations) are compiled into closures, each when it is first
met; every other node and every value that isn't plainly right is asked of `structure.py`, which alone says what is right and what isn't.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dynamo_webhooks.api.schema import MARKS, Node, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

Check: TypeAlias = "Callable[[Any], bool]"

_EXACT: Final[dict[str, type]] = {"string": str, "boolean": bool}
_ENDLESS: Final = float("inf")
_SMALL: Final = range(-(2**63), 2**63)
_SIZES: Final = ("minProperties", "maxProperties", "minItems", "maxItems")
# keywords of the schema phase that a plain node may have; one with any other is asked of structure.py
_PLAIN: Final = frozenset({"type", "properties", "additionalProperties", "items", "required", *_SIZES})
# keywords that are no business of the schema phase
_FOREIGN: Final = frozenset({"$ref", "default", "description", "nullable", "title", *MARKS})


class Acceptance:
    """The quick way to ask what `slow` answers: whether a value has no errors under a node."""

    def __init__(self, slow: Callable[[Any, Node], bool]) -> None:
        """Compiles nothing yet: a command that starts often would wait for nodes that it never meets."""
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
        plain = all(key in _PLAIN or key in foreign or key.startswith("x-kubernetes-") for key in node)
        if plain and form == "object":
            return self._object(node)
        if plain and form == "array":
            return self._list(node)
        return self._scalar(node, form) if plain else self._asked(node)

    def _asked(self, node: Node) -> Check:
        return lambda value: self._slow(value, node)

    def _scalar(self, node: Node, form: str) -> Check:
        slow = self._slow
        if node.get("x-kubernetes-int-or-string"):
            return lambda value: type(value) is str or (type(value) is int and value in _SMALL) or slow(value, node)
        if form == "integer":
            return lambda value: (type(value) is int and value in _SMALL) or slow(value, node)
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

        def check(value: Any) -> bool:
            if type(value) is not list:
                return self._slow(value, node)
            return least <= len(value) <= most and (one is None or all(map(one, value)))

        return check
