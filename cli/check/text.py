"""The report for people: each finding with its source and remedy, then what could not be judged, then one line that sums up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cli.check import record
from cli.check.frame import frame
from cli.check.record import NotEvaluated, Reported
from cli.check.result import Result

_COLOURS: Final = {record.ERROR: "31;1", record.FAULT: "31;1", record.WARNING: "33;1"}
_DIM: Final = "2"


def text(result: Result, *, colour: bool, quiet: bool) -> str:
    """The whole report; quiet: one line a finding and nothing else."""
    if quiet:
        return "".join(f"{_head(finding, colour)}: {_about(finding)}\n" for finding in result.findings)
    blocks = ["\n".join(_block(finding, colour)) for finding in result.findings]
    if result.not_evaluated:
        blocks.append("\n".join(["not evaluated:", *_notes(result.not_evaluated)]))
    return "".join(f"{block}\n\n" for block in blocks)


def summary(result: Result) -> str:
    """One line of counts."""
    counts = [
        (result.count(record.ERROR), "error", "errors"),
        (result.count(record.WARNING), "warning", "warnings"),
        (result.count(record.FAULT), "fault of ours", "faults of ours"),
        (len(result.not_evaluated), "not evaluated", "not evaluated"),
        (len(result.suppressed), "ignored by comment", "ignored by comment"),
        (len(result.unreadable), "unreadable", "unreadable"),
    ]
    said = [f"{number} {one if number == 1 else many}" for number, one, many in counts if number]
    checked = f"{len(result.checked)} object{'' if len(result.checked) == 1 else 's'} checked"
    return f"{checked}: {', '.join(said) if said else 'nothing found'}"


def _block(finding: Reported, colour: bool) -> Iterator[str]:
    yield f"{_head(finding, colour)} [{finding.stage}]"
    about = "  ".join(part for part in (str(finding.identity) if finding.identity else "", finding.path) if part)
    if about:
        yield f"  {about}"
    yield f"  {finding.message}"
    for line in frame(finding.source.lines, finding.position):
        yield _painted(line, _DIM, colour)
    more = f"more: dynamo-webhooks explain {finding.rule}"
    yield f"  fix: {finding.fix}      {more}" if finding.fix else f"  {more}"


def _head(finding: Reported, colour: bool) -> str:
    line, column, _ = finding.position
    level = _painted(finding.level, _COLOURS.get(finding.level, ""), colour)
    return f"{finding.source.name}:{line}:{column} {level} {finding.rule} ({finding.code})"


def _about(finding: Reported) -> str:
    return f"{finding.path}: {finding.message}" if finding.path else finding.message


def _notes(notes: list[NotEvaluated]) -> Iterator[str]:
    """One line a rule and reason, with the objects counted, so that a thousand objects do not make a thousand lines."""
    grouped: dict[tuple[str, str, str, str], list[NotEvaluated]] = {}
    for note in notes:
        grouped.setdefault((note.rule, note.code, note.reason, note.flag), []).append(note)
    for (rule, code, reason, flag), group in grouped.items():
        first = group[0]
        name = f"{rule} ({code})" if code else rule
        where = f"{first.identity} ({first.source.name}:{first.line})" + (f" and {len(group) - 1} more" if len(group) > 1 else "")
        yield f"  {name}: {reason}{f'; supply it with {flag}' if flag else ''}  {where}"


def _painted(text: str, code: str, colour: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if colour and code else text
