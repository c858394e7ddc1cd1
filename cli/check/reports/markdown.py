"""The report for a comment on a pull request or the summary of a CI step: a table by rule, and each file to unfold.

GitHub takes 65,536 characters for a comment, so the report is bounded: files that don't fit are counted at its end. What comes from a
manifest stands in fences and code spans alone, where no markup, link or mention is read. Charts of graphs are bounded, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.wording import many, printable
from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.record import Reported
from dynamo_webhooks.cli.check.reports.notes import grouped, why
from dynamo_webhooks.cli.check.reports.paths import relative, top
from dynamo_webhooks.cli.check.reports.text import frame, summary
from dynamo_webhooks.cli.check.result import Result, by_rule

if TYPE_CHECKING:
    from dynamo_webhooks.cli.picture.parts import Picture

MOST: Final = 60_000  # characters of the whole report
ROWS: Final = 40  # of the table
_A_FILE: Final = 12_000  # characters of one file
_CHARTS: Final = 15_000  # characters of all charts
_EDGES: Final = 400  # of one chart; GitHub draws none with more than 500
_LEVELS: Final = (record.ERROR, record.WARNING, record.FAULT)
_TICKS: Final = re.compile("`+")


def document(result: Result, folder: str = "") -> str:
    """The whole report; `folder` is where file names are relative to, by default what `top` says."""
    here = folder or top()
    head = "\n".join(["## dynamo-webhooks check", "", f"{summary(result)}.", *_table(result), ""])
    files = groupby(result.findings, lambda finding: finding.source.name)
    sections = [
        *_graphs(result.pictures),
        *_unread(result, here),
        *(_file(relative(name, here), list(group)) for name, group in files),
        *_notes(result),
    ]
    out, room = [head], MOST - len(head) - 200  # for the last sentence
    for number, section in enumerate(sections):
        room -= len(section)
        if room < 0:
            left = len(sections) - number
            return "\n".join([*out, f"{many(left, 'more section')} left out: see the log of this run.\n"])
        out.append(section)
    return "\n".join(out)


def _table(result: Result) -> Iterator[str]:
    rows = by_rule(result)
    if not rows:
        return
    yield from ("", "| Rule | Level | Findings | Files |", "| --- | --- | ---: | ---: |")
    yield from (f"| {_code(row.rule)} ({row.code}) | {row.level} | {row.findings} | {row.files} |" for row in rows[:ROWS])
    if len(rows) > ROWS:
        yield f"| {len(rows) - ROWS} more | | | |"


def _graphs(pictures: Sequence[Picture]) -> Iterator[str]:
    """A chart of each graph, as far as there is room."""
    if not pictures:
        return
    from dynamo_webhooks.cli.picture.mermaid import mermaid

    blocks, room, left = [], _CHARTS, 0
    for one in pictures:
        chart = mermaid([one])
        fits = len(chart) <= room and chart.count("-->") + chart.count("-.-") <= _EDGES
        room -= len(chart) if fits else 0
        left += not fits
        blocks += [f"```mermaid\n{chart}```\n"] if fits else []
    if blocks or left:
        more = [f"{many(left, 'more graph')} not drawn.\n"] if left else []
        yield _folded(many(len(blocks), "graph"), [*blocks, *more])


def _file(name: str, findings: list[Reported]) -> str:
    counts = Counter(finding.level for finding in findings)
    said = ", ".join(many(counts[level], level) for level in _LEVELS if counts[level])
    blocks, room = [], _A_FILE
    for number, finding in enumerate(findings):
        block = _finding(finding)
        room -= len(block)
        if room < 0:
            blocks.append(f"{len(findings) - number} more in this file.\n")
            break
        blocks.append(block)
    return _folded(f"{_html(name)}: {said}", blocks)


def _finding(finding: Reported) -> str:
    about = "  ".join(part for part in (str(finding.identity or ""), finding.path) if part)
    also = (f"also {one}: {one.message}" for one in finding.also)
    words = (about, finding.message, *also, *([f"fix: {finding.fix}"] if finding.fix else []))
    told = [line for line in map(printable, words) if line]
    head = f"**{finding.level}** {_code(finding.rule)} ({finding.code}), line {finding.position.line}"
    return f"{head}\n{_fenced([*told, *frame(finding.source.lines, finding.position)])}"


def _unread(result: Result, here: str) -> Iterator[str]:
    told = [f"{relative(error.name, here)}:{error.line}: {error.text}" for error in result.unreadable] + result.unreachable
    if told:
        yield _folded(f"Not checked: {len(told)}", [_fenced(_some(map(printable, told)))])


def _notes(result: Result) -> Iterator[str]:
    told = [f"{note.name}: {why(note.first)}; {note.where}" for note in grouped(result.not_evaluated)]
    if told:
        yield _folded(f"Not evaluated: {len(told)}", [_fenced(_some(map(printable, told)))])


def _some(lines: Iterable[str]) -> Iterator[str]:
    """The lines up to what one section may hold."""
    room = _A_FILE
    for line in lines:
        room -= len(line)
        if room < 0:
            yield "..."
            return
        yield line


def _folded(title: str, blocks: Iterable[str]) -> str:
    return "\n".join([f"<details><summary>{title}</summary>", "", *blocks, "</details>", ""])


def _fenced(lines: Iterable[str]) -> str:
    """A block of code, in a fence longer than any that it holds."""
    text = "\n".join(lines)
    fence = "`" * max(3, _longest(text) + 1)
    return f"\n{fence}text\n{text}\n{fence}\n"


def _code(text: str) -> str:
    ticks = "`" * (_longest(text) + 1)
    return f"{ticks}{text}{ticks}"


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _html(name: str) -> str:
    """A name inside of HTML; Markdown is read there, too, so that what is neither letter nor digit is written by its number."""
    return f"<code>{''.join(c if c.isalnum() or c in '/.-' else f'&#{ord(c)};' for c in printable(name[-300:]))}</code>"
