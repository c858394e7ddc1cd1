"""The made parts of hand-written pages, by the name in their marks (tools/manual/console.py)."""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final

import orjson
import yaml

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.api.kinds import KINDS as EVERY_KIND
from dynamo_webhooks.api.line import OLDEST, Line
from dynamo_webhooks.api.operator.configuration import OWN, leaves
from dynamo_webhooks.api.schema import SINCE, resolve, whole_schema
from dynamo_webhooks.certs import meters as provisioner
from dynamo_webhooks.cli.commands import load
from dynamo_webhooks.cli.commands.completion.candidates import describe
from dynamo_webhooks.cli.commands.explain.kind import describe_fact
from dynamo_webhooks.cli.commands.explain.message import load_tables
from dynamo_webhooks.cli.console.parser import Parser
from dynamo_webhooks.cli.console.program import COMMANDS, MAX_HELP_COLUMNS
from dynamo_webhooks.cli.daemon.run import PROCESS_METRICS
from dynamo_webhooks.cli.installation.configuration import VARIABLES
from dynamo_webhooks.conversion.kind import LEFT, RIGHT, Kind
from dynamo_webhooks.conversion.kinds import KINDS, field_rows
from dynamo_webhooks.kube.metrics import COUNTER, MetricSpec
from dynamo_webhooks.policies.catalogue import list_declared, list_rules
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.reconciler.metrics import controller_runtime
from dynamo_webhooks.reconciler.metrics import meters as reconciler
from dynamo_webhooks.webhooks.metrics import DECLARED
from tools.manual import architecture
from tools.manual.conversion_differences import HEALED, KEPT, SPELLED
from tools.manual.markdown import format_table
from tools.manual.rules import list_every_rule
from tools.written import ROOT


def fields() -> str:
    """A section for each converting kind."""
    return "\n\n".join(f"## {kind.name}\n\n{format_table(f'{LEFT} | {RIGHT} | how', _field_rows(kind))}" for kind in KINDS.values())


def _field_rows(kind: Kind) -> Iterator[tuple[str, ...]]:
    for left, right, rule in field_rows(kind):
        line = _since(kind.name, left)
        cells = (f"`{name}`" if name else "" for name in (left, right))
        yield *cells, rule.replace("|", "\\|") + (f"; since operator {line}" if line else "")


def _since(kind: str, path: str) -> str:
    """The first line that has a field of v1alpha1; empty where all have it."""
    node = whole_schema(kind, LEFT)
    for step in path.split(", ", maxsplit=1)[0].replace("{}", ".*").replace("[]", ".*").split("."):
        node = resolve(node)
        below = node.get("items") or node.get("additionalProperties") if step == "*" else node.get("properties", {}).get(step)
        if not isinstance(below, dict):
            return ""
        if SINCE in below:
            return str(below[SINCE])
        node = below
    return ""


PROVISIONER: Final = tuple(provisioner.DECLARED.values())
RECONCILER: Final = (*reconciler.DECLARED, *controller_runtime.DECLARED)


def describe_metrics(metrics: Iterable[MetricSpec]) -> str:
    """Name, type, labels and meaning of each."""
    return format_table("name | type | labels | meaning", map(_row, metrics))


def _row(each: MetricSpec) -> Iterator[str]:
    yield f"`{each.samples[0] if each.type == COUNTER else each.name}`"
    yield each.type
    yield " ".join(f"`{label}`" for label in each.labels)
    bounds = " ".join(f"{bound:g}" if bound < 100_000 else f"{bound:.0f}" for bound in each.buckets or ())
    yield f"{each.text}; buckets {bounds}" if bounds else each.text


def _sections(parser: Parser) -> Iterator[tuple[str, list[argparse.Action]]]:
    """The flags of each section of a parser's help, after its title."""
    for group in parser._action_groups:  # noqa: SLF001 - there is no other way
        shown = [action for action in group._group_actions if action in parser.actions()]  # noqa: SLF001 - as above
        if shown:
            yield str(group.title), shown


def usage(name: str) -> str:
    """Writes what a command is for, and how it is called, in a line as wide on every machine."""
    parser = parser_of(name)
    formatter = argparse.HelpFormatter(prog=parser.prog, width=MAX_HELP_COLUMNS)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")  # noqa: SLF001 - as above
    return f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.\n\n```\n{formatter.format_help().strip()}\n```"


def flags(name: str) -> str:
    """The flags of a command, a table for each group, and what its help says behind them."""
    parser = parser_of(name)
    tables = [_group(title, actions) for title, actions in _sections(parser)]
    return "\n\n".join([*filter(None, tables), *([f"```\n{parser.epilog.rstrip()}\n```"] if parser.epilog else [])])


def parser_of(name: str) -> Parser:
    """The parser of one command, with its own flags alone."""
    return Parser(name, load(name))


