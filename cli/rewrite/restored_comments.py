"""Puts comments behind a list's last item back beside the rest of their neighbours, where the list itself is gone."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from .align import Sources
from .comments import Comment
from .lines import line_start
from .tree import Entry, Form, entry_at


class Used(NamedTuple):
    """A document that was written anew: its number, its old tree, and where its values come from."""

    number: int
    root: Entry
    sources: Sources


class _Written(NamedTuple):
    """An entry that is still there: as it was, and as it is."""

    old: Entry
    new: Entry


def restore(old: str, new: str, lost: Sequence[Comment], used: Sequence[Used], roots: Sequence[Entry]) -> str:
    """The new text with those lost comments that had a line of their own behind a list's last item; `roots` are its trees.

    Each goes behind what stood before it, in the order in which they stood. Costs the length of both texts and a search for each comment.
    """
    lines, start, coming = iter(enumerate(old.split("\n"), 1)), 0, dict[int, list[str]]()
    written = {one.number: _written(one, roots[one.number]) for one in used if one.number < len(roots)}
    for comment in lost:
        for number, line in lines:
            if number == comment.line:
                break
            start += len(line) + 1
        column = len(line) - len(line.lstrip(" "))
        document = next((one for one in reversed(used) if one.root.node.start <= start), None)
        if document is not None and line.startswith("#", column) and _is_behind_a_list(document.root, start, column):
            end, indent = _place(old, new, written.get(document.number, []), start)
            coming.setdefault(end, []).append(f"{' ' * indent}{comment.text}")
        start += len(line) + 1
    for end, more in sorted(coming.items(), reverse=True):
        new = "\n".join([new[:end], *more]) + new[end:]
    return new


def _written(document: Used, root: Entry) -> list[_Written]:
    """The entries that are on lines of their own in both texts, by their old places."""
    pairs = [
        _Written(old, new) for path, old in document.sources.all() if (new := entry_at(root, path)) is not None and old.last and new.last
    ]
    return sorted(pairs, key=lambda pair: pair.old.start)


def _is_behind_a_list(root: Entry, start: int, column: int) -> bool:
    """Whether a line is behind the last item of a list, and at least as deep as its dash."""
    entry: Entry | None = root
    while entry is not None and entry.node.entries:
        entries = entry.node.entries
        at = bisect_left(entries, start, key=lambda one: one.start)
        last = entries[at - 1] if at else None
        is_list = entry.node.form is Form.BLOCK and last is not None and last.key is None
        if is_list and at == len(entries) and entry.node.end <= start and column >= entry.node.column:
            return True
        entry = last
    return False


def _place(old: str, new: str, written: list[_Written], start: int) -> tuple[int, int]:
    """The end of the line in the new text that the comment goes behind, and its column: of what stood before it, or after it."""
    at = bisect_left(written, start, key=lambda pair: pair.old.start)
    before = written[at - 1] if at else None
    after = written[at] if at < len(written) else None
    if before is not None and (before.old.node.end <= start or after is None or after.old.start > before.old.node.end):
        return before.new.last, before.new.column
    if after is not None:
        begin, top = line_start(new, after.new.start), after.new
        while at > 0 and begin <= written[at - 1].new.start < top.start:  # the dash of the item that it opens
            at -= 1
            top = written[at].new
        if start < after.old.first:  # before the comments of what comes after it
            for _ in range(old.count("\n", after.old.first, line_start(old, after.old.start))):
                begin = line_start(new, begin - 1)
        if begin:
            return begin - 1, top.column
    return len(new.rstrip("\n")), 0
