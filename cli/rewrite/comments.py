"""The comments of a text, so that those which a change loses can be named."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from .lines import line_end
from .tree import Entry, Form, Node

_COMMENT: Final = re.compile(r"(?<!\S)#[^\n]*")


class Comment(NamedTuple):
    """A comment with its line, from 1."""

    line: int
    text: str


def comments(text: str, roots: Iterable[Entry]) -> list[Comment]:
    """All comments, in order: whatever begins with # outside of values and keys."""
    found: list[Comment] = []
    line, counted = 1, 0
    for match in _matches(text, 0, len(text), [span for root in roots for span in _spans(root.node)]):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        found.append(Comment(line, match[0].rstrip()))
    return found


def comments_within(text: str, node: Node) -> list[str]:
    """The comments in a block, and beside its last line."""
    return [match[0].rstrip() for match in _matches(text, node.entries[0].first, line_end(text, node.end), _spans(node))]


def _matches(text: str, start: int, end: int, spans: Iterable[tuple[int, int]]) -> Iterator[re.Match[str]]:
    for begins, ends in (*spans, (end, end)):
        yield from _COMMENT.finditer(text, start, max(begins, start))
        start = max(ends, start)


def _spans(node: Node) -> Iterator[tuple[int, int]]:
    """The stretches that keys and scalars take; there a # is no comment."""
    if node.form in (Form.SCALAR, Form.ALIAS) or not node.entries:
        yield node.start, node.end
        return
    for entry in node.entries:
        if entry.key is not None:
            yield entry.start, entry.mark
        yield from _spans(entry.node)


def find_lost_comments(before: list[Comment], after: list[Comment]) -> list[Comment]:
    """Those that are no longer there."""
    left = Counter(comment.text for comment in after)
    gone = []
    for comment in before:
        left[comment.text] -= 1
        if left[comment.text] < 0:
            gone.append(comment)
    return gone
