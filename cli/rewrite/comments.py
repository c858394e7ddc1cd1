"""The comments of a text: where each goes that is around an entry, and which a change loses or can be put back."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from .align import EntrySources
from .tree import Form, TextEntry, TextNode, find_entry, find_line_end, find_line_start, shift_line

_COMMENT: Final = re.compile(r"(?<!\S)#[^\n]*")
_PROPERTIES: Final = re.compile(r"[ \t]*(?:[&!][^\s#]*[ \t]*)+")
_BESIDE: Final = re.compile(r"[ \t]+#.*")


class Comment(NamedTuple):
    """A comment with its line, from 1."""

    line: int
    text: str


def find_comments(text: str, roots: Iterable[TextEntry]) -> list[Comment]:
    """All comments, in order: whatever begins with # outside of values and keys."""
    collected: list[Comment] = []
    line, counted = 1, 0
    for match in _matches(text, 0, len(text), [span for root in roots for span in _spans(root.node)]):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        collected.append(Comment(line, match[0].rstrip()))
    return collected


def _matches(text: str, start: int, end: int, spans: Iterable[tuple[int, int]]) -> Iterator[re.Match[str]]:
    for begins, ends in (*spans, (end, end)):
        yield from _COMMENT.finditer(text, start, max(begins, start))
        start = max(ends, start)


def _spans(node: TextNode) -> Iterator[tuple[int, int]]:
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


class AttachedComments:
    """Looks up the comments around an entry of one document: above, beside and below it. Each is written once, wherever its entry goes."""

    def __init__(self, text: str, sources: EntrySources) -> None:
        """`sources` remembers which comments have been written."""
        self._text = text
        self._sources = sources
        self._waiting: dict[int, str] = {}

    def mark_written(self, entry: TextEntry) -> None:
        """Marks an entry as written with all that is beside and below it."""
        self._sources.first_use(entry, "behind")
        self._sources.first_use(entry, "below")

    def above(self, entry: TextEntry, column: int) -> list[str]:
        """Comments and blank lines above an entry, and those of entries around it that are nothing any more."""
        lines: list[str] = []
        for outer in self._sources.around(entry) if entry.last else ():
            start = find_line_start(self._text, outer.start)
            if outer.first < start and self._sources.first_use(outer, "above"):
                lines += [shift_line(line, column - outer.column) for line in self._text[outer.first : start - 1].split("\n")]
            comment = self._head_comment(outer) if outer is not entry and self._sources.first_use(outer, "behind") else ""
            if comment and not self._head_comment(entry) and entry.start not in self._waiting:
                self._waiting[entry.start] = comment
            elif comment:
                lines.append(" " * column + comment.strip())
        return lines

    def _head_comment(self, entry: TextEntry) -> str:
        """The comment on the line of an entry whose block begins on the next."""
        end = find_line_end(self._text, entry.mark)
        match = _BESIDE.search(self._text[entry.mark : end if not entry.node.entries else min(end, entry.node.entries[0].start)])
        return match[0] if match else ""

    def waiting(self, entry: TextEntry, column: int) -> list[str]:
        """A comment that belongs after an entry and was not written there."""
        comment = self._waiting.pop(entry.start, "")
        return [" " * column + comment.strip()] if comment else []

    def behind(self, entry: TextEntry, node: TextNode, key: str | None) -> str:
        """The rest of an entry's line after its colon or dash, except its value: a comment, a tag or an anchor."""
        if not entry.last or not self._sources.first_use(entry, "behind"):
            return ""
        rest = self._own(entry, node, key)
        return rest if "#" in rest else rest + self._waiting.pop(entry.start, "")

    def _own(self, entry: TextEntry, node: TextNode, key: str | None) -> str:
        if node is not entry.node or node.form is not Form.BLOCK or not node.entries:
            end = entry.node.end  # the node's, or that of the alias that refers to it
            return self._text[end : find_line_end(self._text, end)]
        if find_line_start(self._text, node.entries[0].start) > entry.mark:
            return self._head(entry, key)
        named = next((below for below in node.entries if key is not None and below.node.data == key), None)
        if named is None:
            return ""
        # an item of a list becomes an entry of a map: its name was an entry of its own
        return self._text[named.node.end : find_line_end(self._text, named.node.end)]

    def _head(self, entry: TextEntry, key: str | None) -> str:
        rest = self._text[entry.mark : find_line_end(self._text, entry.mark)]
        match = _PROPERTIES.match(rest)
        if match is None or (self._sources.keeps_aliases and key is not None):
            return rest
        return "  " + rest[match.end() :] if rest[match.end() :].strip() else ""

    def below(self, entry: TextEntry, node: TextNode, columns: int) -> list[str]:
        """Comments behind the last entry of a block, moved by some columns, and those below entries around it that are nothing any more."""
        lines: list[str] = []
        for outer in reversed(self._sources.around(entry)):
            own = node if outer is entry else outer.node
            if own is not outer.node or not outer.last or not self._sources.first_use(outer, "below"):
                continue
            blocks = own.form is Form.BLOCK and own.entries
            end = own.entries[-1].last if blocks else find_line_end(self._text, own.end)
            if outer.last > end:
                lines += [shift_line(line, columns) for line in self._text[end + 1 : outer.last].split("\n")]
        return lines

    def inside(self, entry: TextEntry, node: TextNode, key: str | None, column: int) -> list[str]:
        """The comments in a block of which nothing is left but one value; a single one goes behind that."""
        within = _matches(self._text, node.entries[0].first, find_line_end(self._text, node.end), _spans(node))
        texts = [match[0].rstrip() for match in within]
        named = self._own(entry, node, key).strip()
        if named in texts:  # it already follows the value
            texts.remove(named)
        if len(texts) == 1 and node is entry.node and not self._head_comment(entry) and entry.start not in self._waiting:
            self._waiting[entry.start] = "  " + texts.pop()
        return [" " * column + comment for comment in texts]


