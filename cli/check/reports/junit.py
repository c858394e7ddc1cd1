"""The report as JUnit XML: a suite a file, a case an object, so that clean objects are seen to pass.

A failure is a finding at or above the threshold of `--fail-on`, because a pipeline that reads this file fails with it; findings below
stand in the case's output. Whatever could not be judged is a case of its own, or it would hide what was: a rule without its fact is
skipped, an input that can't be read is an error. No times, no host: the same input gives the same bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from cli.check import record
from cli.check.objects import Identity
from cli.check.record import NotEvaluated, Reported
from cli.check.reports.escaping import unicode_text
from cli.check.reports.notes import why
from cli.check.result import REFUSING, Checked, Result
from cli.yaml.errors import InputError

_NAME: Final = "dynamo-webhooks check"
_SHOWN: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})
# what XML 1.0 can't hold in any form
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class _Case:
    """One case: its name, and the elements in it by what they count as."""

    __slots__ = ("errors", "failures", "name", "output", "skipped")

    def __init__(self, name: str) -> None:
        self.name = name
        self.failures: list[str] = []
        self.errors: list[str] = []
        self.skipped: list[str] = []
        self.output: list[str] = []

    def lines(self, suite: str) -> Iterator[str]:
        head = f'    <testcase name="{_escaped(self.name)}" classname="{_escaped(suite)}"'
        inside = [*self.failures, *self.errors, *self.skipped]
        if self.output:
            inside.append(f"<system-out>{_escaped(chr(10).join(self.output))}</system-out>")
        if not inside:
            yield f"{head}/>"
            return
        yield f"{head}>"
        yield from (f"      {element}" for element in inside)
        yield "    </testcase>"


def document(result: Result, fail_on: str) -> str:
    """The whole document; `fail_on` is the threshold of the run."""
    suites = [(name, _cases(name, result_of, REFUSING[fail_on])) for name, result_of in sorted(_by_file(result).items())]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="{_NAME}" {_counts(case for _, cases in suites for case in cases)}>',
    ]
    for name, cases in suites:
        skipped = sum(1 for case in cases if case.skipped)
        lines.append(f'  <testsuite name="{_escaped(name)}" {_counts(cases)} skipped="{skipped}">')
        lines += [line for case in cases for line in case.lines(name)]
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>\n"])


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


def _cases(name: str, file: _File, refusing: tuple[str, ...]) -> list[_Case]:
    objects = _Objects(file.checked)
    comments = _Case("comments")
    for finding in file.findings:
        case = comments if finding.identity is None else objects.of(finding.identity, finding.position.line)
        _add(case, name, finding, refusing)
    cases = [*objects.cases]
    if comments.failures or comments.errors or comments.output:
        cases.append(comments)
    for note in file.notes:
        case = _Case(f"{objects.of(note.identity, note.line).name}: {note.rule}")
        case.skipped.append(_element("skipped", "", why(note), ""))
        cases.append(case)
    if file.unreadable:
        case = _Case("can be read")
        case.errors += [_element("error", "unreadable", text, "") for text in file.unreadable]
        cases.append(case)
    return cases


class _Objects:
    """The cases of the objects of one file; an object that stands there twice is told apart by its line."""

    def __init__(self, checked: Iterable[Checked]) -> None:
        self.cases: list[_Case] = []
        self._same: dict[Identity, tuple[list[int], list[_Case]]] = {}  # the lines where each begins, ascending, and its cases
        for one in checked:
            self._add(one.identity, one.line)

    def of(self, identity: Identity, line: int) -> _Case:
        """The case of the object that a line belongs to: the last one of that identity that begins at or above it."""
        if identity not in self._same:
            self._add(identity, line)
        lines, cases = self._same[identity]
        return cases[max(bisect_right(lines, line) - 1, 0)]

    def _add(self, identity: Identity, line: int) -> None:
        lines, cases = self._same.setdefault(identity, ([], []))
        case = _Case(f"{identity} (line {line})" if lines else str(identity))
        lines.append(line)
        cases.append(case)
        self.cases.append(case)


def _add(case: _Case, name: str, finding: Reported, refusing: tuple[str, ...]) -> None:
    line, column, _ = finding.position
    more = f"{name}:{line}:{column} {finding.level} {finding.rule} ({finding.code})" + (f"\nfix: {finding.fix}" if finding.fix else "")
    if finding.level == record.FAULT:
        case.errors.append(_element("error", finding.rule, finding.about, more))
    elif finding.level in refusing:
        case.failures.append(_element("failure", finding.rule, finding.about, more))
    else:
        case.output.append(f"{more}\n{finding.about}")


def _element(tag: str, kind: str, message: str, body: str) -> str:
    typed = f' type="{_escaped(kind)}"' if kind else ""
    return f'<{tag}{typed} message="{_escaped(message)}"' + (f">{_escaped(body)}</{tag}>" if body else "/>")


def _counts(cases: Iterable[_Case]) -> str:
    tests = failures = errors = 0
    for case in cases:
        tests += 1
        failures += bool(case.failures and not case.errors)
        errors += bool(case.errors)
    return f'tests="{tests}" failures="{failures}" errors="{errors}"'


def _escaped(text: str) -> str:
    """What stands between tags or quotes; what XML can't hold becomes `\\x1b`."""
    return _FORBIDDEN.sub(lambda match: f"\\x{ord(match[0]):02x}", unicode_text(text)).translate(_SHOWN)
