"""Projections of findings: the webhook's status with causes and warnings. How one finding reads is written here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from api.paths import render
from policies.finding import Finding, Level

WARNING_LENGTH: Final = 120  # the API machinery asks for warnings of at most 120 characters each
MESSAGE_LENGTH: Final = 2_000  # of one finding: names come from the author and may be absurd
CAUSES: Final = 100  # of one answer: 10,000 bad services must not make a 2 MB answer

# what refuses a request: errors, our own faults, and rules that lack a fact (they fail closed, and say so)
REFUSING: Final = frozenset({Level.ERROR, Level.FAULT, Level.NOT_EVALUATED})


def sentence(finding: Finding) -> str:
    """One finding as one line: path, what must be, what was seen, and the rule's name in brackets."""
    path = render(finding.path)
    return _short(f"{path}: {finding.text} [{finding.rule.name}]" if path else f"{finding.text} [{finding.rule.name}]", MESSAGE_LENGTH)


def refuses(findings: Iterable[Finding]) -> bool:
    """Whether the findings refuse the request."""
    return any(finding.level in REFUSING for finding in findings)


def warnings(findings: Iterable[Finding]) -> list[str]:
    """The texts of the warnings, each of at most 120 characters."""
    return [_short(sentence(finding), WARNING_LENGTH) for finding in findings if finding.level is Level.WARNING]


def status(
    kind: str, group: str, name: str, findings: list[Finding], translate: Mapping[tuple[str | int, ...], str] | None = None
) -> dict[str, Any]:
    """The `metav1.Status` of a denial: 422 Invalid with one cause a finding, or 500 when nothing but our own faults refuse.

    `translate` gives other texts for paths (the author's version); absent paths are printed as they are.
    """
    refusing = [finding for finding in findings if finding.level in REFUSING]
    faults = all(finding.level is Level.FAULT for finding in refusing)
    shown = refusing[:CAUSES]
    lines = [sentence(finding) for finding in shown]
    if len(refusing) > CAUSES:
        lines.append(f"and {len(refusing) - CAUSES} more")
    what = f'{kind}.{group} "{_short(name, 253)}"'
    return {
        "status": "Failure",
        "code": 500 if faults else 422,
        "reason": "InternalError" if faults else "Invalid",
        "message": f"{what} is invalid: " + "; ".join(lines) if not faults else f"{what} could not be judged: " + "; ".join(lines),
        "details": {"name": _short(name, 253), "group": group, "kind": kind, "causes": [_cause(finding, translate) for finding in shown]},
    }


def _cause(finding: Finding, translate: Mapping[tuple[str | int, ...], str] | None) -> dict[str, str]:
    field = (translate or {}).get(finding.path) or render(finding.path)
    return {
        "reason": finding.cause.value,
        "message": _short(f"{finding.text} [{finding.rule.name}]", MESSAGE_LENGTH),
        "field": _short(field, 1_000),
    }


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"
