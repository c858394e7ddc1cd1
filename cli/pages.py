"""Writes the generated pages of docs/ (`python -m cli.pages`; `--check` fails when one is stale). Hand-written pages live beside them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from cli.check.record import OWN_RULES
from cli.configuration_page import configuration_page
from cli.convert.fields import fields_page
from cli.defaults_page import defaults_page
from cli.metrics_page import metrics_page
from conversion.quirks import HEALED, NUMBERS
from conversion.quirks import KEPT as CONVERSION_KEPT
from policies.catalogue import declared, rules
from policies.quirks import CHANGED, ENGINE, KEPT
from policies.review import CURRENT, V1_2
from policies.rule import Rule

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
HEADER: Final = "<!-- written by `make docs` (cli/pages.py) from the rules themselves; edit those, not this file -->\n"


def rules_page() -> str:
    """One table of all rules and defaults of profile current: code, name, what is wrong, where it looks, facts it needs."""
    lines = [
        HEADER,
        "# Rules and defaults",
        "",
        "`dynamo-webhooks explain NAME` prints the whole story of one: why, how to fix it, a bad and a good example.",
        "Profile `current` unless said; `1.2` in the last column: the rule differs there, see [differences](differences.md).",
        "",
        "| code | name | what it says | level | operations | looks at | facts | 1.2 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    odd = {rule.name for rule in declared() if rule.difference}
    for rule in rules(CURRENT):
        looks = "<br>".join(f"{kind} `{where or '.'}`" for kind, where in rule.where.items())
        level = "default" if rule.is_default else rule.level.value
        cells = [rule.code, f"`{rule.name}`", rule.title.rstrip("."), level, " ".join(sorted(rule.on)), looks, " ".join(rule.needs)]
        lines.append(f"| {' | '.join([*cells, 'differs' if rule.name in odd else ''])} |")
    lines += ["", "## What `check` finds beside the rules", "", "| code | name | what it says |", "| --- | --- | --- |"]
    lines += [f"| {own.code} | `{own.name}` | {own.title.rstrip('.')} |" for own in OWN_RULES]
    lines += ["| DYN000 | `fault` | a rule of ours raised: a bug, answered as 500 by the server and as exit code 70 by `check` |"]
    return "\n".join(lines) + "\n"


def differences_page() -> str:
    """Every deliberate difference from the Go operator 1.2, and every measured oddity that was kept, with reasons."""
    lines = [
        HEADER,
        "# Differences from the Go operator 1.2",
        "",
        "Profile `1.2` answers as it does; profile `current`, the default, differs where this page says so. Q and G numbers are those",
        "of the measured behaviour: Q is a quirk, G something that is admitted there and fails later.",
        "",
        "## Rules that judge otherwise",
        "",
        "| rule | answers | what is different, and why |",
        "| --- | --- | --- |",
        *(_row(rule) for rule in declared() if rule.difference and rule.profile == V1_2),
        "",
        "## Rules that 1.2 does not have",
        "",
        "| rule | answers | why |",
        "| --- | --- | --- |",
        *(_row(rule) for rule in declared() if rule.difference and rule.profile == CURRENT),
        "",
        "## Differences of the engine",
        "",
        "| name | what is different, and why |",
        "| --- | --- |",
        *(f"| {name} | {text} |" for name, text in ENGINE.items()),
        "",
        "## Quirks and gaps answered outside the rules",
        "",
        "| number | what is different |",
        "| --- | --- |",
        *(f"| {number} | {text} |" for number, text in sorted(CHANGED.items())),
        "",
        "## Kept as it is",
        "",
        "| number | why |",
        "| --- | --- |",
        *(f"| {number} | {text} |" for number, text in sorted(KEPT.items())),
        "",
        "## Conversion",
        "",
        "Conversion has one behaviour, the lossless one. Numbers are those of the conversion's own list of oddities.",
        "",
        "| number | | what is different, or why not |",
        "| --- | --- | --- |",
        *(
            f"| {number} | {'healed' if number in HEALED else 'kept'} | {(HEALED.get(number) or CONVERSION_KEPT[number])} |"
            for number in NUMBERS
        ),
    ]
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    assert rule.difference  # noqa: S101 - the callers chose rules with a difference
    return f"| `{rule.name}` | {' '.join(rule.difference.quirks)} | {rule.difference.because} |"


def main(arguments: list[str]) -> int:
    """Writes the pages, or with `--check` names the stale ones; returns the exit code."""
    stale = []
    pages = {
        "rules.md": rules_page(),
        "differences.md": differences_page(),
        "fields.md": fields_page(),
        "configuration.md": configuration_page(),
        "metrics.md": metrics_page(),
        "defaults.md": defaults_page(),
    }
    for name, text in pages.items():
        file = DOCS / name
        if "--check" not in arguments:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            stale.append(f"docs/{name}")
    if stale:
        print(f"stale: {', '.join(stale)}; run make docs", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
