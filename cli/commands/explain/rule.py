"""The page of one rule: its documentation, the fields that it reads, and its differences from the Go operator 1.2."""

import re
from typing import Any, Final

from ....api.line import Line
from ....api.wording import rule_address
from ....policies.catalogue import find_rule, list_all
from ....policies.rule import Rule
from ....policies.rule_sections import format_diff
from .releases import list_releases

_BRACKETS: Final = re.compile(r"\[([a-z0-9]+(?:-[a-z0-9]+)+)\]")
# of a check whose findings each say their own remedy
_EACH: Final = "Each finding states the requirement; `dynamo-webhooks explain` with the field's path lists all allowed values."

Page = dict[str, Any]


def find(word: str) -> Page | None:
    """The page of the rule or default with that name or code; None when there is none."""
    rule = find_rule(word)
    return None if rule is None else make_page(rule)


def list_names() -> list[str]:
    """The names of all rules, defaults and checks."""
    return [rule.name for rule in list_all()]


def find_in_message(text: str) -> list[Page]:
    """The pages of the rules that a pasted message names in brackets, each once, in order."""
    return [*filter(None, map(find, dict.fromkeys(_BRACKETS.findall(text))))]


def make_page(rule: Rule) -> Page:
    """Everything about one rule as data."""
    before, after = ("before", "after") if rule.is_default else ("bad", "good")
    return {
        "rule": rule.name,
        "code": rule.code,
        "level": "default" if rule.is_default else rule.level.value,
        "title": rule.title,
        "why": rule.why,
        "fix": rule.fix or (_EACH if rule.is_check else ""),
        "looksAt": [{"kind": kind, "path": selector or ".", "fields": list(rule.when)} for kind, selector in rule.where.items()],
        "operations": rule.operations,
        "facts": list(rule.needs),
        "lines": [str(line) for line in rule.lines],
        "differences": [] if rule.difference is None else [{"because": rule.difference.because, "lacking": rule.difference.lacking}],
        "examples": {} if not rule.bad else {before: list(rule.bad), after: list(rule.good)},
    }


def complete_page(page: Page, site: str = "") -> Page:
    """The page with the places in the kind's other version, for which reports have no time, and its address if the site has one."""
    address = rule_address(site, page["rule"])
    places = [{**location, "other": _other(location)} for location in page["looksAt"]]
    return {**page, "looksAt": places, **({"address": address} if address else {})}


def _other(location: Page) -> Page | None:
    from ....api.line import DEFAULT_LINE
    from ....api.schema import load_schema
    from .field import find_other_version, walk_schema

    kind, _, version = location["kind"].partition("/")
    field = walk_schema(load_schema(kind, version, DEFAULT_LINE), tuple(location["path"].split(".")))
    return None if field is None else find_other_version(kind, version, field[1], field[2])


def format_other_version(location: Page) -> str:
    """The place in the other version, in brackets; empty where it is the same, or there is none."""
    other = location.get("other")
    return f" ({other['version']}: `{other['path']}`)" if other and other["exact"] and other["path"] != location["path"] else ""


def markdown(page: Page, *, examples: bool) -> str:
    """The page for people."""
    parts = [f"# {page['rule']} ({page['code']}, {page['level']})", page["title"], f"**Why.** {page['why']}"]
    if page["fix"]:
        parts.append(f"**Fix.** {page['fix']}")
    if page["looksAt"]:
        places = "; ".join(f"{location['kind']} `{location['path']}`{format_other_version(location)}" for location in page["looksAt"])
        facts = f" Needs the facts: {', '.join(page['facts'])}." if page["facts"] else ""
        parts.append(f"**Looks at.** {places}, on {', '.join(page['operations'])}.{facts}")
    if len(page["lines"]) < len(Line):
        parts.append(f"**Releases.** Only operator release {list_releases(page['lines'])}.")
    parts += [f"**Page.** {page['address']}"] if "address" in page else []
    for difference in page["differences"]:
        only = "The Go operator 1.2 does not have this rule" if difference["lacking"] else "The Go operator 1.2 decides differently"
        parts.append(f"**Difference.** {only}; the reason for this rule: {difference['because']}.")
    if examples:
        parts += _list_examples(page)
    elif page["examples"]:
        parts.append(f"`dynamo-webhooks explain {page['rule']} --examples` shows examples.")
    return "\n\n".join(parts) + "\n"


def _list_examples(page: Page) -> list[str]:
    """The examples of a rule as diffs, those of a default as objects before and after."""
    rule = find_rule(page["rule"])
    if rule and not rule.is_default:
        return [f"## Example\n\n```diff\n{format_diff(*each)}```" for each in rule.examples]
    return [f"## {name.capitalize()}\n\n```yaml\n{block}```" for name, blocks in page["examples"].items() for block in blocks]
