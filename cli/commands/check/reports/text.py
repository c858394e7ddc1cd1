"""The report for people: each finding with its source and remedy, then what couldn't be evaluated, then one line that sums up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from unicodedata import category, east_asian_width

from .....api.wording import count_of as many
from .....api.wording import escape_unprintable
from ....validation.finding import LocatedFinding, NotEvaluated
from ....validation.levels import ERROR, FAULT, WARNING
from ..result import BASELINE, COMMENT, PROJECT, CheckResult
from .shared import format_reason, group_notes

if TYPE_CHECKING:
    from ....validation.server_response import ServerResponse
    from ....yaml.load import Position

_COLOURS: Final = {ERROR: "31;1", FAULT: "31;1", WARNING: "33;1"}
_DIM: Final = "2"
_MAX_LINE_CHARACTERS: Final = 100  # up to which remedy and hint share a line
_TAB: Final = 4
MAX_SOURCE_COLUMNS: Final = 120  # that are shown of a long line
_MAX_LEAD_COLUMNS: Final = 40  # before the finding


def format_report(result: CheckResult, *, colour: bool, quiet: bool) -> str:
    """The whole report; quiet: one line a finding, one line an answer, and nothing else."""
    if quiet:
        lines = [f"{_head(finding, colour)}: {escape_unprintable(finding.about)}" for finding in result.findings]
        lines += map(_fate, result.answers)
        return "".join(f"{line}\n" for line in lines)
    blocks = ["\n".join(_block(finding, colour)) for finding in result.findings]
    if result.not_evaluated:
        blocks.append("\n".join(["not evaluated:", *_notes(result.not_evaluated)]))
    if result.answers:
        blocks.append("\n".join(["an API server would answer:", *(line for answer in result.answers for line in _answer(answer))]))
    return "".join(f"{block}\n\n" for block in blocks)


def format_summary(result: CheckResult) -> str:
    """One line of counts."""
    hidden = Counter(suppression.by for suppression in result.suppressed)
    counts = [
        (result.count(ERROR), "error", "errors"),
        (result.count(WARNING), "warning", "warnings"),
        (result.count(FAULT), "internal error", "internal errors"),
        (len(result.not_evaluated), "not evaluated", "not evaluated"),
        (hidden[COMMENT], "ignored by comment", "ignored by comment"),
        (hidden[BASELINE], "known from the baseline", "known from the baseline"),
        (hidden[PROJECT], "switched off by the project file", "switched off by the project file"),
        (len(result.unreadable), "unreadable", "unreadable"),
        (len(result.unreachable), "cluster not reached", "clusters not reached"),
    ]
    phrases = [f"{number} {one if number == 1 else many}" for number, one, many in counts if number]
    checked = f"{many(len(result.checked), 'object')} checked"
    if result.lines:
        checked += f" for {' and '.join(map(str, result.lines))}"
    checked += f", in namespace {result.namespace} where they name none" if result.namespace else ""
    if result.own_rules is not None:
        checked += f", by {result.own_rules[0]} of {many(result.own_rules[1], 'rule')} of your own"
    others = f", {many(result.others, 'document')} of other kinds not" if result.others else ""
    return f"{checked}{others}: {', '.join(phrases) if phrases else 'nothing found'}"


def _block(finding: LocatedFinding, colour: bool) -> Iterator[str]:
    yield f"{_head(finding, colour)} [{finding.stage}]"
    about = "  ".join(part for part in (str(finding.identity) if finding.identity else "", finding.path) if part)
    if about:
        yield f"  {escape_unprintable(about)}"
    yield f"  {escape_unprintable(finding.sentence)}"
    for other in finding.also:
        yield f"  also {other}" + (f": {escape_unprintable(other.message)}" if other.message != finding.message else "")
    *lines, carets = draw_frame(finding.source.lines, finding.position) or [""]
    yield from (_painted(line, _DIM, colour) for line in lines)
    if carets:
        yield _painted(carets, _COLOURS.get(finding.level, ""), colour)
    yield from _remedy(finding)


def _remedy(finding: LocatedFinding) -> Iterator[str]:
    # a shell would take * for names of files; fields of a schema hold no quotes
    topic = f"'{finding.field}'" if "*" in finding.field else finding.field or finding.rule
    more = f"more: dynamo-webhooks explain {topic}"
    fix = f"  fix: {escape_unprintable(finding.fix)}" if finding.fix else ""
    if fix and len(finding.fix) + len(more) <= _MAX_LINE_CHARACTERS:
        yield f"{fix}      {more}"
    else:
        yield from filter(None, (fix, f"  {more}"))


def _head(finding: LocatedFinding, colour: bool) -> str:
    line, column, _ = finding.position
    level = _painted(finding.level, _COLOURS.get(finding.level, ""), colour)
    return f"{escape_unprintable(finding.source.name)}:{line}:{column} {level} {finding.rule} ({finding.code})"


def _notes(notes: list[NotEvaluated]) -> Iterator[str]:
    for group in group_notes(notes):
        yield f"  {group.name}: {escape_unprintable(format_reason(group.first))}"
        yield f"    {escape_unprintable(group.location)}"


def _answer(answer: ServerResponse) -> Iterator[str]:
    """The fate, then what kubectl would print, in its order: warnings first."""
    yield f"  {_fate(answer)}"
    yield from (f"    Warning: {escape_unprintable(warning)}" for warning in answer.warnings)
    yield from (f"    {escape_unprintable(line)}" for line in answer.kubectl_text.splitlines())


def _fate(answer: ServerResponse) -> str:
    verdict = "accepted" if answer.accepted else f"refused with {answer.status} at stage {answer.stage}"
    return escape_unprintable(f"{answer.source.name}:{answer.line} {answer.operation.lower()} {answer.identity}: {verdict}")


def _painted(text: str, code: str, colour: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if colour and code else text


def draw_frame(lines: list[str], position: Position) -> list[str]:
    """The line before the finding if it says something, its own line and the carets, each with its number in a margin."""
    index = position.line - 1
    if not 0 <= index < len(lines):
        return []
    before, marked, rest = split_line(lines[index], position)
    above = escape_terminal(lines[index - 1][:MAX_SOURCE_COLUMNS]).rstrip() if index else ""
    out = [f"{index:>7} | {above}"] if index and lines[index - 1].strip() else []
    out.append(f"{index + 1:>7} | {before}{marked}{rest}".rstrip())
    out.append(f"{'':>7} | {' ' * _width(before)}{'^' * max(_width(marked), 1)}")
    return out


def split_line(line: str, position: Position) -> tuple[str, str, str]:
    """Format a line for a terminal: before the finding, its marked part, and after it; a long line is cut around the mark."""
    start = min(position.column - 1, len(line))
    end = max(min(position.end_column - 1, len(line)), start)
    cut = max(0, start - _MAX_LEAD_COLUMNS) if len(line) > MAX_SOURCE_COLUMNS else 0
    last = cut + MAX_SOURCE_COLUMNS
    return escape_terminal(line[cut:start]), escape_terminal(line[start : min(end, last)]), escape_terminal(line[end:last])


def escape_terminal(text: str) -> str:
    """Replace what moves a terminal's cursor: tabs become blanks, control characters dots."""
    if text.isprintable():
        return text
    return "".join(" " * _TAB if c == "\t" else c if c.isprintable() or category(c) in ("Mn", "Me", "Zs") else "." for c in text)


def _width(text: str) -> int:
    """The number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in ("W", "F") else 1 for c in text)
