"""A unified diff in time in proportion to the lines: difflib alone takes their square where lines repeat, as those of manifests do."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import Match, SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SQUARE: Final = 40_000  # pairs of lines that difflib compares at once
_CONTEXT: Final = 3  # unchanged lines around a change


def unified(old: Sequence[str], new: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified diff, written as difflib's `unified_diff` writes them; none where nothing differs.

    Equal lines are found from the lines that both texts have exactly once.
    """
    matcher = SequenceMatcher(None, old, new)
    matcher.matching_blocks = [*_joined(_blocks(old, new)), Match(len(old), len(new), 0)]  # type: ignore[attr-defined]  # typeshed leaves it out
    for number, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT) if old != new else ()):
        if number == 0:
            yield f"--- {old_name}\n"
            yield f"+++ {new_name}\n"
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, begin, end, there, until in group:
            if tag == "equal":
                yield from (" " + line for line in old[begin:end])
                continue
            yield from ("-" + line for line in old[begin:end])
            yield from ("+" + line for line in new[there:until])


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
    """The lines that stand once in both texts, the longest row of them that is in order in both."""
    once, at = Counter(old), Counter(new)
    places = {line: index for index, line in enumerate(new) if at[line] == 1 and once[line] == 1}
    tails: list[int] = []  # of the rows of each length: where in the new text the last line stands, as low as can be
    rows: list[tuple[int, int, int]] = []  # a line's two places, and which one is before it
    ends: list[int] = []
    for index, line in enumerate(old):
        if line in places:
            length = bisect_left(tails, places[line])
            rows.append((index, places[line], ends[length - 1] if length else -1))
            tails[length : length + 1], ends[length : length + 1] = [places[line]], [len(rows) - 1]
    found, last = [], ends[-1] if ends else -1
    while last >= 0:
        here, there, last = rows[last]
        found.append((here, there))
    return found[::-1]


def _between(old: Sequence[str], new: Sequence[str], begin: int, end: int, there: int, until: int) -> Iterator[Match]:
    """The runs in a stretch of both texts: at its ends, and in its middle where that is short."""
    size = min(end - begin, until - there)
    head = next((count for count in range(size) if old[begin + count] != new[there + count]), size)
    tail = next((count for count in range(size - head) if old[end - 1 - count] != new[until - 1 - count]), size - head)
    yield Match(begin, there, head)
    middle, other = old[begin + head : end - tail], new[there + head : until - tail]
    if 0 < len(middle) * len(other) <= _SQUARE:
        found = SequenceMatcher(None, middle, other, autojunk=False).get_matching_blocks()
        yield from (Match(begin + head + one.a, there + head + one.b, one.size) for one in found)
    yield Match(end - tail, until - tail, tail)


def _joined(blocks: Iterator[Match]) -> list[Match]:
    """The runs that are not empty, those that touch as one."""
    out: list[Match] = []
    for one in blocks:
        if out and one.size and (out[-1].a + out[-1].size, out[-1].b + out[-1].size) == (one.a, one.b):
            out[-1] = Match(out[-1].a, out[-1].b, out[-1].size + one.size)
        elif one.size:
            out.append(one)
    return out
