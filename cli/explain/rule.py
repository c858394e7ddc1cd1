"""The page of one rule: its documentation, what it looks at, and where it differs from the Go operator 1.2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from dynamo_webhooks.cli.check.record import OWN_RULES, OwnRule
from dynamo_webhooks.policies.catalogue import by_word, declared
from dynamo_webhooks.policies.rule import Rule

_BRACKETS: Final = re.compile(r"\[([a-z0-9]+(?:-[a-z0-9]+)+)\]")
# of a check whose findings each say their own remedy
_EACH: Final = "Each finding says what must be; `dynamo-webhooks explain` with the path of its field tells all that the field may be"

Page = dict[str, Any]


def find(word: str) -> Page | None:
    """The page of the rule or default with that name or code; None when there is none."""
    rule = by_word(word)
    if rule is not None:
        return page(rule)
    own = next((rule for rule in OWN_RULES if word.strip().lower() == rule.name or word.strip().upper() == rule.code), None)
    return None if own is None else _own_page(own)


def names() -> list[str]:
    """The names of all rules and defaults, and of the checks that `check` makes itself."""
    return [*dict.fromkeys(rule.name for rule in declared()), *(rule.name for rule in OWN_RULES)]


def in_message(text: str) -> list[Page]:
    """The pages of the rules that a pasted message names in brackets, each once, in the order in which they stand."""
    found = (find(name) for name in dict.fromkeys(_BRACKETS.findall(text)))
    return [one for one in found if one is not None]


def page(rule: Rule) -> Page:
    """Everything about one rule as data."""
    before, after = ("before", "after") if rule.is_default else ("bad", "good")
    return {
        "rule": rule.name,
        "code": rule.code,
        "level": "default" if rule.is_default else rule.level.value,
        "title": rule.title,
        "why": rule.why,
        "fix": rule.fix,
        "looksAt": [{"kind": kind, "path": selector or ".", "fields": list(rule.when)} for kind, selector in rule.where.items()],
        "operations": sorted(rule.on),
        "facts": list(rule.needs),
        "lines": [str(line) for line in rule.lines],
        "differences": list(_differences(rule)),
        "examples": {before: list(rule.bad), after: list(rule.good)},
    }


def placed(page: Page) -> Page:
    """The page with the places of the kind's other version beside those that the rule reads; null where there is none.

    Apart from `page`, since it takes the schemas and the lenses, which reports have no time for.
    """
    return {**page, "looksAt": [{**place, "other": _other(place)} for place in page["looksAt"]]}


def _other(place: Page) -> Page | None:
    from dynamo_webhooks.api.schema import load_schema
    from dynamo_webhooks.cli.explain.field import walk
    from dynamo_webhooks.cli.explain.twin import twin

    kind, _, version = place["kind"].partition("/")
    found = walk(load_schema(kind, version), tuple(place["path"].split(".")))
    return None if found is None else twin(kind, version, found[1], found[2])


def _differences(rule: Rule) -> Iterator[dict[str, Any]]:
    for record in declared():
        if record.name == rule.name and record.difference is not None:
            yield {"profile": record.profile, "quirks": list(record.difference.quirks), "because": record.difference.because}


def _own_page(rule: OwnRule) -> Page:
    return {
        "rule": rule.name,
        "code": rule.code,
        "level": "check",
        "title": rule.title,
        "why": rule.why,
        "fix": f"{rule.fix or _EACH}.",
        "looksAt": [],
        "operations": [],
        "facts": [],
        "lines": [],
        "differences": [],
        "examples": {},
    }


def beside(place: Page) -> str:
    """The place in the other version, in brackets; empty where it is the same, or there is none."""
    other = place.get("other")
    return f" ({other['version']}: `{other['path']}`)" if other and other["exact"] and other["path"] != place["path"] else ""


def markdown(page: Page, *, examples: bool) -> str:
    """The page for people."""
    parts = [f"# {page['rule']} ({page['code']}, {page['level']})", page["title"], f"**Why.** {page['why']}"]
    if page["fix"]:
        parts.append(f"**Fix.** {page['fix']}")
    if page["looksAt"]:
        places = "; ".join(f"{place['kind']} `{place['path']}`{beside(place)}" for place in page["looksAt"])
        facts = f" Needs the facts: {', '.join(page['facts'])}." if page["facts"] else ""
        parts.append(f"**Looks at.** {places}, on {', '.join(page['operations'])}.{facts}")
    if len(page["lines"]) == 1:
        parts.append(f"**Line.** Only operators of line {page['lines'][0]} have it.")
    for difference in page["differences"]:
        only = "Profile 1.2 does not have it" if difference["profile"] == "current" else "Profile 1.2 answers otherwise"
        parts.append(f"**Difference.** {only} ({', '.join(difference['quirks'])}): {difference['because']}")
    if examples:
        parts += [f"## {name.capitalize()}\n\n```yaml\n{block}```" for name, blocks in page["examples"].items() for block in blocks]
    elif page["examples"]:
        parts.append(f"`dynamo-webhooks explain {page['rule']} --examples` shows examples.")
    return "\n\n".join(parts) + "\n"