def _group(title: str, actions: list[argparse.Action]) -> str:
    rows = [(f"`{_spelled(action)}`", _effect(action)) for action in actions if "--help" not in action.option_strings]
    title = {"options": "", "positional arguments": "Arguments"}.get(title, title.capitalize())
    return (f"### {title}\n\n" if title else "") + format_table(" | ", rows).replace("|  |  |", "| | |") if rows else ""


def _spelled(action: argparse.Action) -> str:
    """A flag with its other names and what follows it."""
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    value = "" if action.nargs == 0 else "\\|".join(map(str, action.choices)) if action.choices is not None else metavar
    return f"{', '.join(action.option_strings)} {value}".strip()


def _effect(action: argparse.Action) -> str:
    """A flag's help as a cell of a table."""
    return re.sub(r"\s+", " ", describe(action)).replace("|", "\\|")


# own keys in sections that the Go operator knows
_OURS: Final = ("allowed", "grace", "maxSkew", "metricsEndpointTemplate", "namespaceLabel", "clientCA", "clientNames")
# what the page of the configuration says once, above the table
_SHORT: Final = {
    " of at most 63 lower-case letters, digits and inner hyphens": "",
    " of at most 253 lower-case letters, digits, hyphens and dots": "",
    " such as 30s, 15m or 4h": "",
    " such as 65536, 64Ki, 7Mi or 1Gi": "",
    " such as 64Mi or 2Gi, or absent": "",
    "true, false, or absent for automatic detection": "true or false",
}


def _messages(who: str) -> str:
    return format_table(
        "message | meaning | what to do", ((f"`{entry.shown}`", entry.meaning, entry.remedy) for entry in load_tables()[who])
    )


def _facts() -> Iterator[tuple[str, ...]]:
    for page in map(describe_fact, Facts._fields):
        rules = ", ".join(f"[`{rule['rule']}`](rules/{rule['rule']}.md)" for rule in page["rules"])
        yield f"`{page['fact']}`", page["description"].removesuffix("; null: not known."), rules


def _keys() -> Iterator[tuple[str, ...]]:
    """The keys of the configuration in the order of the models, ours marked."""
    for key, field in leaves():
        value = None if field.default is None else field.allowed.write(field.default)
        default = "" if value in ("", None, []) else f"`{orjson.dumps(value).decode()}`"
        mark = " +" if key[0] in OWN or key[-1] in _OURS else ""
        text = field.allowed.text
        for long, short in _SHORT.items():
            text = text.replace(long, short)
        yield f"`{'.'.join(key)}`{mark}", default, text.removeprefix("a ").removeprefix("an "), field.description


def _differing(*, lacking: bool) -> Iterator[tuple[str, ...]]:
    for rule in list_declared():
        if rule.difference and rule.difference.lacking is lacking:
            yield f"[`{rule.name}`](rules/{rule.name}.md)", rule.difference.because


def _conversions() -> Iterator[tuple[str, ...]]:
    for what, texts in (("fixed", HEALED), ("kept", KEPT), ("written differently", SPELLED)):
        yield from ((what, text) for text in texts.values())


# what operator releases have different, from the marks of the models, the definitions and the rules: tables of docs/lines.md
Node = dict[str, Any]
Nodes = Mapping[tuple[str, str], Node]  # by version and path
Row = tuple[str, ...]
_STEPS: Final = tuple(pairwise(Line))
_LINES: Final = " | ".join(Line)
_RULES: Final = "x-kubernetes-validations"
_IDENTITY: Final = ("apiVersion", "kind", "metadata")
_STRUCTURE: Final = ("properties", "items", "additionalProperties", "description", _RULES)
_WORDS: Final = {"x-kubernetes-preserve-unknown-fields": "free form", "maxLength": "maximum length", "minLength": "minimum length"}


def _fields(heads: str, rows: Callable[[str, Nodes, Nodes], Iterator[Row]]) -> str:
    """The rows of each step from a line to the next, behind the later line."""
    steps = ((newer, rows(kind.name, _nodes(kind.name, older), _nodes(kind.name, newer))) for kind in EVERY_KIND for older, newer in _STEPS)
    return format_table(f"operator | {heads}", ((str(newer), *row) for newer, entries in steps for row in entries))


def _rules(heads: str, *, defaults: bool) -> str:
    only = [rule for rule in list_rules() if len(rule.lines) < len(Line) and rule.is_default is defaults]
    marks = ("", "yes")
    return format_table(
        heads,
        ((f"[`{rule.name}`](rules/{rule.name}.md)", rule.title.rstrip("."), *(marks[rule.is_of(line)] for line in Line)) for rule in only),
    )


