"""A model of how the Go operator reads preservation annotations: which text it can use and what it sees (measured).

Only reading is modelled, not what it does with what it sees. Members are matched as its decoder does: an exact name is preferred, else
another case of it; unknown members are skipped; one value of the wrong type makes the whole text unusable.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.quantity import is_quantity
from dynamo_webhooks.api.schema import Node, load_schema, resolve

Fields = dict[str, Any]
RECORD: Final = {"path": "serviceName", "nil": True}
WIDTHS: Final = {"int32": 31, "int64": 63}


class UnusableError(ValueError):
    """Text that the Go operator can't use."""


@dataclass
class Seen:
    """What it sees: the payload with the members that its types know, whether the text is usable, and the record of an absent name."""

    payload: Fields = field(default_factory=dict)
    usable: bool = False
    nameless: bool = False


def read_spec(text: str, kind: str, version: str) -> Seen:
    """Reads a spec annotation as the types of `version`, the version that is being built."""
    if not text:
        return Seen()
    try:
        value = _json(text)
        if value is None:
            return Seen(usable=True)
        if type(value) is not dict:
            _refuse("neither object nor null")
        envelope = value if "spec" in value else {"spec": value}
        known = _envelope(envelope)
        payload = _typed(load_schema(kind, version, Line.V1_2)["properties"]["spec"], known.get("spec"), "spec") or {}
    except UnusableError:
        return Seen()
    records = [record for record in known.get("rawJSON") or [] if record]
    return Seen(payload, usable=True, nameless=any(record.items() >= RECORD.items() for record in records))


def read_status(text: str, kind: str, version: str) -> Fields:
    """Reads a status annotation. Raises: UnusableError, which fails the conversion of graphs and components there."""
    if not text:
        return {}
    return _typed(load_schema(kind, version, Line.V1_2)["properties"]["status"], _json(text), "status") or {}


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise UnusableError(str(error)) from error


def _refuse(why: str) -> NoReturn:
    raise UnusableError(why)


def _envelope(value: Fields) -> Fields:
    """The envelope's own members; anything else in it is skipped, whatever it is."""
    known = {name: _member(value, name) for name in ("version", "spec", "rawJSON")}
    version, records = known["version"], known["rawJSON"]
    if version is not None and type(version) is not int:
        _refuse("version is no integer")
    if records is not None and (type(records) is not list or not all(_is_record(record) for record in records)):
        _refuse("rawJSON is no list of records")
    return known


def _is_record(record: Any) -> bool:
    types = {"path": str, "raw": str, "nil": bool}
    fits = type(record) is dict and all(
        _member(record, name) is None or type(_member(record, name)) is kind for name, kind in types.items()
    )
    return record is None or fits


def _member(value: Fields, name: str) -> Any:
    if name in value:
        return value[name]
    return next((below for other, below in reversed(value.items()) if other.lower() == name.lower()), None)


def _typed(node: Node, value: Any, at: str) -> Any:
    """The value as its type sees it. Raises: UnusableError."""
    node = resolve(node)
    if value is None:
        return None
    if "properties" in node:
        if type(value) is not dict:
            _refuse(f"{at} is no object")
        seen = {name: _typed(below, _member(value, name), f"{at}.{name}") for name, below in node["properties"].items()}
        # a name that is there with null is seen as absent, but stays a member of a map
        return {name: below for name, below in seen.items() if below is not None}
    if type(node.get("additionalProperties")) is dict:
        if type(value) is not dict:
            _refuse(f"{at} is no map")
        return {key: _typed(node["additionalProperties"], below, f"{at}[{key}]") for key, below in value.items()}
    if node.get("type") == "array":
        if type(value) is not list:
            _refuse(f"{at} is no list")
        return [_typed(node["items"], item, f"{at}[]") for item in value]
    if not _fits(node, value):
        _refuse(f"{at} has the wrong type")
    return value


def _fits(node: Node, value: Any) -> bool:
    """Whether a scalar, or free JSON, has its declared type."""
    if node.get("x-kubernetes-int-or-string"):
        amount = "pattern" in node
        return (type(value) in (int, float, str) and is_quantity(value)) if amount else type(value) in (int, str)
    kind = node.get("type")
    if kind == "integer":
        limit = 1 << WIDTHS.get(node.get("format", ""), 63)
        return type(value) is int and -limit <= value < limit
    if kind in ("string", "boolean"):
        return type(value) is (str if kind == "string" else bool)
    if kind == "number":
        return type(value) in (int, float)
    return kind != "object" or type(value) is dict
