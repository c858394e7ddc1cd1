"""A unified diff in time in proportion to the lines: difflib alone takes their square where lines repeat, as those of manifests do."""

import json
import posixpath
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import pairwise
from typing import Final, NamedTuple

_MAX_LINE_PAIRS: Final = 40_000  # that difflib compares at once
_CONTEXT_LINES: Final = 3  # unchanged lines around a change


class TextChange(NamedTuple):
    """The change of a span of the old text."""

    start: int
    end: int
    text: str


def list_unified_lines(old: Sequence[str], new: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """A unified diff as difflib writes it; equal lines are found from those that both texts have exactly once."""
    if old != new:
        yield f"--- {old_name}\n"
        yield f"+++ {new_name}\n"
    for group in _matcher(old, new).get_grouped_opcodes(_CONTEXT_LINES) if old != new else ():
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, begin, end, there, until in group:
            if tag == "equal":
                yield from (" " + line for line in old[begin:end])
                continue
            yield from ("-" + line for line in old[begin:end])
            yield from ("+" + line for line in new[there:until])


def find_changes(old: str, new: str) -> Iterator[TextChange]:
    """The smallest stretches in which two texts differ, in order; of lines that stay as many, each by itself."""
    olds, news = _lines(old), _lines(new)
    offset, at = 0, 0
    for tag, begin, end, there, until in _matcher(olds, news).get_opcodes():
        offset += sum(map(len, olds[at:begin]))
        at = begin
        if tag == "equal":
            continue
        if end - begin == until - there:
            pairs = [*zip(olds[begin:end], news[there:until], strict=True)]
        else:
            pairs = [("".join(olds[begin:end]), "".join(news[there:until]))]
        for mine, theirs in pairs:
            if mine != theirs:
                head, tail = _common(mine, theirs)
                yield TextChange(offset + head, offset + len(mine) - tail, theirs[head : len(theirs) - tail])
            offset += len(mine)
        at = end


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """The lengths of the common prefix and suffix of two texts, in characters or lines."""
    size = min(len(old), len(new))
    head = next((count for count in range(size) if old[count] != new[count]), size)
    tail = next((count for count in range(size - head) if old[-1 - count] != new[-1 - count]), size - head)
    return head, tail


def _matcher(old: Sequence[str], new: Sequence[str]) -> SequenceMatcher[str]:
    matcher = SequenceMatcher(None, old, new)
    matcher.matching_blocks = [*_joined(_blocks(old, new)), Match(len(old), len(new), 0)]  # type: ignore[attr-defined]  # typeshed leaves it out
    return matcher


def _range(begin: int, end: int) -> str:
    length = end - begin
    return str(begin + 1) if length == 1 else f"{begin + (length > 0)},{length}"


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[Match]:
    """Runs of equal lines, in order; neighbours may touch."""
    anchors = [(-1, -1), *_anchors(old, new), (len(old), len(new))]
    for (here, there), (to, until) in pairwise(anchors):
        if here >= 0:
            yield Match(here, there, 1)
        yield from _between(old, new, here + 1, to, there + 1, until)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that occur once in both texts: the longest sequence of them in the same order in both."""
    once, at = Counter(old), Counter(new)
    places = {line: index for index, line in enumerate(new) if at[line] == 1 and once[line] == 1}
    tails: list[int] = []  # by length of a sequence: the lowest position of its last line in the new text
    rows: list[tuple[int, int, int]] = []  # a line's two places, and which one is before it
    ends: list[int] = []
    for index, line in enumerate(old):
        if line in places:
            length = bisect_left(tails, places[line])
            rows.append((index, places[line], ends[length - 1] if length else -1))
            tails[length : length + 1], ends[length : length + 1] = [places[line]], [len(rows) - 1]
    pairs, last = [], ends[-1] if ends else -1
    while last >= 0:
        here, there, last = rows[last]
        pairs.append((here, there))
    return pairs[::-1]


def _between(old: Sequence[str], new: Sequence[str], begin: int, end: int, there: int, until: int) -> Iterator[Match]:
    """The runs in a stretch of both texts: at its ends, and in its middle where that is short."""
    head, tail = _common(old[begin:end], new[there:until])
    yield Match(begin, there, head)
    middle, other = old[begin + head : end - tail], new[there + head : until - tail]
    if 0 < len(middle) * len(other) <= _MAX_LINE_PAIRS:
        blocks = SequenceMatcher(None, middle, other, autojunk=False).get_matching_blocks()
        yield from (Match(begin + head + block.a, there + head + block.b, block.size) for block in blocks)
    yield Match(end - tail, until - tail, tail)


def _joined(blocks: Iterator[Match]) -> list[Match]:
    """The runs that are not empty, those that touch as one."""
    out: list[Match] = []
    for block in blocks:
        if out and block.size and (out[-1].a + out[-1].size, out[-1].b + out[-1].size) == (block.a, block.b):
            out[-1] = Match(out[-1].a, out[-1].b, out[-1].size + block.size)
        elif block.size:
            out.append(block)
    return out


def format_diff(name: str, before: str, after: str) -> str:
    """The unified diff of one file, as `git apply` takes it; empty where nothing changes."""
    old, new = (f"{side}/{posixpath.normpath(name).lstrip('/')}" for side in "ab")
    if not name.isprintable():
        old, new = json.dumps(old), json.dumps(new)
    made = list_unified_lines(_lines(before), _lines(after), old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made)


def _lines(text: str) -> list[str]:
    """The lines with their ends; only a line feed ends one, since a text may hold other ends that must come out as they are."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + parts[-1:] * bool(parts[-1])
