"""Everything that a run of `check` found, sorted, and what its exit code is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.cli import exits
from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.objects import Identity
from dynamo_webhooks.cli.check.record import NotEvaluated, Reported
from dynamo_webhooks.cli.yaml.errors import InputError
from dynamo_webhooks.cli.yaml.load import Source

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.answer import Answer
    from dynamo_webhooks.cli.picture.parts import Picture
    from dynamo_webhooks.cli.yaml.load import Position

COMMENT: Final = "comment"
BASELINE: Final = "baseline"
PROJECT: Final = "project"

REFUSING: Final = {"error": (record.ERROR,), "warning": (record.ERROR, record.WARNING), "never": ()}


class Checked(NamedTuple):
    """One object that was looked at, whatever came of it."""

    source: Source
    line: int
    identity: Identity
    operation: str  # CREATE, UPDATE or DELETE, as in policies.review
    name: Position | None = None  # where its name stands; None where it has none


class Suppressed(NamedTuple):
    """A finding that does not count, by what (COMMENT, BASELINE or PROJECT), and the reason that stands there."""

    finding: Reported
    by: str
    reason: str


class Row(NamedTuple):
    """One rule at one level: how often it found something, in how many files."""

    rule: str
    code: str
    level: str
    findings: int
    files: int


class JudgedBy(NamedTuple):
    """The line of the operator by which a run judged, and what told it."""

    line: str
    told: str


class Result(NamedTuple):
    """The whole result; each list is in the order in which it is printed."""

    findings: list[Reported]
    not_evaluated: list[NotEvaluated]
    unreadable: list[InputError]
    checked: list[Checked]
    suppressed: list[Suppressed]
    answers: list[Answer]  # one for each checked object, or none where nobody asked
    unreachable: list[str]  # sentences about clusters that did not answer
    passed: list[InputError]  # files of others that can't be read
    others: int = 0  # documents of other kinds, which nobody looked at
    line: JudgedBy | None = None  # None where nothing was to be judged
    pictures: Sequence[Picture] = ()  # of the checked graphs, where a report shows them

    def count(self, level: str) -> int:
        """How many findings have a level."""
        return sum(1 for finding in self.findings if finding.level == level)


def assemble(
    findings: Iterable[Reported] = (),
    not_evaluated: Iterable[NotEvaluated] = (),
    unreadable: Iterable[InputError] = (),
    checked: Iterable[Checked] = (),
    suppressed: Iterable[Suppressed] = (),
    answers: Iterable[Answer] = (),
    unreachable: Iterable[str] = (),
    passed: Iterable[InputError] = (),
    others: int = 0,
) -> Result:
    """Sorts what was found by file, line and rule."""
    return Result(
        sorted(findings, key=lambda finding: finding.order),
        sorted(not_evaluated, key=lambda note: (note.source.name, note.line, note.rule, note.identity, note.reason)),
        _in_order(unreadable),
        sorted(checked, key=lambda one: (one.source.name, one.line, one.identity)),
        sorted(suppressed, key=lambda one: one.finding.order),
        sorted(answers, key=lambda answer: (answer.source.name, answer.line, answer.identity)),
        sorted(unreachable),
        _in_order(passed),
        others,
    )


def by_rule(result: Result) -> list[Row]:
    """What was found, a row a rule and level: errors first, then what was found most often."""
    found: dict[tuple[str, str, str], list[Reported]] = {}
    for one in result.findings:
        found.setdefault((one.rule, one.code, one.level), []).append(one)
    rows = [Row(*key, len(group), len({one.source.name for one in group})) for key, group in found.items()]
    return sorted(rows, key=lambda row: (row.level == record.WARNING, -row.findings, row.rule))


def _in_order(errors: Iterable[InputError]) -> list[InputError]:
    return sorted(errors, key=lambda error: (error.name, error.line, error.column, error.text))


def exit_code(result: Result, fail_on: str, *, require_facts: bool, allow_empty: bool, exit_zero: bool) -> int:
    """The published exit code; `exit_zero` hides a negative verdict, but neither input that can't be read nor a bug of ours."""
    codes = [exits.OK]
    if result.count(record.FAULT):
        codes.append(exits.BUG)
    if result.unreachable:
        codes.append(exits.UNREACHABLE)
    if result.unreadable:
        codes.append(exits.UNREADABLE)
    if not exit_zero and any(result.count(level) for level in REFUSING[fail_on]):
        codes.append(exits.REFUSED)
    if require_facts and result.not_evaluated:
        codes.append(exits.NOT_EVALUATED)
    if not result.checked and not allow_empty:
        codes.append(exits.NOTHING_FOUND)
    return exits.worst(codes)
