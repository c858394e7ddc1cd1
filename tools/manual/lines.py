"""docs/lines.md: what the lines of the operator have different, from the marks of the models, the definitions and the rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.catalogue import rules
from dynamo_webhooks.policies.review import CURRENT
from dynamo_webhooks.policies.rule import Rule

Node = dict[str, Any]
_HEAD: Final = """\
<!-- written by `make docs` (tools/pages.py) from api/models and policies; edit those, not this file -->

# Differences between the lines 1.2 and 1.5

This page lists what one line of the operator has and the other lacks. No field was removed. [Moving from 1.2 to 1.5](moving-to-1.5.md)
explains the changes to authors, [install](install.md#from-line-12-to-15) to administrators.
"""
_RULES: Final = "x-kubernetes-validations"
_STRUCTURE: Final = ("properties", "items", "additionalProperties", "description", _RULES)
_WORDS: Final = {"x-kubernetes-preserve-unknown-fields": "free form", "maxLength": "maximum length", "minLength": "minimum length"}


def lines_page() -> str:
    """Fields, constraints, definitions, defaults and rules, each with what either line says."""
    nodes = {kind.name: (_nodes(kind.name, Line.V1_2), _nodes(kind.name, Line.V1_5)) for kind in KINDS}
    only = [rule for rule in rules(CURRENT) if len(rule.lines) == 1]
    parts = [
        *("## Fields that 1.5 adds", "Members of an added object are in its row.", _table("kind", "field", "value")),
        "\n".join(row for kind, (old, new) in nodes.items() for row in _added(kind, old, new)),
        *("## Constraints of the definitions", _table("kind", "field", "1.2", "1.5")),
        "\n".join(row for kind, (old, new) in nodes.items() for row in _changed(kind, old, new)),
        *("## Definitions", _table("kind", "what", "1.2", "1.5")),
        "\n".join(row for kind in KINDS for row in _definition(kind.name)),
        *("## Defaults", _table("default", "what it does", "1.2", "1.5")),
        "\n".join(_rule(rule) for rule in only if rule.is_default),
        *("## Rules", _table("rule", "what is refused", "1.2", "1.5")),
        "\n".join(_rule(rule) for rule in only if not rule.is_default),
    ]
    text = _HEAD
    for part in parts:
        text += ("" if part.startswith("| ") and text.endswith("--- |\n") else "\n") + part + "\n"
    return text


def _table(*names: str) -> str:
    return f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"


def _nodes(kind: str, line: Line) -> dict[tuple[str, str], Node]:
    """Every node of the definition's schemas by version and path."""
    return {
        (version["name"], path): node
        for version in build(kind, line=line)["spec"]["versions"]
        for path, node in _below(version["schema"]["openAPIV3Schema"], "")
    }


def _below(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    yield path, node
    for name, member in node.get("properties", {}).items():
        yield from _below(member, f"{path}.{name}" if path else name)
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(node.get(key), dict):
            yield from _below(node[key], path + mark)


def _added(kind: str, old: Mapping[tuple[str, str], Node], new: Mapping[tuple[str, str], Node]) -> Iterator[str]:
    """A row for each field that is in no added one."""
    added: list[tuple[str, str]] = []
    for version, path in new:
        inside = any(version == above and path.startswith((f"{start}.", f"{start}{{", f"{start}[")) for above, start in added)
        if (version, path) not in old and not inside:
            added.append((version, path))
    for version, path in added:
        yield f"| {kind}/{version} | `{path}` | {_value(new[version, path])} |"


def _value(node: Node) -> str:
    """What a field holds, with the members of an object."""
    members = ", ".join(f"`{name}` ({_value(member)})" for name, member in node.get("properties", {}).items())
    facets = ", ".join(_facet(key, node[key]) for key in sorted(_facets(node), key=lambda key: (key != "type", key)))
    return f"{facets}: {members}" if members else facets


def _facets(node: Node) -> Node:
    return {key: value for key, value in node.items() if key not in _STRUCTURE}


def _facet(key: str, value: Any) -> str:
    if key == "type" or value is True:
        return str(value) if key == "type" else _WORDS.get(key, key)
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value) if isinstance(value, str) else json.dumps(value)
    return f"{_WORDS.get(key, key)} `{text}`".replace("|", "\\|")


def _changed(kind: str, old: Mapping[tuple[str, str], Node], new: Mapping[tuple[str, str], Node]) -> Iterator[str]:
    """A row for each field of both lines that one of them holds to something else."""
    for (version, path), node in new.items():
        before = old.get((version, path))
        if before is None:
            continue
        one, other = _demands(before), _demands(node)
        cells = ["<br>".join(text for text in mine if text not in theirs) for mine, theirs in ((one, other), (other, one))]
        if any(cells):
            yield f"| {kind}/{version} | `{path}` | {' | '.join(cells)} |"


def _demands(node: Node) -> list[str]:
    """What a field is held to, each as a text."""
    said = [str(rule.get("message") or f"`{rule['rule']}`").replace("|", "\\|") for rule in node.get(_RULES, ())]
    return [_facet(key, value) for key, value in _facets(node).items()] + said


def _definition(kind: str) -> Iterator[str]:
    """Storage and columns."""
    specs = [build(kind, line=line)["spec"]["versions"] for line in Line]
    stored = [next(each["name"] for each in versions if each["storage"]) for versions in specs]
    columns = [", ".join(column["name"] for column in versions[-1]["additionalPrinterColumns"]) for versions in specs]
    for what, (one, other) in (("stored version", stored), ("columns of `kubectl get`", columns)):
        if one != other:
            yield f"| {kind} | {what} | {one} | {other} |"


def _rule(rule: Rule) -> str:
    marks = " | ".join("yes" if rule.is_of(line) else "" for line in Line)
    return f"| [`{rule.name}`](rules/{rule.name}.md) | {rule.title.rstrip('.')} | {marks} |"
