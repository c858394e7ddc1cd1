"""docs/differences.md: where verdicts and conversions differ from the Go operator 1.2, and why."""

from __future__ import annotations

from dynamo_webhooks.conversion.quirks import HEALED, NUMBERS, SPELLED
from dynamo_webhooks.conversion.quirks import KEPT as CONVERSION_KEPT
from dynamo_webhooks.policies.catalogue import declared
from dynamo_webhooks.policies.quirks import CHANGED, ENGINE, KEPT
from dynamo_webhooks.policies.review import CURRENT, V1_2
from dynamo_webhooks.policies.rule import Rule
from tools.manual.rules import HEADER


def differences_page() -> str:
    """Every deliberate difference from the Go operator 1.2, and every measured oddity that was kept, with reasons."""
    lines = [
        HEADER,
        "# Differences from the Go operator 1.2",
        "",
        "This page lists where profile `current`, the default, differs from the Go operator, whose verdicts profile `1.2` gives. A number",
        "names a measured behaviour of that operator: an odd verdict (Q), an object that it admits and that fails later (G), an odd",
        "conversion (C). Controllers differ, too: see [deployment requests](deployment-requests.md#differences-from-the-go-operator).",
        "",
        "## Rules with other verdicts",
        "",
        "| rule | number | difference, and why |",
        "| --- | --- | --- |",
        *(_row(rule) for rule in declared() if rule.difference and rule.profile == V1_2),
        "",
        "## Rules that 1.2 lacks",
        "",
        "| rule | number | why |",
        "| --- | --- | --- |",
        *(_row(rule) for rule in declared() if rule.difference and rule.profile == CURRENT),
        "",
        "## Differences of the engine",
        "",
        "| name | difference, and why |",
        "| --- | --- |",
        *(f"| {name} | {text} |" for name, text in ENGINE.items()),
        "",
        "## Differences outside the rules",
        "",
        "| number | difference |",
        "| --- | --- |",
        *(f"| {number} | {text} |" for number, text in sorted(CHANGED.items())),
        "",
        "## Kept",
        "",
        "| number | why |",
        "| --- | --- |",
        *(f"| {number} | {text} |" for number, text in sorted(KEPT.items())),
        "",
        "## Conversion",
        "",
        "Conversion is the same in both profiles. Rows S are values that are written differently.",
        "",
        "| number | | difference, or reason |",
        "| --- | --- | --- |",
        *(
            f"| {number} | {'fixed' if number in HEALED else 'kept'} | {(HEALED.get(number) or CONVERSION_KEPT[number])} |"
            for number in NUMBERS
        ),
        *(f"| {number} | written differently | {text} |" for number, text in SPELLED.items()),
    ]
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    assert rule.difference  # noqa: S101 - the callers chose rules with a difference
    return f"| [`{rule.name}`](rules/{rule.name}.md) | {' '.join(rule.difference.quirks)} | {rule.difference.because} |"
