"""Objects made from the schemas: whole or partial, with colliding names, odd values, nulls and members nobody knows.

What is drawn fits its types everywhere; `odd` objects also break what the schema asks beyond types. `wild` makes worse of them.
"""

import copy
from functools import cache
from typing import Any, Final

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import Node, load_schema, resolve
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from tests.laws import words
from tests.laws.dice import Draw
from tests.laws.hostile import SHORT, annotations_for

Object = dict[str, Any]
PAIRS: Final = [(kind, version) for kind in SHORT for version in (LEFT, RIGHT)]
# An object has at most so many values below it; what is drawn later comes out small.
BUDGET: Final = 150


class Maker:
    """Draws one object; few draws for much structure, so that thousands a minute are possible and shrinking stays quick."""

    def __init__(self, draw: Draw, *, odd: bool) -> None:
        self._draw = draw
        self._left = BUDGET
        self._odd = odd

    def one_of(self, values: tuple[Any, ...]) -> Any:
        """One of the values; shrinks to the first."""
        return values[self._draw(len(values))]

    def chance(self, one_in: int) -> bool:
        """True once in so many times; shrinks to false."""
        return self._draw(one_in) == one_in - 1

    def value(self, node: Node, name: str, above: str = "") -> Any:
        """A value of a schema node that stands under a member name."""
        node = resolve(node)
        self._left -= 1
        if self._odd and self.chance(25):
            return None
        if "properties" in node:
            return self._object(node)
        if node.get("type") == "array":
            return self._list(node, name)
        if isinstance(node.get("additionalProperties"), dict):
            return self._map(node, name)
        if node.get("x-kubernetes-preserve-unknown-fields"):
            return copy.deepcopy(self.one_of(words.FREE))
        return self._scalar(node, name, above)

    def _object(self, node: Node) -> Object:
        members = node["properties"]
        names, favourites = _names(node)
        out: Object = {}
        for name in node.get("required", ()):
            if name in members and not self.chance(6):
                out[name] = self.value(members[name], name)
        # a graph without parts teaches little
        wanted = [name for name in ("services", "components") if name in members and not self.chance(4)]
        for _ in range(self._members(len(favourites))):
            pool = favourites if favourites and not self.chance(3) else names
            if pool:
                wanted.append(self.one_of(pool))
        for name in dict.fromkeys(wanted):
            if name not in out:
                out[name] = self.value(members[name], name)
        if self._odd and self.chance(15):
            out["unknownMember"] = copy.deepcopy(self.one_of(words.UNKNOWN))
        return out

    def _list(self, node: Node, name: str) -> list[Any]:
        items = self._each(node["items"], name, "", self._size())
        keys = node.get("x-kubernetes-list-map-keys")
        if not keys or name != "components":
            return items
        # Only components are a map on the other side; the schema promises that their names are there and differ.
        by_name: dict[str, Any] = {}
        for item in items:
            if type(item) is dict:
                item["name"] = self.one_of(words.KEYS["components"])
                by_name.setdefault(item["name"], item)
        return list(by_name.values())

    def _map(self, node: Node, name: str) -> Object:
        keys = words.KEYS.get(name, words.ANY_KEYS)
        names = list(dict.fromkeys(self.one_of(keys) for _ in range(self._size())))
        return dict(zip(names, self._each(node["additionalProperties"], "", name, len(names)), strict=True))

    def _each(self, node: Node, name: str, above: str, count: int) -> list[Any]:
        """So many values, which share what is left of the budget."""
        whole, out = self._left, []
        for _ in range(count):
            self._left = whole // count
            out.append(self.value(node, name, above))
        self._left = whole // 2
        return out

    def _scalar(self, node: Node, name: str, above: str) -> Any:
        kind, form = node.get("type"), node.get("format")
        if node.get("x-kubernetes-int-or-string"):
            return self.one_of(words.PORTS if "pattern" not in node else words.QUANTITIES)
        if kind == "boolean":
            return self.chance(2)
        if kind == "integer":
            return self.one_of(words.LONG if form == "int64" else words.INTEGERS)
        if kind == "number":
            return self.one_of(words.NUMBERS)
        if form in ("date-time", "dateTime"):
            return self.one_of(words.TIMES)
        if kind != "string":
            return copy.deepcopy(self.one_of(words.FREE))
        return self._text(node, name, above)

    def _text(self, node: Node, name: str, above: str) -> Any:
        allowed = node.get("enum") or next((part["enum"] for part in node.get("allOf", ()) if "enum" in part), None)
        if allowed and not (self._odd and self.chance(8)):
            return self.one_of(tuple(allowed))
        if above == "custom":
            return self.one_of(tuple(text for text in (*words.QUANTITIES, *words.ODD_QUANTITIES) if type(text) is str))
        if name == "name" and "value" in str(above):
            return self.one_of(words.ENVS)
        pool = words.BY_NAME.get(name, words.TEXTS)
        return self.one_of(tuple(text for text in pool if type(text) is str))

    def _size(self) -> int:
        return int(self.one_of((0, 1, 1, 2, 2, 3, 4, 5))) if self._left > 0 else 0

    def _members(self, favourites: int) -> int:
        if self._left <= 0:
            return 0
        return int(self.one_of((0, 1, 2, 3, 3, 4, 5, 7) if favourites < 8 else (0, 3, 4, 5, 6, 7, 8, 9, 10)))


