"""What the lines of the operator have different, from the marks of the models, the definitions and the rules: tables of docs/lines.md."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Final

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import BY_NAME, KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.catalogue import list_rules
from tools.manual.console import table

Node = dict[str, Any]
Nodes = Mapping[tuple[str, str], Node]  # by version and path
Row = tuple[str, ...]
_STEPS: Final = tuple(pairwise(Line))
_LINES: Final = " | ".join(Line)
_RULES: Final = "x-kubernetes-validations"
_STRUCTURE: Final = ("properties", "items", "additionalProperties", "description", _RULES)
_WORDS: Final = {"x-kubernetes-preserve-unknown-fields": "free form", "maxLength": "maximum length", "minLength": "minimum length"}


def _fields(heads: str, rows: Callable[[str, Nodes, Nodes], Iterator[Row]]) -> str:
    """The rows of each step from a line to the next, behind the later line."""
    steps = ((newer, rows(kind.name, _nodes(kind.name, older), _nodes(kind.name, newer))) for kind in KINDS for older, newer in _STEPS)
    return table(f"line | {heads}", ((str(newer), *row) for newer, found in steps for row in found))


def _rules(heads: str, *, defaults: bool) -> str:
    only = [rule for rule in list_rules() if len(rule.lines) < len(Line) and rule.is_default is defaults]
    marks = ("", "yes")
    return table(
        heads, ((f"[`{one.name}`](rules/{one.name}.md)", one.title.rstrip("."), *(marks[one.is_of(line)] for line in Line)) for one in only)
    )


@cache
def _nodes(kind: str, line: Line) -> Nodes:
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


def _added(kind: str, old: Nodes, new: Nodes) -> Iterator[Row]:
    """A row for each field that is in no added one."""
    added: list[tuple[str, str]] = []
    for version, path in new:
        inside = any(version == above and path.startswith((f"{start}.", f"{start}{{", f"{start}[")) for above, start in added)
        if (version, path) not in old and not inside:
            added.append((version, path))
    for version, path in added:
        yield f"{kind}/{version}", f"`{path}`", _value(new[version, path])


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


def _changed(kind: str, old: Nodes, new: Nodes) -> Iterator[Row]:
    """A row for each field of both lines that one of them holds to something else."""
    for (version, path), node in new.items():
        before = old.get((version, path))
        if before is None:
            continue
        one, other = _demands(before), _demands(node)
        cells = ["<br>".join(text for text in mine if text not in theirs) for mine, theirs in ((one, other), (other, one))]
        if any(cells):
            yield f"{kind}/{version}", f"`{path}`", *cells


def _demands(node: Node) -> list[str]:
    """What a field is held to, each as a text."""
    said = [str(rule.get("message") or f"`{rule['rule']}`").replace("|", "\\|") for rule in node.get(_RULES, ())]
    return [_facet(key, value) for key, value in _facets(node).items()] + said


def _definition(kind: str) -> Iterator[Row]:
    """Storage and columns, and that it is gone."""
    if until := BY_NAME[kind].until:
        yield str(until), kind, "the kind", "served", "gone"
    specs = [build(kind, line=line)["spec"]["versions"] for line in Line]
    stored = [next(each["name"] for each in versions if each["storage"]) for versions in specs]
    columns = [", ".join(column["name"] for column in versions[-1]["additionalPrinterColumns"]) for versions in specs]
    for what, told in (("stored version", stored), ("columns of `kubectl get`", columns)):
        for (_, newer), (one, other) in zip(_STEPS, pairwise(told), strict=True):
            if one != other:
                yield str(newer), kind, what, one, other


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "added fields": lambda: _fields("kind | field | value", _added),
    "constraints": lambda: _fields("kind | field | before | since", _changed),
    "definitions": lambda: table("line | kind | what | before | since", (row for kind in KINDS for row in _definition(kind.name))),
    "defaults by line": lambda: _rules(f"default | effect | {_LINES}", defaults=True),
    "rules by line": lambda: _rules(f"rule | it refuses | {_LINES}", defaults=False),
}
