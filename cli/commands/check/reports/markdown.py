"""The report for a comment on a pull request or the summary of a CI step: a table by rule, and each file to unfold.

GitHub accepts 65,536 characters in a comment, so the report is bounded: omitted files are counted at its end. Texts from a manifest are
only in fences and code spans, where no markup, link or mention is read.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from .....api.wording import count_of, escape_unprintable
from ....validation.finding import LocatedFinding
from ....validation.levels import WARNING
from ..result import CheckResult
from .shared import count_levels, find_report_root, group_notes, make_relative
from .text import draw_frame, format_summary

MAX_REPORT_CHARACTERS: Final = 60_000
MAX_TABLE_ROWS: Final = 40
_MAX_SECTION_CHARACTERS: Final = 12_000
_TICKS: Final = re.compile("`+")


def document(result: CheckResult, folder: str = "") -> str:
    """The whole report; `folder` is where file names are relative to, by default `find_report_root`."""
    here = folder or find_report_root()
    head = "\n".join(["## dynamo-webhooks check", "", f"{format_summary(result)}.", *_table(result), ""])
    files = groupby(result.findings, lambda finding: finding.source.name)
    sections = [
        *_listed(
            "Not checked",
            [f"{make_relative(error.name, here)}:{error.line}: {error.text}" for error in result.unreadable] + result.unreachable,
        ),
        *(_file(make_relative(name, here), list(group)) for name, group in files),
        *_listed("Not evaluated", [note.sentence for note in group_notes(result.not_evaluated)]),
    ]
    out, room = [head], MAX_REPORT_CHARACTERS - len(head) - 200  # for the last sentence
    for number, section in enumerate(sections):
        room -= len(section)
        if room < 0:
            left = len(sections) - number
            return "\n".join([*out, f"{count_of(left, 'more section')} left out: see the log of this run.\n"])
        out.append(section)
    return "\n".join(out)


def _table(result: CheckResult) -> Iterator[str]:
    """A row for each rule and level: errors first, then the most frequent."""
    by_rule: dict[tuple[str, str, str], list[LocatedFinding]] = {}
    for finding in result.findings:
        by_rule.setdefault((finding.rule, finding.code, finding.level), []).append(finding)
    if by_rule:
        yield from ("", "| Rule | Level | Findings | Files |", "| --- | --- | ---: | ---: |")
    rows = sorted(by_rule.items(), key=lambda row: (row[0][2] == WARNING, -len(row[1]), row[0][0]))
    for (rule, code, level), some in rows[:MAX_TABLE_ROWS]:
        yield f"| {_code(rule)} ({code}) | {level} | {len(some)} | {len({finding.source.name for finding in some})} |"
    if len(rows) > MAX_TABLE_ROWS:
        yield f"| {len(rows) - MAX_TABLE_ROWS} more | | | |"


def _file(name: str, findings: list[LocatedFinding]) -> str:
    blocks, room = [], _MAX_SECTION_CHARACTERS
    for number, finding in enumerate(findings):
        block = _finding(finding)
        room -= len(block)
        if room < 0:
            blocks.append(f"{len(findings) - number} more in this file.\n")
            break
        blocks.append(block)
    return _folded(f"{_html(name)}: {count_levels(findings)}", blocks)


def _finding(finding: LocatedFinding) -> str:
    about = "  ".join(part for part in (str(finding.identity or ""), finding.path) if part)
    also = (f"also {other}: {other.message}" for other in finding.also)
    words = (about, finding.sentence, *also, *([f"fix: {finding.fix}"] if finding.fix else []))
    lines = [line for line in map(escape_unprintable, words) if line]
    head = f"**{finding.level}** {_code(finding.rule)} ({finding.code}), line {finding.position.line}"
    return f"{head}\n{_fenced([*lines, *draw_frame(finding.source.lines, finding.position)])}"


def _listed(title: str, texts: list[str]) -> Iterator[str]:
    """A section of lines, up to what one may hold."""
    lines, room = [], _MAX_SECTION_CHARACTERS
    for line in map(escape_unprintable, texts):
        room -= len(line)
        lines.append(line if room >= 0 else "...")
        if room < 0:
            break
    if texts:
        yield _folded(f"{title}: {len(texts)}", [_fenced(lines)])


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
    """Escape a name for HTML inside Markdown: characters other than letters and digits become references."""
    return f"<code>{''.join(c if c.isalnum() or c in '/.-' else f'&#{ord(c)};' for c in escape_unprintable(name[-300:]))}</code>"