@cache
def _favourites(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in words.FAVOURITES)


_known: dict[int, tuple[Node, tuple[str, ...], tuple[str, ...]]] = {}  # by id of the node, which is kept alive beside its result


def _names(node: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    known = _known.get(id(node))
    if known is None:
        names = tuple(sorted(node["properties"]))
        known = _known[id(node)] = (node, names, _favourites(names))
    return known[1], known[2]


def _metadata(make: Maker, kind: str, version: str, *, hostile: bool) -> Object:
    metadata: Object = {"name": make.one_of(("x", "main", "a")), "namespace": "default"}
    if make.chance(4):
        metadata["labels"] = {"team": make.one_of(words.TEXTS)}
    if make.chance(8):
        metadata |= {
            "uid": "u-1",
            "resourceVersion": "7",
            "generation": 9007199254740993,
            "finalizers": ["f"],
            "managedFields": [{"manager": "m", "fieldsV1": {}}],
        }
    annotations: Object = {"team": "kept"} if make.chance(4) else {}
    if hostile:
        annotations |= annotations_for(make, kind, version)
    if annotations or make.chance(10):
        metadata["annotations"] = annotations
    return metadata


def make_object(draw: Draw, kind: str, version: str, *, odd: bool = False, hostile: bool = False, line: Line = Line.V1_2) -> Object:
    """Draws an object of a kind and version, with the fields of a line: with spec, status, both or neither."""
    make = Maker(draw, odd=odd)
    schema = load_schema(kind, version, line)["properties"]
    obj: Object = {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": _metadata(make, kind, version, hostile=hostile)}
    parts = make.one_of((("spec",), ("spec", "status"), ("spec",), ("spec", "status"), ("spec",), ("status",), ()))
    for part in parts:
        make._left = BUDGET
        obj[part] = make._object(resolve(schema[part]))
    return _as_stored(obj)


def _as_stored(obj: Object) -> Object:
    """A stored object holds no null for an experimental feature, which its schema refuses: that is what server-side apply makes of one."""
    spec = obj.get("spec")
    if obj["metadata"].get("uid") and type(spec) is dict:
        for component in (spec, *(spec.get("components") or ())):
            if type(component) is dict and type(block := component.get("experimental")) is dict:
                component["experimental"] = {name: value for name, value in block.items() if value is not None}
    return obj


def edit(draw: Draw, converted: Object, *, odd: bool = False) -> Object:
    """An edit of a converted object: members of a second one laid over it, others taken away; its annotations stay, stale as they are."""
    kind, version = converted["kind"], converted["apiVersion"].rpartition("/")[2]
    second, make = make_object(draw, kind, version, odd=odd), Maker(draw, odd=odd)
    out = dict(converted)
    for part in ("spec", "status"):
        if type(out.get(part)) is dict:
            out[part] = _pruned(make, out[part])
        if part in second:
            out[part] = _overlaid(out.get(part), second[part], "")
    return _as_stored(_keyed(out))


def _keyed(obj: Object) -> Object:
    """The object with a path for every mount of v1beta1: an API server refuses one without, since its list is keyed by paths."""

    def keyed(value: Any, name: str) -> Any:
        if type(value) is dict:
            return {key: keyed(below, key) for key, below in value.items()}
        if type(value) is list and name == "volumeMounts":
            return [{"mountPath": "/p", **mount} if type(mount) is dict else mount for mount in value]
        return [keyed(item, "") for item in value] if type(value) is list else value

    spec = obj.get("spec")
    return {**obj, "spec": keyed(spec, "")} if type(spec) is dict and obj["apiVersion"].endswith("v1beta1") else obj


def _pruned(make: Maker, value: Any) -> Any:
    """Takes away a member or an element now and then, at any depth."""
    if type(value) is dict:
        return {name: _pruned(make, below) for name, below in value.items() if name == "name" or not make.chance(9)}
    if type(value) is list:
        return [_pruned(make, item) for item in value if not make.chance(9)]
    return value


def _overlaid(value: Any, over: Any, name: str) -> Any:
    if type(value) is dict and type(over) is dict:
        return {**value, **{key: _overlaid(value.get(key), below, key) for key, below in over.items()}}
    if type(value) is list and type(over) is list and name == "components":
        named = {item["name"]: item for item in value}
        return list({**named, **{item["name"]: _overlaid(named.get(item["name"]), item, "") for item in over}}.values())
    return over


def wild(draw: Draw, obj: Object) -> Object:
    """The object with some values replaced by others of any type: no API server would let it through."""
    make = Maker(draw, odd=True)

    def worse(value: Any) -> Any:
        if make.chance(6):
            return copy.deepcopy(make.one_of(words.UNKNOWN))
        if type(value) is dict:
            return {name: worse(below) for name, below in value.items()}
        return [worse(item) for item in value] if type(value) is list else value

    return {name: worse(value) if name in ("spec", "status") else value for name, value in obj.items()}
