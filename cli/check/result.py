"""Everything that a run of `check` found, sorted, and what its exit code is."""

from __future__ import annotations

from typing import Final, NamedTuple

from cli import exits
from cli.check import record
from cli.check.record import NotEvaluated, Reported
from cli.yaml.errors import InputError

_REFUSING: Final = {"error": (record.ERROR,), "warning": (record.ERROR, record.WARNING), "never": ()}


class Result(NamedTuple):
    """The whole result; each list is in the order in which it is printed."""

    findings: list[Reported]
    not_evaluated: list[NotEvaluated]
    unreadable: list[InputError]
    objects: int
    suppressed: int

    def count(self, level: str) -> int:
        """How many findings have a level."""
        return sum(1 for finding in self.findings if finding.level == level)


def assemble(findings: list[Reported], notes: list[NotEvaluated], unreadable: list[InputError], objects: int, suppressed: int) -> Result:
    """Sorts what was found by file, line and rule."""
    return Result(
        sorted(findings, key=lambda finding: finding.order),
        sorted(notes, key=lambda note: (note.source.name, note.line, note.rule, note.identity, note.reason)),
        sorted(unreadable, key=lambda error: (error.name, error.line, error.column, error.text)),
        objects,
        suppressed,
    )


def exit_code(result: Result, fail_on: str, *, require_facts: bool, allow_empty: bool, exit_zero: bool) -> int:
    """The published exit code; `exit_zero` hides a negative verdict, but neither input that can't be read nor a bug of ours."""
    codes = [exits.OK]
    if result.count(record.FAULT):
        codes.append(exits.BUG)
    if result.unreadable:
        codes.append(exits.UNREADABLE)
    if not exit_zero and any(result.count(level) for level in _REFUSING[fail_on]):
        codes.append(exits.REFUSED)
    if require_facts and result.not_evaluated:
        codes.append(exits.NOT_EVALUATED)
    if not result.objects and not allow_empty:
        codes.append(exits.NOTHING_FOUND)
    return exits.worst(codes)
