"""The index of rules with its filters: a table whose rows say what they are filtered by. The script beside it only hides rows."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from dynamo_webhooks.api.line import OLDEST, Line
from dynamo_webhooks.policies.catalogue import list_all
from dynamo_webhooks.policies.rule import Rule

_HEADS: Final = ("code", "rule", "title", "level", "line", "1.2")
_NONE: Final = "none"  # of rules that look at no field, or need no fact


def filtered_index() -> str:
    """The filters, and a row for each rule, default and check."""
    rows = [(rule, _facets(rule)) for rule in list_all()]
    names = list(rows[0][1])
    selects = "".join(_select(name, (value for _, facets in rows for value in facets[name])) for name in names)
    words = '<label>words<input type="search" name="words"></label>'
    heads = "".join(f"<th>{name}</th>" for name in _HEADS)
    body = "\n".join(_row(rule, facets) for rule, facets in rows)
    form = f'<form class="filters" hidden>{selects}{words}</form>\n<p id="shown" role="status"></p>'
    return f"{form}\n<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _facets(rule: Rule) -> dict[str, list[str]]:
    """What a rule is filtered by, each with its values."""
    kinds = [kind.partition("/") for kind in rule.where]
    return {
        "kind": [kind for kind, _, _ in kinds] or [_NONE],
        "version": [version for _, _, version in kinds] or [_NONE],
        "level": ["default" if rule.is_default else rule.level.value],
        "operation": rule.operations or [_NONE],
        "facts": list(rule.needs) or [_NONE],
        "since": [str(rule.lines[0])],
        "until": [str(rule.lines[-1])],
        "operator": ["differs" if rule.difference else "agrees"],
    }


_LABELS: Final = {"since": "since line", "until": "until line", "operator": "Go operator 1.2"}


def _select(name: str, values: Iterable[str]) -> str:
    options = "".join(f'<option value="{value}">{value}</option>' for value in sorted(set(values)))
    return f'<label>{_LABELS.get(name, name)}<select name="{name}"><option value="">any</option>{options}</select></label>'


def _row(rule: Rule, facets: dict[str, list[str]]) -> str:
    data = " ".join(f'data-{name}="{" ".join(dict.fromkeys(values))}"' for name, values in facets.items())
    return f'<tr data-rule="{rule.name}" {data}>{"".join(f"<td>{cell}</td>" for cell in _cells(rule, facets))}</tr>'


def _cells(rule: Rule, facets: dict[str, list[str]]) -> Iterator[str]:
    first, last = rule.lines[0], rule.lines[-1]
    span = "" if len(rule.lines) == len(Line) else f"since {first}" if first != OLDEST else f"up to {last}"
    yield from (rule.code, f'<a href="{rule.name}/"><code>{rule.name}</code></a>', escape(rule.title.rstrip(".")))
    yield from (facets["level"][0], span, "differs" if rule.difference else "")
