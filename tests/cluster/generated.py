"""Objects made from the schemas by dice with a seed: valid ones, and the same with damage. Asking somebody about them is a test's work."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.kinds import api_version
from dynamo_webhooks.api.line import OLDEST, Line
from dynamo_webhooks.api.models.facets import (
    COMPONENT_PATTERN,
    DOMAIN_PATTERN,
    LABEL_KEY_PATTERN,
    LABEL_PATTERN,
    QUANTITY_PATTERN,
    VERSION_PATTERN,
)
from dynamo_webhooks.api.schema import Node, load_schema, resolve

Object: TypeAlias = dict[str, Any]
# Texts that fit a pattern, and texts for members without one; a schema with another pattern is a KeyError here.
FITTING: Final[dict[str, tuple[Any, ...]]] = {
    DOMAIN_PATTERN: ("rack", "zone", "host-9"),
    LABEL_PATTERN: ("main", "side-car", "a", "x" * 63),
    COMPONENT_PATTERN: ("Front", "front", "worker-2", "a", "A"),
    LABEL_KEY_PATTERN: ("topology.kubernetes.io/zone", "rack", "a.b/C_d", ".".join(["p" * 60] * 5) + "/zone"),
    VERSION_PATTERN: ("1.5.0", "0.9.12", "2.10.9999"),
    "^/": ("/m", "/models/a"),
    QUANTITY_PATTERN: ("1Gi", "500m", 3, "0", "-1", "1e3", ".5", "16Gi"),
    "": ("a", "word", "two words", "", "vllm", "16Gi", "Ünïcode", "x-1", "true", "7"),
}
KEYS: Final = ("a", "worker", "two.parts/name", "Key_3")
FREE: Final[tuple[Object, ...]] = (
    {},
    {"a": 1, "b": {"c": [1, "x", {"d": None}]}},
    {"deep": {"deeper": {"x": 0.5}}},
    {"list": [[], [1]], "metadata": {"q": 1}},
)
# What damage puts in the place of a value: other types, ends of ranges, texts that no pattern likes, nothing.
WRONG: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    1,
    2**31,
    2**63,
    1.5,
    26,
    "",
    "x",
    "A_b!",
    "-x",
    "Q" * 400,
    "1Gi",
    [],
    ["x"],
    ["x", "x"],
    [{}],
    [[]],
    {},
    {"x": 1},
)
STRANGE: Final = ("unknownMember", "Name", "x-y")
DEEP: Final = 6  # members; below, only what is required is made


class Dice:
    """Makes values of a schema's nodes with one source of chance."""

    def __init__(self, seed: str) -> None:
        """The same seed gives the same objects on every machine and Python."""
        self.random = Random(seed)  # noqa: S311 - test data

    def object(self, kind: str, version: str, number: int, line: Line = OLDEST) -> Object:
        """One object without a status; now and then it has labels or annotations, or no spec."""
        metadata: Object = {"name": f"t{number}"}
        for name in ("labels", "annotations"):
            if self.random.random() < 0.1:
                metadata[name] = {"example.com/a": "b"}
        obj = {"apiVersion": api_version(version), "kind": kind, "metadata": metadata}
        if self.random.random() > 0.02:
            obj["spec"] = self.value(load_schema(kind, version, line)["properties"]["spec"])
        return obj

    def value(self, node: Node, depth: int = 0) -> Any:
        """A value that fits the node's types and facets, and most of its rules by chance."""
        node = resolve(node)
        if enum := node.get("enum") or [value for part in node.get("allOf", ())[:1] for value in part["enum"]]:
            return self.random.choice(enum)
        if "properties" in node:
            return self._object(node, depth)
        if node.get("type") == "array":
            return self._list(node, depth)
        if isinstance(node.get("additionalProperties"), dict):
            names = self.random.sample(KEYS, self._few(depth))
            return {name: self.value(node["additionalProperties"], depth + 1) for name in names}
        if node.get("x-kubernetes-preserve-unknown-fields"):
            whole = {"apiVersion": "v1", "kind": "Thing"} if node.get("x-kubernetes-embedded-resource") else {}
            return {**copy.deepcopy(self.random.choice(FREE)), **whole}
        return self._scalar(node)

    def _object(self, node: Node, depth: int) -> Object:
        required = node.get("required", ())
        likely = 0.0 if depth > DEEP else min(0.8, 5 / max(1, len(node["properties"]))) if depth else 0.6
        chosen = {name: member for name, member in node["properties"].items() if name in required or self.random.random() < likely}
        return {name: self.value(member, depth + 1) for name, member in chosen.items()}

    def _list(self, node: Node, depth: int) -> list[Any]:
        items = [self.value(node["items"], depth + 1) for _ in range(self._few(depth))]
        if node.get("x-kubernetes-list-type") == "set":
            return list(dict.fromkeys(items))
        keys = node.get("x-kubernetes-list-map-keys", ())
        return list({tuple(str(item.get(key)) for key in keys): item for item in items}.values()) if keys else items

    def _few(self, depth: int) -> int:
        return self.random.choice((0, 1, 1, 2)) if depth < DEEP else 0

    def _scalar(self, node: Node) -> Any:
        kind = node.get("type")
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind in ("integer", "number"):
            low = int(node.get("minimum", 0))
            number = self.random.randint(low, int(node.get("maximum", low + 5)))
            return number if kind == "integer" or self.random.random() < 0.5 else number * 0.5 + 0.25 * (number < 1)
        if node.get("format") == "date-time":
            return "2026-01-02T03:04:05Z"
        if node.get("x-kubernetes-int-or-string") and "pattern" not in node:
            return self.random.choice((8080, "http", "25%"))
        texts = [text for text in FITTING[node.get("pattern", "")] if not isinstance(text, str) or len(text) >= node.get("minLength", 0)]
        return self.random.choice(texts)

    def damaged(self, obj: Object) -> Object:
        """A copy with one to three things wrong, or odd: a value of another kind, a member lost, unknown or null, an item twice."""
        obj = copy.deepcopy(obj)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self._hurt(self.random.choice([obj, *_holders(obj)]))
        return obj

    def _hurt(self, holder: Object | list[Any]) -> None:
        way = self.random.choice(("replace", "replace", "replace", "remove", "add"))
        if isinstance(holder, dict):
            names = [name for name in holder if name not in ("apiVersion", "kind")]
            if way == "add" or not names:
                holder[self.random.choice(STRANGE)] = copy.deepcopy(self.random.choice(WRONG))
            elif way == "remove":
                del holder[self.random.choice(names)]
            else:
                holder[self.random.choice(names)] = copy.deepcopy(self.random.choice(WRONG))
        elif way == "add" or not holder:
            holder.append(copy.deepcopy(self.random.choice(holder or WRONG)))
        elif way == "remove":
            holder.pop(self.random.randrange(len(holder)))
        else:
            holder[self.random.randrange(len(holder))] = copy.deepcopy(self.random.choice(WRONG))


def _holders(value: Object | list[Any]) -> Iterator[Object | list[Any]]:
    """Every object and list inside of one."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            yield item
            yield from _holders(item)
