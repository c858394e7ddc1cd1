"""The schema phase: JSON types, required fields, enums, bounds, patterns and formats, in the API server's wording.

Expects an object that is pruned, defaulted and without nulls. List types, metadata and CEL rules are phases of their own.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from ..paths import Key, Path
from ..scalars import SCALARS
from ..schema import Node, resolve
from .errors import FieldError, Reason, format_dotted_path, nowhere

# The names that the API server gives the JSON types it sees.
_JSON_TYPES: Final[dict[type, str]] = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def structure_errors(obj: dict[str, Any], schema: Node) -> Iterator[FieldError]:
    """Yields what the schema refuses, parents before children, fields in the object's own order."""
    return _check((), obj, resolve(schema))


def _check(path: Path, value: Any, node: Node) -> Iterator[FieldError]:
    """Checks one value and all values below it; typed parts are only as deep as the schema."""
    yield from _type_errors(path, value, node)
    if isinstance(value, dict):
        yield from _object_errors(path, value, node)
    elif isinstance(value, list):
        yield from _list_errors(path, value, node)
    elif isinstance(value, str):
        yield from _prefix(path, text_errors(value, node))
    elif value is not None and not isinstance(value, bool):
        yield from _prefix(path, number_errors(value, node))
    yield from _enum_errors(path, value, node)
    yield from _combination_errors(path, value, node)


def _type_errors(path: Path, value: Any, node: Node) -> Iterator[FieldError]:
    """At most one error: a JSON type or a text format that differs from the schema's."""
    json_type = _json_type(value)
    want = node.get("type")
    if node.get("x-kubernetes-int-or-string"):
        if json_type not in {"integer", "string"} and not _is_whole(value):
            yield _error(path, Reason.TYPE_INVALID, f'in body must be of type integer: "{json_type}"')
            yield nowhere(f'"{format_dotted_path(path)}" must validate at least one schema (anyOf)', path)
    elif value is None:
        if want is not None and not node.get("nullable"):
            yield _error(path, Reason.TYPE_INVALID, f'in body must be of type {want}: "null"')
    elif want is not None and json_type != want and not _passes_for(want, json_type, value):
        yield _error(path, Reason.TYPE_INVALID, f'in body must be of type {want}: "{json_type}"')
    elif (wrong := format_error(value, node)) is not None:
        yield _error(path, Reason.TYPE_INVALID, wrong)


def _passes_for(want: str, json_type: str, value: Any) -> bool:
    """Every integer is a number, and a number without a fraction is an integer to a schema."""
    return (want == "number" and json_type == "integer") or (want == "integer" and _is_whole(value))


def _json_type(value: Any) -> str:
    """Names a value's JSON type; a whole number beyond 64 bits is read as one with a fraction."""
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return "number"
    return "null" if value is None else _JSON_TYPES.get(type(value), "string")


def _is_whole(value: Any) -> bool:
    """A float without a fraction passes for an integer in a schema, though not in a typed decoder; not where floats have gaps."""
    return isinstance(value, float) and value.is_integer() and abs(value) < 2**53


def _object_errors(path: Path, value: dict[str, Any], node: Node) -> Iterator[FieldError]:
    size = len(value)
    if size > node.get("maxProperties", size):
        yield FieldError(path, format_dotted_path(path), Reason.TOO_MANY, f"Too many: must have at most {node['maxProperties']} items")
    if size < node.get("minProperties", 0):
        yield _error(path, Reason.INVALID, f"in body should have at least {node['minProperties']} properties")
    for name in node.get("required") or ():
        if name not in value:
            yield FieldError((*path, name), format_dotted_path((*path, name)), Reason.REQUIRED, "Required value")
    properties: dict[str, Node] = node.get("properties") or {}
    extra = node.get("additionalProperties")
    for name, item in value.items():
        if name in properties:
            yield from _check((*path, name), item, resolve(properties[name]))
        elif isinstance(extra, dict):
            yield from _check((*path, Key(name)), item, resolve(extra))


