"""Scalar forms of typed decoding: which JSON values each takes, and how a schema names the form. Containers are `api.decode`'s."""

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from .quantity import is_quantity

# Half a step above the largest float32: the first number that no longer rounds to it.
_FLOAT32_LIMIT: Final = 3.4028235677973366e38
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
# Lengths of time as the Go types write them: 200ms, 1h30m, 1.5s; a bare 0 needs no unit.
_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)


class Scalar(NamedTuple):
    """One form: the JSON type that decides alone (if any), the whole check, words for what belongs there, and its JSON type's name."""

    exact: type | None
    check: Callable[[object], bool]
    want: str
    family: str


def _is_int32(value: object) -> bool:
    return -0x80000000 <= value <= 0x7FFFFFFF if type(value) is int else value is None


def _is_int64(value: object) -> bool:
    return -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF if type(value) is int else value is None


def _is_float32(value: object) -> bool:
    return -_FLOAT32_LIMIT < value < _FLOAT32_LIMIT if type(value) is float or type(value) is int else value is None


def is_time(value: object) -> bool:
    """Whether a value is an RFC 3339 instant, as all timestamps of the API, or null."""
    if type(value) is not str:
        return value is None
    if _TIME.fullmatch(value) is None:
        return False
    try:
        datetime.fromisoformat(value[:19])
    except ValueError:
        return False
    return True


def _is_duration(value: object) -> bool:
    return _DURATION.fullmatch(value) is not None if type(value) is str else value is None


def _is_base64(value: object) -> bool:
    if type(value) is not str:
        return value is None
    try:
        a2b_base64(value, strict_mode=True)
    except (Base64Error, ValueError):
        return not value
    return True


SCALARS: Final[Mapping[str, Scalar]] = {
    "any": Scalar(None, lambda _value: True, "anything", "value"),
    "string": Scalar(str, lambda value: value is None or type(value) is str, "a string", "string"),
    "boolean": Scalar(bool, lambda value: value is None or type(value) is bool, "true or false", "boolean"),
    "int32": Scalar(None, _is_int32, "a whole number of at most 32 bits", "number"),
    "int64": Scalar(None, _is_int64, "a whole number of at most 64 bits", "number"),
    "float32": Scalar(None, _is_float32, "a number within the range of a 32-bit float", "number"),
    "float64": Scalar(None, lambda value: type(value) is float or type(value) is int or value is None, "a number", "number"),
    "quantity": Scalar(None, lambda value: value is None or is_quantity(value), "a quantity such as 1, 500m or 16Gi", "string"),
    "int-or-string": Scalar(
        None, lambda value: type(value) is str or _is_int32(value), "a string or a whole number of at most 32 bits", "number"
    ),
    "time": Scalar(None, is_time, "a time such as 2026-01-31T12:00:00Z", "string"),
    "duration": Scalar(None, _is_duration, "a length of time such as 200ms or 1h30m", "string"),
    "bytes": Scalar(None, _is_base64, "text in base64", "string"),
}


def json_type(value: object) -> str:
    """The name of a value's JSON type."""
    names = {dict: "object", list: "list", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return names.get(type(value), "value")


def scalar_form(node: Mapping[str, object]) -> str:
    """Names the form of a scalar schema node; a quantity is an int-or-string with a pattern, a port one without."""
    if node.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in node else "int-or-string"
    kind, form = node.get("type"), node.get("format")
    if kind == "string":
        return {"date-time": "time", "byte": "bytes"}.get(str(form), "string")
    if kind == "integer":
        return "int32" if form == "int32" else "int64"
    if kind == "number":
        return "float32" if form == "float" else "float64"
    return "boolean" if kind == "boolean" else "any"