class RewrittenDocument(NamedTuple):
    """A document that was written anew: its number, its old tree, and where its values come from."""

    number: int
    root: TextEntry
    sources: EntrySources


class _EntryPair(NamedTuple):
    """An entry that is still there: as it was, and as it is."""

    old: TextEntry
    new: TextEntry


def restore(old: str, new: str, lost: Sequence[Comment], used: Sequence[RewrittenDocument], roots: Sequence[TextEntry]) -> str:
    """The new text with those lost comments that had a line of their own behind a list's last item; `roots` are its trees.

    Each goes behind what stood before it, in the order in which they stood. Costs the length of both texts and a search for each comment.
    """
    lines, start, coming = iter(enumerate(old.split("\n"), 1)), 0, dict[int, list[str]]()
    written = {rewritten.number: _written(rewritten, roots[rewritten.number]) for rewritten in used if rewritten.number < len(roots)}
    for comment in lost:
        for number, line in lines:
            if number == comment.line:
                break
            start += len(line) + 1
        column = len(line) - len(line.lstrip(" "))
        document = next((rewritten for rewritten in reversed(used) if rewritten.root.node.start <= start), None)
        if document is not None and line.startswith("#", column) and _is_behind_a_list(document.root, start, column):
            end, indent = _find_line(old, new, written.get(document.number, []), start)
            coming.setdefault(end, []).append(f"{' ' * indent}{comment.text}")
        start += len(line) + 1
    for end, more in sorted(coming.items(), reverse=True):
        new = "\n".join([new[:end], *more]) + new[end:]
    return new


def _written(document: RewrittenDocument, root: TextEntry) -> list[_EntryPair]:
    """The entries that are on lines of their own in both texts, by their old places."""
    pairs = [
        _EntryPair(old, new)
        for path, old in document.sources.all()
        if (new := find_entry(root, path)) is not None and old.last and new.last
    ]
    return sorted(pairs, key=lambda pair: pair.old.start)


def _is_behind_a_list(root: TextEntry, start: int, column: int) -> bool:
    """Whether a line is behind the last item of a list, and at least as deep as its dash."""
    entry: TextEntry | None = root
    while entry is not None and entry.node.entries:
        entries = entry.node.entries
        at = bisect_left(entries, start, key=lambda item: item.start)
        last = entries[at - 1] if at else None
        is_list = entry.node.form is Form.BLOCK and last is not None and last.key is None
        if is_list and at == len(entries) and entry.node.end <= start and column >= entry.node.column:
            return True
        entry = last
    return False


def _find_line(old: str, new: str, written: list[_EntryPair], start: int) -> tuple[int, int]:
    """The end of the line in the new text that the comment goes behind, and its column: of what stood before it, or after it."""
    at = bisect_left(written, start, key=lambda pair: pair.old.start)
    before = written[at - 1] if at else None
    after = written[at] if at < len(written) else None
    if before is not None and (before.old.node.end <= start or after is None or after.old.start > before.old.node.end):
        return before.new.last, before.new.column
    if after is not None:
        begin, top = find_line_start(new, after.new.start), after.new
        while at > 0 and begin <= written[at - 1].new.start < top.start:  # the dash of the item that it opens
            at -= 1
            top = written[at].new
        if start < after.old.first:  # before the comments of what comes after it
            for _ in range(old.count("\n", after.old.first, find_line_start(old, after.old.start))):
                begin = find_line_start(new, begin - 1)
        if begin:
            return begin - 1, top.column
    return len(new.rstrip("\n")), 0
