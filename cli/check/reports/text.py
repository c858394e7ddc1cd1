"""The report for people: each finding with its source and remedy, then what could not be judged, then one line that sums up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from unicodedata import category, east_asian_width

from dynamo_webhooks.api.wording import many, printable
from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.record import NotEvaluated, Reported
from dynamo_webhooks.cli.check.reports.notes import grouped, why
from dynamo_webhooks.cli.check.result import BASELINE, COMMENT, PROJECT, Result, by_rule

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.answer import Answer
    from dynamo_webhooks.cli.yaml.load import Position

_COLOURS: Final = {record.ERROR: "31;1", record.FAULT: "31;1", record.WARNING: "33;1"}
_DIM: Final = "2"
_WIDTH: Final = 100  # characters of remedy and hint up to which they share a line
_TAB: Final = 4
COLUMNS: Final = 120  # of source that are shown of a long line
_LEAD: Final = 40  # of them before the finding


def text(result: Result, *, colour: bool, quiet: bool) -> str:
    """The whole report; quiet: one line a finding, one line an answer, and nothing else."""
    if quiet:
        lines = [*(f"{_head(finding, colour)}: {printable(finding.about)}" for finding in result.findings), *map(_fate, result.answers)]
        return "".join(f"{line}\n" for line in lines)
    blocks = ["\n".join(_block(finding, colour)) for finding in result.findings]
    if result.not_evaluated:
        blocks.append("\n".join(["not evaluated:", *_notes(result.not_evaluated)]))
    if result.answers:
        blocks.append("\n".join(["an API server would answer:", *(line for answer in result.answers for line in _answer(answer))]))
    return "".join(f"{block}\n\n" for block in blocks)


def summary(result: Result) -> str:
    """One line of counts."""
    hidden = Counter(one.by for one in result.suppressed)
    counts = [
        (result.count(record.ERROR), "error", "errors"),
        (result.count(record.WARNING), "warning", "warnings"),
        (result.count(record.FAULT), "internal error", "internal errors"),
        (len(result.not_evaluated), "not evaluated", "not evaluated"),
        (hidden[COMMENT], "ignored by comment", "ignored by comment"),
        (hidden[BASELINE], "known from the baseline", "known from the baseline"),
        (hidden[PROJECT], "switched off by the project file", "switched off by the project file"),
        (len(result.unreadable), "unreadable", "unreadable"),
        (len(result.unreachable), "cluster not reached", "clusters not reached"),
    ]
    said = [f"{number} {one if number == 1 else many}" for number, one, many in counts if number]
    checked = f"{many(len(result.checked), 'object')} checked"
    if result.line is not None:
        checked += f" by line {result.line.line} ({result.line.told})"
    others = f", {many(result.others, 'document')} of other kinds not" if result.others else ""
    return f"{checked}{others}: {', '.join(said) if said else 'nothing found'}"


def table(result: Result) -> str:
    """What was found by rule, in columns."""
    rows = [(row.rule, row.code, row.level, str(row.findings), many(row.files, "file")) for row in by_rule(result)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _block(finding: Reported, colour: bool) -> Iterator[str]:
    yield f"{_head(finding, colour)} [{finding.stage}]"
    about = "  ".join(part for part in (str(finding.identity) if finding.identity else "", finding.path) if part)
    if about:
        yield f"  {printable(about)}"
    yield f"  {printable(finding.message)}"
    for one in finding.also:
        yield f"  also {one}" + (f": {printable(one.message)}" if one.message != finding.message else "")
    *lines, carets = frame(finding.source.lines, finding.position) or [""]
    yield from (_painted(line, _DIM, colour) for line in lines)
    if carets:
        yield _painted(carets, _COLOURS.get(finding.level, ""), colour)
    yield from _remedy(finding)


def _remedy(finding: Reported) -> Iterator[str]:
    # a shell would take * for names of files; fields of a schema hold no quotes
    asked = f"'{finding.field}'" if "*" in finding.field else finding.field or finding.rule
    more = f"more: dynamo-webhooks explain {asked}"
    if not finding.fix:
        yield f"  {more}"
    elif len(finding.fix) + len(more) <= _WIDTH:
        yield f"  fix: {printable(finding.fix)}      {more}"
    else:
        yield f"  fix: {printable(finding.fix)}"
        yield f"  {more}"


def _head(finding: Reported, colour: bool) -> str:
    line, column, _ = finding.position
    level = _painted(finding.level, _COLOURS.get(finding.level, ""), colour)
    return f"{printable(finding.source.name)}:{line}:{column} {level} {finding.rule} ({finding.code})"


def _notes(notes: list[NotEvaluated]) -> Iterator[str]:
    for group in grouped(notes):
        yield f"  {group.name}: {printable(why(group.first))}"
        yield f"    {printable(group.where)}"


def _answer(answer: Answer) -> Iterator[str]:
    """The fate, then what kubectl would print, in its order: warnings first."""
    yield f"  {_fate(answer)}"
    yield from (f"    Warning: {printable(warning)}" for warning in answer.warnings)
    yield from (f"    {printable(line)}" for line in answer.told.splitlines())


def _fate(answer: Answer) -> str:
    verdict = "accepted" if answer.accepted else f"refused with {answer.status} at stage {answer.stage}"
    return printable(f"{answer.source.name}:{answer.line} {answer.operation.lower()} {answer.identity}: {verdict}")


def _painted(text: str, code: str, colour: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if colour and code else text


def frame(lines: list[str], position: Position) -> list[str]:
    """The line before the finding if it says something, its own line and the carets, each with its number in a margin."""
    index = position.line - 1
    if not 0 <= index < len(lines):
        return []
    before, marked, rest = around(lines[index], position)
    out = [f"{number:>7} | {_clipped(lines[number - 1])}" for number in (index,) if number and lines[number - 1].strip()]
    out.append(f"{index + 1:>7} | {before}{marked}{rest}".rstrip())
    out.append(f"{'':>7} | {' ' * _width(before)}{'^' * max(_width(marked), 1)}")
    return out


def around(line: str, position: Position) -> tuple[str, str, str]:
    """A line as a terminal prints it: what is before the finding, what it marks, and what follows; a long line is cut around the mark."""
    start = min(position.column - 1, len(line))
    end = max(min(position.end_column - 1, len(line)), start)
    cut = max(0, start - _LEAD) if len(line) > COLUMNS else 0
    last = cut + COLUMNS
    return shown(line[cut:start]), shown(line[start : min(end, last)]), shown(line[end:last])


def _clipped(line: str) -> str:
    return shown(line[:COLUMNS]).rstrip()


def shown(text: str) -> str:
    """What a terminal prints without moving its cursor oddly: tabs as blanks, control characters as dots."""
    if text.isprintable():
        return text
    return "".join(" " * _TAB if c == "\t" else c if c.isprintable() or category(c) in ("Mn", "Me", "Zs") else "." for c in text)


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in ("W", "F") else 1 for c in text)
