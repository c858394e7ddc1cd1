"""Typed decoding: checks whether a typed decoder could read a JSON object into the types of its kind.

Runs on every admission request, so a schema is compiled once into checks with flat tables, and a well-typed object costs no allocation.
Lenient as the API is: unknown fields are ignored, null means absent everywhere, and enums, bounds and patterns are not checked (`api.walk`
validates those).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from .kinds import GROUP
from .paths import Key, Path, format_path
from .scalars import SCALARS, json_type, scalar_form
from .schema import PRESERVE, Node, resolve, whole_schema
from .walk.errors import FieldError, Reason, field_error

Decoder: TypeAlias = "Callable[[object], tuple[FieldError, ...]]"

# A refusal lists at most so many places: enough to mend an object, bounded for one that is wrong ten thousand times.
MAX_ERRORS: Final = 50
MAX_KEY_CHARACTERS: Final = 1_000  # of a map key in a message


class Check:
    """The fast check of one shape. Classes, whose methods compiled code calls sooner than functions."""

    def fits(self, value: object) -> bool:
        """Whether a value, or null, has the shape."""
        raise NotImplementedError


class _Scalar(Check):
    def __init__(self, check: Callable[[object], bool]) -> None:
        self._check = check

    def fits(self, value: object) -> bool:
        return self._check(value)


class _Object(Check):
    """One flat table: for each name the JSON type that decides alone, compared inline, or the check that decides."""

    def __init__(self, wanted: dict[str, type | Check]) -> None:
        self._wanted = wanted

    def fits(self, value: object) -> bool:
        if type(value) is not dict:
            return value is None
        wanted = self._wanted
        for name, item in value.items():
            want = wanted.get(name)
            if type(item) is want or want is None or item is None:
                continue
            if not isinstance(want, Check) or not want.fits(item):
                return False
        return True


class _Items(Check):
    """A map or a list, as `kind` says, of values of the JSON type that decides alone, or of those that fit a check."""

    def __init__(self, kind: Any, exact: type | None, check: Check | None) -> None:
        self._kind, self._exact, self._check = kind, exact, check

    def fits(self, value: Any) -> bool:
        if type(value) is not self._kind:
            return value is None
        exact, check = self._exact, self._check
        for item in value.values() if self._kind is dict else value:  # all() with a generator takes twice the time
            if type(item) is not exact and item is not None and (check is None or not check.fits(item)):
                return False
        return True


class Shape(NamedTuple):
    """The shape that a decoder expects at one place: a scalar form, `object` with its fields, `map` or `list` with its items, or `any`."""

    form: str
    fields: Mapping[str, Shape] = {}
    item: Shape | None = None


# Fields whose type is stricter than their schema, which has no word for it: the decoder refuses what the schema lets pass.
_STRICTER: Final = {"metricsStalenessThreshold": Shape("duration")}
ANY: Final = Shape("any")
_STRING: Final = Shape("string")
_STRINGS: Final = Shape("map", item=_STRING)
_OWNER: Final = Shape("object", dict.fromkeys(("apiVersion", "kind", "name", "uid"), _STRING))
# The part of an object's metadata that rules read; the rest, managedFields above all, is long.
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


@cache
def decoder(kind: str, version: str) -> Decoder:
    """The decoder of one kind and version: it returns the type errors of an object.

    Raises what `whole_schema` raises for a kind or version that doesn't exist.
    """
    return compile_decoder(whole_schema(kind, version), kind=kind, api_version=f"{GROUP}/{version}")


def compile_decoder(schema: Node, *, kind: str, api_version: str) -> Decoder:
    """Compiles a structural schema into a decoder of objects of that kind and apiVersion."""
    root = _root(schema)
    checks: dict[int, Check] = {}
    well_typed = _compile(root, checks)
    versions = (None, "", api_version)
    kinds = (None, "", kind)

    def decode(value: object) -> tuple[FieldError, ...]:
        if type(value) is dict and value.get("apiVersion") in versions and value.get("kind") in kinds and well_typed.fits(value):
            return ()
        if type(value) is not dict:
            return (_wrong((), "object", value),)
        expected = (("apiVersion", api_version), ("kind", kind))
        errors = [_foreign(name, value[name], want) for name, want in expected if value.get(name) not in (None, "", want)]
        for error in _describe((), root, value, lambda shape: _compile(shape, checks).fits):
            errors.append(error)
            if len(errors) == MAX_ERRORS:
                break
        return tuple(errors)

    return decode


@cache
def quick_decoder(kind: str, version: str) -> Callable[[object], bool]:
    """Returns a function that is true if `decoder` would find no error in an object's members; several times faster than listing them."""
    return _compile(_root(whole_schema(kind, version)), {}).fits


