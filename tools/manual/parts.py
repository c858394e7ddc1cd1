"""The made parts of hand-written pages, by the name in their marks (tools/manual/console.py)."""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import orjson

from dynamo_webhooks.api.operator.configuration import OWN, leaves
from dynamo_webhooks.api.schema import SINCE, resolve, whole_schema
from dynamo_webhooks.certs import perform as provisioner
from dynamo_webhooks.cli.commands import load
from dynamo_webhooks.cli.commands.explain.kind import describe_fact
from dynamo_webhooks.cli.commands.explain.message import tables
from dynamo_webhooks.cli.console.program import COMMANDS, PROGRAM, WIDTH
from dynamo_webhooks.cli.daemon.run import PROCESS_METRICS
from dynamo_webhooks.cli.installation.configuration import VARIABLES
from dynamo_webhooks.conversion.kind import LEFT, RIGHT, Kind
from dynamo_webhooks.conversion.kinds import KINDS, field_rows
from dynamo_webhooks.conversion.quirks import HEALED, NUMBERS, SPELLED
from dynamo_webhooks.conversion.quirks import KEPT as CONVERSION_KEPT
from dynamo_webhooks.kube.metrics import COUNTER, Declared
from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.quirks import CHANGED, ENGINE, KEPT
from dynamo_webhooks.reconciler.metrics import controller_runtime
from dynamo_webhooks.reconciler.metrics import meters as reconciler
from dynamo_webhooks.webhooks.metrics import DECLARED
from tools.manual import architecture, lines
from tools.manual.console import table
from tools.manual.rules import list_every_rule
from tools.size import BUDGETS


def fields() -> str:
    """A section for each converting kind."""
    return "\n\n".join(f"## {kind.name}\n\n{table(f'{LEFT} | {RIGHT} | how', _field_rows(kind))}" for kind in KINDS.values())


def _field_rows(kind: Kind) -> Iterator[tuple[str, ...]]:
    for left, right, rule in field_rows(kind):
        line = _since(kind.name, left)
        cells = (f"`{name}`" if name else "" for name in (left, right))
        yield *cells, rule.replace("|", "\\|") + (f"; since line {line}" if line else "")


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


def describe_metrics(metrics: Iterable[Declared]) -> str:
    """Name, type, labels and meaning of each."""
    return table("name | type | labels | meaning", map(_row, metrics))


def _row(each: Declared) -> Iterator[str]:
    yield f"`{each.samples[0] if each.type == COUNTER else each.name}`"
    yield each.type
    yield " ".join(f"`{label}`" for label in each.labels)
    bounds = " ".join(f"{bound:g}" if bound < 100_000 else f"{bound:.0f}" for bound in each.buckets or ())
    yield f"{each.text}; buckets {bounds}" if bounds else each.text


class _Parser(argparse.ArgumentParser):
    """A parser that lists its flags."""

    def groups(self) -> Iterator[tuple[str, list[argparse.Action]]]:
        for group in self._action_groups:
            shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]  # noqa: SLF001 - there is no other way
            if shown:
                yield str(group.title), shown

    def format_usage(self) -> str:
        """The line of usage, as wide on every machine."""
        formatter = argparse.HelpFormatter(prog=self.prog, width=WIDTH)
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups, prefix="")
        return formatter.format_help()


def usage(name: str) -> str:
    """What a command is for, and how it is called."""
    return f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.\n\n```\n{parser_of(name).format_usage().strip()}\n```"


def flags(name: str) -> str:
    """The flags of a command, a table for each group, and what its help says behind them."""
    parser = parser_of(name)
    tables = [_group(title, actions) for title, actions in parser.groups()]
    return "\n\n".join([*filter(None, tables), *([f"```\n{parser.epilog.rstrip()}\n```"] if parser.epilog else [])])


def parser_of(name: str) -> _Parser:
    """The parser of one command, with its own flags alone."""
    module: Any = load(name)
    parser = _Parser(prog=f"{PROGRAM} {name}", description=module.HELP, allow_abbrev=False)
    module.configure(parser)
    return parser


def _group(title: str, actions: list[argparse.Action]) -> str:
    rows = [(f"`{_spelled(action)}`", _effect(action)) for action in actions if "--help" not in action.option_strings]
    title = {"options": "", "positional arguments": "Arguments"}.get(title, title.capitalize())
    return (f"### {title}\n\n" if title else "") + table(" | ", rows).replace("|  |  |", "| | |") if rows else ""


def _spelled(action: argparse.Action) -> str:
    """A flag with its other names and what follows it."""
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    value = "" if action.nargs == 0 else "\\|".join(map(str, action.choices)) if action.choices is not None else metavar
    return f"{', '.join(action.option_strings)} {value}".strip()


def _effect(action: argparse.Action) -> str:
    """A flag's help as a cell of a table."""
    text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


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
    return table("message | meaning | what to do", ((f"`{entry.shown}`", entry.meaning, entry.remedy) for entry in tables()[who]))


def _facts() -> Iterator[tuple[str, ...]]:
    for page in map(describe_fact, Facts._fields):
        asked = ", ".join(f"[`{rule['rule']}`](rules/{rule['rule']}.md)" for rule in page["rules"])
        yield f"`{page['fact']}`", page["description"].removesuffix("; null: not known."), asked


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
            yield f"[`{rule.name}`](rules/{rule.name}.md)", " ".join(rule.difference.quirks), rule.difference.because


def _conversions() -> Iterator[tuple[str, ...]]:
    for number in NUMBERS:
        yield number, "fixed" if number in HEALED else "kept", HEALED.get(number) or CONVERSION_KEPT[number]
    yield from ((number, "written differently", text) for number, text in SPELLED.items())


def _rows(heads: str, make: Callable[[], Iterable[Iterable[str]]]) -> Callable[[], str]:
    return lambda: table(heads, make())


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "transport": partial(_messages, "transport"),
    "server": partial(_messages, "server"),
    "ours": partial(_messages, "ours"),
    "facts": _rows("fact | meaning | rules that need it", _facts),
    "keys": _rows("key | default | value | effect", _keys),
    "variables": _rows("variable | key", lambda: ((f"`{each.name}`", f"`{'.'.join(each.key)}`") for each in VARIABLES)),
    "metrics of the server": partial(describe_metrics, DECLARED.values()),
    "metrics of the provisioner": partial(describe_metrics, PROVISIONER),
    "metrics of the reconciler": partial(describe_metrics, RECONCILER),
    "metrics of both": partial(describe_metrics, PROCESS_METRICS),
    "other verdicts": _rows("rule | number | difference, and why", partial(_differing, lacking=False)),
    "rules that 1.2 lacks": _rows("rule | number | why", partial(_differing, lacking=True)),
    "differences of the engine": _rows("name | difference, and why", ENGINE.items),
    "differences outside the rules": _rows("number | difference", lambda: sorted(CHANGED.items())),
    "kept": _rows("number | why", lambda: sorted(KEPT.items())),
    "conversion": _rows("number | | difference, or reason", _conversions),
    "fields": fields,
    **lines.PARTS,
    "rules": list_every_rule,
    "pipeline": architecture.draw_pipeline,
    "rooms": architecture.draw_rooms,
    "budgets": _rows("room | lines", lambda: ((f"`{room}`", f"{most:,}") for room, most in BUDGETS.items())),
    "commands": _rows("command | effect", lambda: ((f"[`{name}`](commands/{name}.md)", text) for name, text in COMMANDS.items())),
    **{f"usage {name}": partial(usage, name) for name in COMMANDS},
    **{f"flags {name}": partial(flags, name) for name in COMMANDS},
}