@cache
def _nodes(kind: str, line: Line) -> Nodes:
    """Every node of the spec and status of the definition's schemas by version and path; none where the line lacks the kind."""
    return {
        (version["name"], path): node
        for version in (build(kind, line=line)["spec"]["versions"] if BY_NAME[kind].since <= line else ())
        for path, node in _below(version["schema"]["openAPIV3Schema"], "")
        if path.partition(".")[0] not in _IDENTITY
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
        if path and (version, path) not in old and not inside:
            added.append((version, path))
            yield f"{kind}/{version}", f"`{path}`", _value(new[version, path])


def _value(node: Node) -> str:
    """Describes the values that a field holds, with the members of an object."""
    members = ", ".join(f"`{name}` ({_value(member)})" for name, member in node.get("properties", {}).items())
    facets = ", ".join(_facet(key, node[key]) for key in sorted(_facets(node), key=lambda key: (key != "type", key)))
    return f"{facets}: {members}" if members else facets


def _facets(node: Node) -> Node:
    return {key: value for key, value in node.items() if key not in _STRUCTURE}


def _facet(key: str, value: Any) -> str:
    if key == "type" or (value is True and key != "default"):
        return str(value) if key == "type" else _WORDS.get(key, key)
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value) if isinstance(value, str) else json.dumps(value)
    return f"{_WORDS.get(key, key)} `{text}`".replace("|", "\\|")


def _changed(kind: str, old: Nodes, new: Nodes) -> Iterator[Row]:
    """A row for each field of both lines that one of them holds to something else."""
    for (version, path), node in new.items():
        before = old.get((version, path))
        if before is None:
            continue
        earlier, other = _demands(before), _demands(node)
        cells = ["<br>".join(text for text in mine if text not in theirs) for mine, theirs in ((earlier, other), (other, earlier))]
        if any(cells):
            yield f"{kind}/{version}", f"`{path}`", *cells


def _demands(node: Node) -> list[str]:
    """Lists the demands on a field, each as a text."""
    messages = [str(rule.get("message") or f"`{rule['rule']}`").replace("|", "\\|") for rule in node.get(_RULES, ())]
    return [_facet(key, value) for key, value in _facets(node).items()] + messages


def _definition(kind: str) -> Iterator[Row]:
    """Versions, storage and columns, and that it is new or gone."""
    known = BY_NAME[kind]
    if known.since > OLDEST:
        yield str(known.since), kind, "the kind", "", "served"
        return
    if until := known.until:
        yield str(until), kind, "the kind", "served", "gone"
    specs = [build(kind, line=line)["spec"]["versions"] for line in Line]
    served = [", ".join(each["name"] for each in versions) for versions in specs]
    stored = [next(each["name"] for each in versions if each["storage"]) for versions in specs]
    columns = [", ".join(column["name"] for column in versions[len(known.versions) - 1]["additionalPrinterColumns"]) for versions in specs]
    for what, values in (("versions", served), ("stored version", stored), ("columns of `kubectl get`", columns)):
        for (_, newer), (earlier, other) in zip(_STEPS, pairwise(values), strict=True):
            if earlier != other:
                yield str(newer), kind, what, earlier, other


def _rows(heads: str, make: Callable[[], Iterable[Iterable[str]]]) -> Callable[[], str]:
    return lambda: format_table(heads, make())


def _inputs() -> Iterator[tuple[str, ...]]:
    """The inputs of the GitHub action, then its outputs."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    for name, about in action["inputs"].items():
        yield f"`{name}`", f"`{about['default']}`" if about["default"] else "", about["description"]
    yield from ((f"`outputs.{name}`", "", about["description"]) for name, about in action["outputs"].items())


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    **{who: partial(_messages, who) for who in load_tables()},
    "facts": _rows("fact | meaning | rules that need it", _facts),
    "inputs": _rows("input | default | meaning", _inputs),
    "keys": _rows("key | default | value | effect", _keys),
    "variables": _rows("variable | key", lambda: ((f"`{each.name}`", f"`{'.'.join(each.key)}`") for each in VARIABLES)),
    "metrics of the server": partial(describe_metrics, DECLARED.values()),
    "metrics of the provisioner": partial(describe_metrics, PROVISIONER),
    "metrics of the reconciler": partial(describe_metrics, RECONCILER),
    "metrics of both": partial(describe_metrics, PROCESS_METRICS),
    "other verdicts": _rows("rule | difference, and why", partial(_differing, lacking=False)),
    "rules that 1.2 lacks": _rows("rule | why", partial(_differing, lacking=True)),
    "conversion": _rows(" | difference, or reason", _conversions),
    "fields": fields,
    "added fields": lambda: _fields("kind | field | value", _added),
    "constraints": lambda: _fields("kind | field | before | since", _changed),
    "definitions": lambda: format_table(
        "operator | kind | what | before | since", (row for kind in EVERY_KIND for row in _definition(kind.name))
    ),
    "defaults by line": lambda: _rules(f"default | effect | {_LINES}", defaults=True),
    "rules by line": lambda: _rules(f"rule | it refuses | {_LINES}", defaults=False),
    "rules": list_every_rule,
    "pipeline": architecture.draw_pipeline,
    "rooms": architecture.draw_rooms,
    "commands": _rows("command | effect", lambda: ((f"[`{name}`](commands/{name}.md)", text) for name, text in COMMANDS.items())),
    **{f"usage {name}": partial(usage, name) for name in COMMANDS},
    **{f"flags {name}": partial(flags, name) for name in COMMANDS},
}