def _root(schema: Node) -> Shape:
    fields = {name: field for name, field in shape_of(schema, {}).fields.items() if name not in {"apiVersion", "kind"}}
    return Shape("object", {**fields, "metadata": METADATA})


def shape_of(node: Node, memo: dict[int, Shape]) -> Shape:
    """Reads a schema node as the decoder sees it; `memo` keeps one shape for each node that many places share."""
    node = resolve(node)
    shape = memo.get(id(node))
    if shape is None:
        shape = memo[id(node)] = _read_shape(node, memo)
    return shape


def _read_shape(node: Node, memo: dict[int, Shape]) -> Shape:
    """Free-form and embedded objects always decode; all others by their schema."""
    if node.get("x-kubernetes-embedded-resource"):
        return ANY
    properties, extra, items = node.get("properties"), node.get("additionalProperties"), node.get("items")
    if isinstance(properties, dict):
        return Shape("object", {name: _field(name, child, memo) for name, child in properties.items()})
    if isinstance(extra, dict):
        return Shape("map", item=shape_of(extra, memo))
    if isinstance(items, dict):
        return Shape("list", item=shape_of(items, memo))
    if node.get(PRESERVE):
        return ANY
    return Shape("object") if node.get("type") == "object" else Shape(scalar_form(node))


def _field(name: str, node: Node, memo: dict[int, Shape]) -> Shape:
    """Read a named field; `metadata` is an object's metadata, whatever its schema."""
    if name in _STRICTER:
        return _STRICTER[name]
    shape = shape_of(node, memo)
    return METADATA if name == "metadata" and shape == Shape("object") else shape


def _compile(shape: Shape, done: dict[int, Check]) -> Check:
    """Compiles a shape into its check, once for each shape: embedded types repeat many times in a schema."""
    check = done.get(id(shape))
    if check is None:
        if shape.form == "object":
            check = _check_object(shape, done)
        elif shape.item is not None:
            check = _check_items(shape, shape.item, done)
        else:
            check = _Scalar(SCALARS[shape.form].check)
        done[id(shape)] = check
    return check


def _check_object(shape: Shape, done: dict[int, Check]) -> Check:
    return _Object({name: _exact(field) or _compile(field, done) for name, field in shape.fields.items() if field.form != "any"})


def _check_items(shape: Shape, item: Shape, done: dict[int, Check]) -> Check:
    exact = _exact(item)
    return _Items(dict if shape.form == "map" else list, exact, None if exact is not None else _compile(item, done))


def _exact(shape: Shape) -> type | None:
    """Returns the one JSON type that a scalar form takes, when the type alone decides."""
    scalar = SCALARS.get(shape.form)
    return scalar.exact if scalar is not None else None


def _describe(path: Path, shape: Shape, value: object, check_of: Callable[[Shape], Callable[[object], bool]]) -> Iterator[FieldError]:
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
    """Makes the error at one path: the expected and the actual JSON type, never the value."""
    want, family = SCALARS[form][2:] if form in SCALARS else ("a list", "list") if form == "list" else ("an object", "object")
    seen = json_type(value)
    reason = Reason.INVALID if seen == family else Reason.TYPE_INVALID
    message = f"must be {want}, got {'another ' if reason is Reason.INVALID else ''}{seen}"
    return FieldError(path, format_path(path, MAX_KEY_CHARACTERS), reason, message)  # the root has no name


def _foreign(name: str, value: object, want: str) -> FieldError:
    """The error of an object of another kind or version than the requested one."""
    if isinstance(value, str):
        return field_error((name,), Reason.INVALID, f"must be {want} here, or absent")
    return _wrong((name,), "string", value)