def _list_errors(path: Path, value: list[Any], node: Node) -> Iterator[FieldError]:
    size = len(value)
    if size > node.get("maxItems", size):
        yield FieldError(path, format_dotted_path(path), Reason.TOO_MANY, f"Too many: must have at most {node['maxItems']} items")
    if size < node.get("minItems", 0):
        yield _error(path, Reason.INVALID, f"in body should have at least {node['minItems']} items")
    if "items" in node:
        items = resolve(node["items"])
        for index, item in enumerate(value):
            yield from _check((*path, index), item, items)


def _enum_errors(path: Path, value: Any, node: Node) -> Iterator[FieldError]:
    allowed = node.get("enum")
    if allowed is not None and not any(type(choice) is type(value) and choice == value for choice in allowed):
        names = ", ".join(json.dumps(choice) for choice in allowed)
        yield FieldError(path, format_dotted_path(path), Reason.NOT_SUPPORTED, f"Unsupported value: supported values: {names}")


def _combination_errors(path: Path, value: Any, node: Node) -> Iterator[FieldError]:
    """Reports each failed part of an allOf, and then the whole again without a path, as an API server does."""
    parts = [list(_check(path, value, {**resolve(part)})) for part in node.get("allOf") or ()]
    for errors in parts:
        yield from errors
    if any(parts):
        none = ". None validated" if all(parts) else ""
        yield nowhere(f'"{format_dotted_path(path)}" must validate all the schemas (allOf){none}', path)
    options = () if node.get("x-kubernetes-int-or-string") else node.get("anyOf") or ()
    if options and all(any(True for _ in _check(path, value, resolve(option))) for option in options):
        yield nowhere(f'"{format_dotted_path(path)}" must validate at least one schema (anyOf)', path)


def _prefix(path: Path, errors: Iterator[tuple[Reason, str]]) -> Iterator[FieldError]:
    for reason, text in errors:
        yield _error(path, reason, text)


def _error(path: Path, reason: Reason, text: str) -> FieldError:
    """Makes an error of this phase; it names the field twice because the API server does."""
    field = format_dotted_path(path)
    lead = "Too long: " if reason is Reason.TOO_LONG else f"Invalid value: {field} "
    return FieldError(path, field, reason, lead + text)


# Number formats bind only typed decoders: the API server stores a 40-bit number in an int32 field.
_TEXT_FORMATS: Final = {"date-time": SCALARS["time"].check, "byte": SCALARS["bytes"].check}


def text_errors(value: str, node: Node) -> Iterator[tuple[Reason, str]]:
    """Yield the first error of a text; lengths count characters, although the server's message speaks of bytes."""
    pattern = node.get("pattern")
    if len(value) > node.get("maxLength", len(value)):
        yield Reason.TOO_LONG, f"may not be more than {node['maxLength']} bytes"
    elif len(value) < node.get("minLength", 0):
        yield Reason.INVALID, f"in body should be at least {node['minLength']} chars long"
    elif pattern is not None and _compiled(pattern).search(value) is None:
        yield Reason.INVALID, f"in body should match '{pattern}'"


def number_errors(value: float, node: Node) -> Iterator[tuple[Reason, str]]:
    """Yield the errors of a number's size."""
    minimum, maximum = node.get("minimum"), node.get("maximum")
    if maximum is not None and (value >= maximum if node.get("exclusiveMaximum") else value > maximum):
        yield Reason.INVALID, f"in body should be less than {'' if node.get('exclusiveMaximum') else 'or equal to '}{maximum}"
    if minimum is not None and (value <= minimum if node.get("exclusiveMinimum") else value < minimum):
        yield Reason.INVALID, f"in body should be greater than {'' if node.get('exclusiveMinimum') else 'or equal to '}{minimum}"


def format_error(value: Any, node: Node) -> str | None:
    """The error of a text's format, if any."""
    check = _TEXT_FORMATS.get(node.get("format", "")) if isinstance(value, str) else None
    return None if check is None or check(value) else f"in body must be of type {node['format']}"


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern of the schema's dialect: `$` is the very end, never a place before a last newline, and classes are ASCII."""
    out: list[str] = []
    escaped = in_class = False
    for char in pattern:
        if char == "$" and not escaped and not in_class:
            out.append(r"\Z")
            continue
        in_class = not escaped and (char == "[" or (in_class and char != "]")) if not escaped else in_class
        escaped = char == "\\" and not escaped
        out.append(char)
    return re.compile("".join(out), re.ASCII)
