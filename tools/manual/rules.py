"""The pages of the rules: the index, and one page for each rule, default, and own check of `check`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.check.record import OWN_RULES, OwnRule
from dynamo_webhooks.cli.explain.rule import beside, find, names, placed
from dynamo_webhooks.policies.catalogue import by_word, declared, rules
from dynamo_webhooks.policies.review import CURRENT, V1_2
from dynamo_webhooks.policies.rule import Rule
from tools.manual.own import shown
from tools.manual.versions import other_version, twins

HEADER: Final = "<!-- written by `make docs` (tools/pages.py) from the rules themselves; edit those, not this file -->\n"
_FAULT: Final = "| DYN000 | `fault` | a rule raised an exception: an internal error, 500 from the server and exit code 70 from `check` |"
_PROFILES: Final = {
    "both": "`current` (the default) and `1.2`",
    CURRENT: "`current` (the default)",
    V1_2: "`1.2`",
}
_EXAMPLES: Final = {
    "bad": "`# expect` marks the reported line.",
    "before": "The submitted object.",
    "after": "The stored object.",
    "good": "",
}
_FRAGMENTS: Final = "Examples are parts of objects; `--- # becomes` separates the stored object from its update."


def rules_page() -> str:
    """One table of all rules and defaults of profile current: code, name, title, kinds and fields, facts."""
    lines = [
        HEADER,
        "# Rules and defaults",
        "",
        "This page lists the rules and defaults of profile `current`. The last column marks those that [differ](differences.md) in profile",
        "`1.2`; the one before, those that only one line of the operator has. `dynamo-webhooks explain NAME` prints one in a terminal;",
        "see also [how to read a refusal](refusals.md).",
        "",
        "| code | name | title | level | operations | looks at | facts | line | 1.2 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    odd = {rule.name for rule in declared() if rule.difference}
    for rule in rules(CURRENT):
        looks = "<br>".join(f"{kind} `{where or '.'}`" for kind, where in rule.where.items())
        cells = [rule.code, _link(rule.name), rule.title.rstrip("."), _level(rule), " ".join(sorted(rule.on)), looks, " ".join(rule.needs)]
        cells.append(f"only {rule.lines[0]}" if len(rule.lines) == 1 else "")
        lines.append(f"| {' | '.join([*cells, 'differs' if rule.name in odd else ''])} |")
    lines += _only_in_1_2()
    lines += ["", "## Own checks of `check`", "", "| code | name | title |", "| --- | --- | --- |"]
    lines += [f"| {own.code} | {_link(own.name)} | {own.title.rstrip('.')} |" for own in OWN_RULES]
    return "\n".join([*lines, _FAULT]) + "\n"


def _only_in_1_2() -> Iterator[str]:
    known = {rule.name for rule in rules(CURRENT)}
    gone = [rule for rule in declared() if rule.name not in known]
    if gone:
        yield from ("", "## Only in profile 1.2", "", "| code | name | title |", "| --- | --- | --- |")
        yield from (f"| {rule.code} | {_link(rule.name)} | {rule.title.rstrip('.')} |" for rule in gone)


def _level(rule: Rule) -> str:
    return "default" if rule.is_default else rule.level.value


def _link(name: str) -> str:
    return f"[`{name}`](rules/{name}.md)"


def rule_pages() -> dict[str, str]:
    """Every page by its file below docs/."""
    return {f"rules/{name}.md": _page(name) for name in names()}


def _page(name: str) -> str:
    found = find(name)
    assert found is not None, name  # noqa: S101 - the names are those that have a page
    page = placed(found)
    rule = by_word(name)
    parts = [
        HEADER.rstrip("\n"),
        f"# {name}",
        f"{page['code']}, {_kind_of(page)}. {page['title']}",
        f"**Why.** {page['why']}",
        *([f"**Fix.** {page['fix']}"] if page["fix"] else []),
        *(_of_rule(rule, page) if rule is not None else _of_check(name)),
        *_examples(rule, page),
        *([example] if rule is None and (example := shown(name)) else []),
        *(_ignoring(name) if rule is None or not rule.is_default else []),
        f"In a terminal: `dynamo-webhooks explain {name}`. [All rules](../rules.md).",
    ]
    return "\n\n".join(parts) + "\n"


def _kind_of(page: dict[str, Any]) -> str:
    return {"default": "a default", "error": "an error", "warning": "a warning", "check": "a check of `check`"}[page["level"]]


def _of_rule(rule: Rule, page: dict[str, Any]) -> Iterator[str]:
    looks = "<br>".join(_place(place) for place in page["looksAt"])
    lines = ["| | |", "| --- | --- |", f"| looks at | {looks} |"]
    lines.append(f"| operations | {', '.join(word.lower() for word in page['operations'])} |")
    if page["facts"]:
        facts = ", ".join(f"[`{fact}`](../ci.md#facts-of-the-cluster)" for fact in page["facts"])
        lines.append(f"| facts | {facts}; without them a server refuses |")
    if len(rule.lines) == 1:
        lines.append(f"| line of the operator | only {rule.lines[0]} |")
    lines.append(f"| profiles | {_PROFILES[rule.profile if rule.is_of(Line.V1_2) else CURRENT]} |")
    if not rule.is_default:
        kept = "accepted" if rule.ratchets else "refused too"
        lines.append(f"| on updates | mistakes of the stored object are {kept} |")
    yield "\n".join(lines)
    for difference in page["differences"]:
        numbers = ", ".join(difference["quirks"])
        only = "Not in profile `1.2`" if difference["profile"] == CURRENT else "Other verdicts in profile `1.2`"
        if rule.profile == V1_2:
            only = "Not in profile `current`"
        yield f"**Difference from the Go operator 1.2** ({numbers}). {only}: {difference['because']}. [All differences](../differences.md)."


def _place(place: dict[str, Any]) -> str:
    fields = " or ".join(f"`{field}`" for field in place["fields"])
    return f"{place['kind']} `{place['path']}`{beside(place)}" + (f", with {fields}" if fields else "")


# of checks that the server makes too
_FOUND: Final = {
    "long-remainder": "From half the limit, and on updates of an object that was too long before, it is a warning. The server makes the"
    " same check, except in profile `1.2`.",
}


def _of_check(name: str) -> Iterator[str]:
    own: OwnRule = next(own for own in OWN_RULES if own.name == name)
    level = f"It is {'an error' if own.level == 'error' else 'a warning'}"
    strict = "; with `--strict` an error." if name == "unknown-field" else "."
    yield f"{level}{strict} {_FOUND.get(name, 'The server has no such rule: the API server, its schema or `check` finds it.')}"


def _examples(rule: Rule | None, page: dict[str, Any]) -> Iterator[str]:
    """The examples in both versions, v1beta1 first; of a kind with one version as they are."""
    if rule is None:
        return
    (first, firsts), (second, seconds) = page["examples"].items()
    written = rule.kinds[0].partition("/")[2]
    other = other_version(rule)
    made = twins(rule)
    for title, blocks, twin in ((first, firsts, made.first), (second, seconds, made.second)):
        yield f"## {title.capitalize()}"
        if _EXAMPLES[title]:
            yield _EXAMPLES[title] + (f" {_FRAGMENTS}" if title in ("bad", "before") else "")
        if other is None:
            yield from _fenced(blocks)
        elif not twin:
            what = "has no effect on" if rule.is_default else "doesn't apply to"
            yield f"Only in {written}: the {'default' if rule.is_default else 'rule'} {what} these examples converted to {other}."
            yield from _fenced(blocks)
        else:
            for version, shown_blocks in sorted(((written, blocks), (other, twin)), reverse=True):
                yield f"In {version}:"
                yield from _fenced(shown_blocks)


def _fenced(blocks: Iterable[str]) -> Iterator[str]:
    yield from (f"```yaml\n{block.rstrip()}\n```" for block in blocks)


def _ignoring(name: str) -> Iterator[str]:
    yield "## Ignore it"
    yield (
        "A comment with a reason on the line, or on the line above, silences `check` for one place, but not an API server. To ignore the\n"
        f"rule, use `--ignore {name}`; to accept all current findings, [a baseline](../ci.md#an-old-repository-with-many-findings)."
    )
    yield f"```yaml\n# dynamo-webhooks: ignore[{name}] reason\n```"
