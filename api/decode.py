"""Typed decoding: says whether a JSON object could be read into the types of its kind, as a typed decoder would, and where not.

Runs on every admission request, so a schema is compiled once into closures over flat tables, and a well-typed object costs no
allocation. Lenient as the API is: unknown fields are ignored, null stands for absent everywhere, and enums, bounds and patterns are no
business of a decoder (`api.walk` validates those).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from dynamo_webhooks.api.kinds import GROUP
from dynamo_webhooks.api.paths import Key, render
from dynamo_webhooks.api.scalars import SCALARS, is_null, json_type, scalar_form
from dynamo_webhooks.api.schema import Node, resolve, whole_schema
from dynamo_webhooks.api.walk.errors import FieldError, Reason, at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dynamo_webhooks.api.paths import Path

Check: TypeAlias = "Callable[[object], bool]"
Decoder: TypeAlias = "Callable[[object], tuple[FieldError, ...]]"

# A refusal lists at most so many places: enough to mend an object, bounded for one that is wrong ten thousand times.
MOST_ERRORS: Final = 50
LONGEST_NAME: Final = 1_000  # characters of a map key that a field's text repeats


class Shape(NamedTuple):
    """What a decoder knows of one place: a scalar form, `object` with its fields, `map` or `list` with its items, or `any`."""

    form: str
    fields: Mapping[str, Shape] = {}
    item: Shape | None = None


# Fields whose type is stricter than their schema, which has no word for it: the decoder refuses what the schema lets pass.
_STRICTER: Final = {"metricsStalenessThreshold": Shape("duration")}
ANY: Final = Shape("any")
_STRING: Final = Shape("string")
_STRINGS: Final = Shape("map", item=_STRING)
_OWNER: Final = Shape("object", dict.fromkeys(("apiVersion", "kind", "name", "uid"), _STRING))
# The part of an object's metadata that rules read; the rest, managedFields above all, is long and nobody's concern here.
METADATA: Final = Shape(
    "object",
    {
        "name": _STRING,
        "namespace": _STRING,
        "generation": Shape("int64"),
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "deletionTimestamp": Shape("time"),
        "finalizers": Shape("list", item=_STRING),
        "ownerReferences": Shape("list", item=_OWNER),
    },
)


@lru_cache(maxsize=64)
def decoder(kind: str, version: str) -> Decoder:
    """Returns the decoder of one kind and version: it gives an empty tuple for a well-typed object, else what is wrong and where.

    Raises what `whole_schema` raises for a kind or version that doesn't exist.
    """
    return compile_decoder(whole_schema(kind, version), kind=kind, api_version=f"{GROUP}/{version}")


def compile_decoder(schema: Node, *, kind: str, api_version: str) -> Decoder:
    """Compiles a structural schema into a decoder of objects of that kind and apiVersion."""
    shape = shape_of(schema, {})
    fields = {name: field for name, field in shape.fields.items() if name not in {"apiVersion", "kind"}}
    root = Shape("object", {**fields, "metadata": METADATA})
    checks: dict[int, Check] = {}
    well_typed = _compile(root, checks)
    versions = (None, "", api_version)
    kinds = (None, "", kind)

    def decode(value: object) -> tuple[FieldError, ...]:
        if type(value) is dict and value.get("apiVersion") in versions and value.get("kind") in kinds and well_typed(value):
            return ()
        if type(value) is not dict:
            return (_wrong((), "object", value),)
        said = (("apiVersion", api_version), ("kind", kind))
        errors = [_foreign(name, value[name], want) for name, want in said if value.get(name) not in (None, "", want)]
        for error in _describe((), root, value, lambda shape: _compile(shape, checks)):
            errors.append(error)
            if len(errors) == MOST_ERRORS:
                break
        return tuple(errors)

    return decode


def shape_of(node: Node, memo: dict[int, Shape]) -> Shape:
    """Reads a schema node as the decoder sees it; `memo` keeps one shape for each node that many places share."""
    node = resolve(node)
    shape = memo.get(id(node))
    if shape is None:
        shape = memo[id(node)] = _read_shape(node, memo)
    return shape


def _read_shape(node: Node, memo: dict[int, Shape]) -> Shape:
    """Free-form and embedded objects decode whatever they hold; all others as their schema says."""
    if node.get("x-kubernetes-embedded-resource"):
        return ANY
    properties, extra, items = node.get("properties"), node.get("additionalProperties"), node.get("items")
    if isinstance(properties, dict):
        return Shape("object", {name: _field(name, child, memo) for name, child in properties.items()})
    if isinstance(extra, dict):
        return Shape("map", item=shape_of(extra, memo))
    if isinstance(items, dict):
        return Shape("list", item=shape_of(items, memo))
    if node.get("x-kubernetes-preserve-unknown-fields"):
        return ANY
    return Shape("object") if node.get("type") == "object" else Shape(scalar_form(node))


def _field(name: str, node: Node, memo: dict[int, Shape]) -> Shape:
    """Reads a named field; `metadata` is the metadata of an object, however little its schema says about it."""
    if name in _STRICTER:
        return _STRICTER[name]
    shape = shape_of(node, memo)
    return METADATA if name == "metadata" and shape == Shape("object") else shape


def _compile(shape: Shape, done: dict[int, Check]) -> Check:
    """Compiles a shape into its check, once for each shape: embedded types repeat many times in a schema."""
    check = done.get(id(shape))
    if check is None:
        if shape.form == "object":
            check = _compile_object(shape, done)
        elif shape.item is not None:
            check = _compile_items(shape, shape.item, done)
        else:
            check = SCALARS[shape.form].check
        done[id(shape)] = check
    return check


def _compile_object(shape: Shape, done: dict[int, Check]) -> Check:
    """Two flat tables: the names whose JSON type decides alone, compared inline, and a check for each name that needs more."""
    exact = {name: kind for name, field in shape.fields.items() if (kind := _exact(field)) is not None}
    checks = {name: is_null if name in exact else _compile(field, done) for name, field in shape.fields.items() if field.form != "any"}
    exact_of, check_of = exact.get, checks.get

    def check_object(value: object) -> bool:
        if type(value) is not dict:
            return value is None
        for name, item in value.items():
            if type(item) is exact_of(name):
                continue
            check = check_of(name)
            if check is not None and not check(item):
                return False
        return True

    return check_object


def _compile_items(shape: Shape, item: Shape, done: dict[int, Check]) -> Check:
    """Compiles the check of a list or a map, whose items are all alike."""
    exact = _exact(item)
    check = is_null if exact is not None else _compile(item, done)

    def check_map(value: object) -> bool:
        if type(value) is not dict:
            return value is None
        for one in value.values():  # noqa: SIM110  # all() with a generator takes twice the time
            if type(one) is not exact and not check(one):
                return False
        return True

    def check_list(value: object) -> bool:
        if type(value) is not list:
            return value is None
        for one in value:  # noqa: SIM110  # as above
            if type(one) is not exact and not check(one):
                return False
        return True

    return check_map if shape.form == "map" else check_list


def _exact(shape: Shape) -> type | None:
    """Returns the one JSON type that a scalar form takes, when the type alone decides."""
    scalar = SCALARS.get(shape.form)
    return scalar.exact if scalar is not None else None


def _describe(path: Path, shape: Shape, value: object, check_of: Callable[[Shape], Check]) -> Iterator[FieldError]:
    """Yields what the fast checks refused, entering only what they refuse; typed parts are only as deep as the schema."""
    if value is None or shape.form == "any":
        return
    if shape.form == "object" and isinstance(value, dict):
        for name, item in value.items():
            field = shape.fields.get(name)
            if field is not None and not check_of(field)(item):
                yield from _describe((*path, name), field, item, check_of)
    elif shape.form == "map" and isinstance(value, dict) and shape.item is not None:
        check = check_of(shape.item)
        for key, item in value.items():
            if not check(item):
                yield from _describe((*path, Key(key)), shape.item, item, check_of)
    elif shape.form == "list" and isinstance(value, list) and shape.item is not None:
        check = check_of(shape.item)
        for index, item in enumerate(value):
            if not check(item):
                yield from _describe((*path, index), shape.item, item, check_of)
    elif shape.form not in SCALARS or not SCALARS[shape.form].check(value):
        yield _wrong(path, shape.form, value)


def _wrong(path: Path, form: str, value: object) -> FieldError:
    """Makes the error of one place: what must stand there and which JSON type was seen, never the value."""
    want, family = SCALARS[form][2:] if form in SCALARS else ("a list", "list") if form == "list" else ("an object", "object")
    seen = json_type(value)
    reason = Reason.INVALID if seen == family else Reason.TYPE_INVALID
    message = f"must be {want}, got {'another ' if reason is Reason.INVALID else ''}{seen}"
    return FieldError(path, render(path, LONGEST_NAME), reason, message)  # the root has no name: who reads it knows which object was read


def _foreign(name: str, value: object, want: str) -> FieldError:
    """Makes the error of an object that says it's of another type than the one that was asked for."""
    if isinstance(value, str):
        return at((name,), Reason.INVALID, f"must be {want} here, or absent")
    return _wrong((name,), "string", value)
