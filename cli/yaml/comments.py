"""Finds the comments of a YAML text that hold a word; a `#` inside a quoted text or a block of text begins none. JSON has no comments."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import yaml

from .load import Source, split_chunks

# compiled only where a file has such a comment: start-up time counts
_BLOCK: Final = r"(?:[!&]\S*[ \t]+)*[|>]"  # how a block of text begins, behind its tag and anchor
_MAX_COLUMN: Final = 2**31  # a column behind the end of every line


class Comment(NamedTuple):
    """A comment from its `#` on; `line` and `column` count from 1. `of` is the line that it speaks of: its own, or the one below."""

    line: int
    column: int
    text: str
    of: int


def comments(source: Source, word: str) -> list[Comment]:
    """The comments that contain a word, in order; none for a document that can't be read. Several may precede one line."""
    lines = source.lines
    spans = _texts(source.text, [number for number, line in enumerate(lines) if word in line])
    collected: list[Comment] = []
    below: dict[int, int] = {}
    for number, taken in sorted(spans.items(), reverse=True):
        start = _start(lines[number], taken)
        if start < 0 or word not in lines[number][start:]:
            continue
        of = number
        if not lines[number][:start].strip():
            of = below[number] = _below(lines, number, below)
        collected.append(Comment(number + 1, start + 1, lines[number][start:], of + 1))
    return collected[::-1]


def find_lines_inside_texts(source: Source, lines: Iterable[int]) -> set[int]:
    """Those of the lines, from 1, that begin inside a text of several lines, or in a broken document: no comment can be above."""
    inside = set[int]()
    for part, offset, here in _parts(source.text, sorted(line - 1 for line in lines)):
        try:
            for start, end in _scalars(part):
                low, high = bisect_left(here, start[0] + 1), bisect_left(here, end[0] + (end[1] > 0))
                inside.update(offset + line + 1 for line in here[low:high])
        except yaml.YAMLError:
            inside.update(offset + line + 1 for line in here)
    return inside


def _below(lines: list[str], number: int, known: dict[int, int]) -> int:
    """The next line that is no comment, or else the line itself; `known` holds those of comments below, so that each takes one look."""
    at = number + 1
    while at < len(lines) and lines[at].lstrip().startswith("#"):
        ahead = known.get(at)
        at = at + 1 if ahead is None else len(lines) if ahead == at else ahead
    return at if at < len(lines) else number


def _start(line: str, taken: list[tuple[int, int]]) -> int:
    """Finds where a line's comment begins, -1 where it has none; `taken` are the columns that belong to texts, from left to right."""
    at = line.find("#")
    for low, high in taken:
        if 0 <= at < low:
            return at
        at = line.find("#", high) if at < high else at
    return at


def _texts(text: str, wanted: list[int]) -> dict[int, list[tuple[int, int]]]:
    """The columns of each wanted line that belong to texts, numbers, keys; lines of documents that can't be read are left out."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for part, offset, here in _parts(text, wanted):
        spans |= {number + offset: taken for number, taken in _spans(part, set(here)).items()}
    return spans


def _parts(text: str, wanted: list[int]) -> Iterator[tuple[str, int, list[int]]]:
    """The documents that have some of these lines, with their first line, and which of theirs those are; all count from 0, in order."""
    for part, offset in split_chunks(text):
        lines = Source("", part).lines
        end = offset + len(lines) - (not lines[-1])  # what follows the last line's end begins the next part
        here = [number - offset for number in wanted[bisect_left(wanted, offset) : bisect_left(wanted, end)]]
        if here:
            yield part, offset, here


def _spans(part: str, wanted: set[int]) -> dict[int, list[tuple[int, int]]]:
    spans: dict[int, list[tuple[int, int]]] = {number: [] for number in wanted}
    try:
        for start, end in _scalars(part):
            for number in wanted.intersection(range(start[0], end[0] + 1)):
                spans[number].append((start[1] if number == start[0] else 0, end[1] if number == end[0] else _MAX_COLUMN))
    except yaml.YAMLError:
        return {}
    return spans


def _scalars(part: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    block = re.compile(_BLOCK)
    for event in yaml.parse(part, Loader=yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):
        if isinstance(event, yaml.ScalarEvent) and event.start_mark and event.end_mark:
            start, end = event.start_mark, event.end_mark
            # behind the bar of a block there is room for a comment
            begin = (start.line, _MAX_COLUMN if block.match(part, start.index) else start.column)
            yield begin, (end.line, end.column)
