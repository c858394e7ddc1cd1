"""The report as JUnit XML: a suite a file, a case an object, so that clean objects are seen to pass.

A failure is a finding at or above the threshold of `--fail-on`, because a pipeline that reads this file fails with it; findings below
stand in the case's output. Whatever could not be judged is a case of its own, or it would hide what was: a rule without its fact is
skipped, an input that can't be read is an error. No times, no host: the same input gives the same bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.objects import Identity
from dynamo_webhooks.cli.check.record import NotEvaluated, Reported
from dynamo_webhooks.cli.check.reports.notes import why
from dynamo_webhooks.cli.check.result import REFUSING, Checked, Result
from dynamo_webhooks.cli.junit import Case, element, written
from dynamo_webhooks.cli.yaml.errors import InputError

_NAME: Final = "dynamo-webhooks check"


def document(result: Result, fail_on: str) -> str:
    """The whole document; `fail_on` is the threshold of the run."""
    files = sorted(_by_file(result).items())
    return written(_NAME, [(name, _cases(name, result_of, REFUSING[fail_on])) for name, result_of in files])


class _File:
    """What belongs to one file."""

    __slots__ = ("checked", "findings", "notes", "unreadable")

    def __init__(self) -> None:
        self.checked: list[Checked] = []
        self.findings: list[Reported] = []
        self.notes: list[NotEvaluated] = []
        self.unreadable: list[str] = []


def _by_file(result: Result) -> dict[str, _File]:
    files: dict[str, _File] = {}

    def of(name: str) -> _File:
        return files.setdefault(name, _File())

    for one in result.checked:
        of(one.source.name).checked.append(one)
    for finding in result.findings:
        of(finding.source.name).findings.append(finding)
    for note in result.not_evaluated:
        of(note.source.name).notes.append(note)
    for error in result.unreadable:
        of(error.name or "inputs").unreadable.append(_placed(error))
    for sentence in result.unreachable:
        of("cluster").unreadable.append(sentence)
    return files


def _placed(error: InputError) -> str:
    return f"line {error.line}, column {error.column}: {error.text}" if error.line else error.text


def _cases(name: str, file: _File, refusing: tuple[str, ...]) -> list[Case]:
    objects = _Objects(file.checked)
    comments = Case("comments")
    for finding in file.findings:
        case = comments if finding.identity is None else objects.of(finding.identity, finding.position.line)
        _add(case, name, finding, refusing)
    cases = [*objects.cases]
    if comments.failures or comments.errors or comments.output:
        cases.append(comments)
    for note in file.notes:
        case = Case(f"{objects.of(note.identity, note.line).name}: {note.rule}")
        case.skipped.append(element("skipped", "", why(note), ""))
        cases.append(case)
    if file.unreadable:
        case = Case("can be read")
        case.errors += [element("error", "unreadable", text, "") for text in file.unreadable]
        cases.append(case)
    return cases


class _Objects:
    """The cases of the objects of one file; an object that stands there twice is told apart by its line."""

    def __init__(self, checked: Iterable[Checked]) -> None:
        self.cases: list[Case] = []
        self._same: dict[Identity, tuple[list[int], list[Case]]] = {}  # the lines where each begins, ascending, and its cases
        for one in checked:
            self._add(one.identity, one.line)

    def of(self, identity: Identity, line: int) -> Case:
        """The case of the object that a line belongs to: the last one of that identity that begins at or above it."""
        if identity not in self._same:
            self._add(identity, line)
        lines, cases = self._same[identity]
        return cases[max(bisect_right(lines, line) - 1, 0)]

    def _add(self, identity: Identity, line: int) -> None:
        lines, cases = self._same.setdefault(identity, ([], []))
        case = Case(f"{identity} (line {line})" if lines else str(identity))
        lines.append(line)
        cases.append(case)
        self.cases.append(case)


def _add(case: Case, name: str, finding: Reported, refusing: tuple[str, ...]) -> None:
    line, column, _ = finding.position
    more = f"{name}:{line}:{column} {finding.level} {finding.rule} ({finding.code})" + (f"\nfix: {finding.fix}" if finding.fix else "")
    if finding.level == record.FAULT:
        case.errors.append(element("error", finding.rule, finding.about, more))
    elif finding.level in refusing:
        case.failures.append(element("failure", finding.rule, finding.about, more))
    else:
        case.output.append(f"{more}\n{finding.about}")
