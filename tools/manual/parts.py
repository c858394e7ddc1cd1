"""The made parts of hand-written pages, by the name in their marks (tools/manual/console.py)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

import orjson

from dynamo_webhooks.api.operator.configuration import OWN, leaves
from dynamo_webhooks.cli.commands.explain.kind import describe_fact
from dynamo_webhooks.cli.commands.explain.message import tables
from dynamo_webhooks.cli.console.program import COMMANDS
from dynamo_webhooks.cli.daemon.metrics import PROCESS_METRICS
from dynamo_webhooks.cli.installation.configuration import VARIABLES
from dynamo_webhooks.conversion.quirks import HEALED, NUMBERS, SPELLED
from dynamo_webhooks.conversion.quirks import KEPT as CONVERSION_KEPT
from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.quirks import CHANGED, ENGINE, KEPT
from dynamo_webhooks.webhooks.metrics_table import DECLARED
from tools.manual import architecture, commands, lines
from tools.manual.fields import fields
from tools.manual.metrics import PROVISIONER, RECONCILER, describe_metrics
from tools.manual.rules import list_every_rule
from tools.manual.table import table

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
        yield f"`{'.'.join(key)}`{mark}", default, _short(field.allowed.text), field.description


def _short(text: str) -> str:
    for long, short in _SHORT.items():
        text = text.replace(long, short)
    return text.removeprefix("a ").removeprefix("an ")


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
    "budgets": architecture.list_budgets,
    "commands": _rows("command | effect", lambda: ((f"[`{name}`](commands/{name}.md)", text) for name, text in COMMANDS.items())),
    **{f"usage {name}": partial(commands.usage, name) for name in COMMANDS},
    **{f"flags {name}": partial(commands.flags, name) for name in COMMANDS},
}
