"""Judges of reports: the schemas of the formats, compiled once, and a reader of workflow commands."""

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
from lxml import etree

from dynamo_webhooks.cli.commands.schema.outputs import load

HERE = Path(__file__).parent / "schemas"


@cache
def sarif() -> jsonschema_rs.Draft4Validator:
    """The judge of SARIF 2.1.0, formats (URIs, dates) included."""
    text = (HERE / "sarif-schema-2.1.0.json").read_text()
    # the schema is of draft 4 and uses a format that only later drafts define
    return jsonschema_rs.Draft4Validator(text, validate_formats=True, formats={"uri-reference": _is_reference})


def _is_reference(text: str) -> bool:
    return re.fullmatch(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-F]{2})*", text) is not None


@cache
def junit() -> etree.XMLSchema:
    """The judge of JUnit's XML."""
    return etree.XMLSchema(etree.fromstring((HERE / "junit-10.xsd").read_bytes()))


@cache
def ours(name: str) -> jsonschema_rs.Draft202012Validator:
    """The judge of one of our own formats, made strict: a field that its schema doesn't describe is wrong here, though not for users."""
    return jsonschema_rs.Draft202012Validator(closed(load(name)))


def closed(schema: Any) -> Any:
    """A schema that allows no undescribed fields; definitions are closed where they are used, because others may add to them."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: _definitions(value) if key == "$defs" else closed(value) for key, value in schema.items()}
    return {**inside, "unevaluatedProperties": False} if "properties" in schema or "$ref" in schema else inside


def _definitions(definitions: dict[str, Any]) -> dict[str, Any]:
    return {name: _open(closed(body)) for name, body in definitions.items()}


def _open(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "unevaluatedProperties"}


def complaints(validator: jsonschema_rs.Draft4Validator | jsonschema_rs.Draft202012Validator, value: Any) -> list[str]:
    """What a judge has to say, none when all is well."""
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message[:300]}" for error in validator.iter_errors(value)]


def parsed_junit(text: str) -> etree._Element:
    """The document as its judge accepts it; fails with its words when it doesn't."""
    root = etree.fromstring(text.encode())
    assert junit().validate(root), junit().error_log
    return root


_COMMAND = re.compile(r"::(?P<level>[a-z]+) (?P<properties>[^:]*)::(?P<message>.*)")


class Annotation(NamedTuple):
    """One command, as GitHub understands it."""

    level: str
    properties: dict[str, str]
    message: str


def read_commands(text: str) -> list[Annotation]:
    """All commands of an output, in which nothing else may stand, as GitHub's runner reads them: one a line, escapes undone last."""
    annotations = []
    for line in text.split("\n")[:-1]:
        match = _COMMAND.fullmatch(line)
        assert match, line
        pairs = (pair.partition("=") for pair in match["properties"].split(","))
        properties = {name: _plain(value, {"%3A": ":", "%2C": ","}) for name, _, value in pairs}
        annotations.append(Annotation(match["level"], properties, _plain(match["message"], {})))
    return annotations


def _plain(text: str, more: dict[str, str]) -> str:
    for escape, character in ({"%0D": "\r", "%0A": "\n"} | more | {"%25": "%"}).items():
        text = text.replace(escape, character)
    return text
