"""A text that reads as other values, changed as little as possible. It is read back: the values are law, comments are not."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from ...api.paths import Path
from ..yaml.errors import InputError
from .align import EntrySources
from .build import ParsedText, UnsureError, build_trees, parse
from .comments import AttachedComments, Comment, RewrittenDocument, find_comments, find_lost_comments, restore
from .emit import emit_double_quoted, emit_flow_scalar, emit_json, emit_yaml, format_key, format_scalar
from .tree import Form, TextEntry, TextNode, find_line_end, find_line_start, is_same_json, resolve_alias, shift_line

_Attempt = tuple[str, list[RewrittenDocument]]
Origin = Callable[[int, Path], Path | None]

__all__ = ["Comment", "NotWrittenError", "RewrittenText", "rewrite"]

_ONLY_CRLF: Final = re.compile(r"(?:[^\r\n]|\r\n)*")
_SHARING: Final = re.compile(r"(?:^|[\s\[{,:-])\*[^\s,\[\]{}]")  # a possible alias, outside of quoted text
_HEAD: Final = re.compile(r"(?:\ufeff?---[ \t]*(?:#.*)?\r?\n|[ \t\ufeff]*(?:[#%].*)?\r?\n)*(?:---[ \t]+)?")


class NotWrittenError(ValueError):
    """Values that YAML can't represent; the object must stay unchanged."""


class RewrittenText(NamedTuple):
    """The new text, and the comments of the old one that it no longer has, with their lines in the old text."""

    text: str
    lost_comments: list[Comment]


def rewrite(text: str, values: Sequence[Any], origin: Origin | None = None, *, expands: bool = True) -> RewrittenText:
    """Rewrite the text, one piece between `---` lines, so that its documents have the values; unchanged values stay byte for byte.

    `origin` maps a path in the new value of a document to its old path, None for new values; by default paths are the same. Aliases are
    expanded if their values differ from the anchor's and `expands` is set. Raises: InputError, NotWrittenError.
    """
    crlf = "\r\n" in text and _ONLY_CRLF.fullmatch(text) is not None
    plain = text.replace("\r\n", "\n") if crlf else text
    parsed = parse(plain)
    if len(parsed.values) != len(values):
        raise NotWrittenError(f"the text holds {len(parsed.values)} documents, not {len(values)}")
    if all(map(is_same_json, parsed.values, values)):
        return RewrittenText(text, [])
    shared = not expands and not parsed.is_json and _SHARING.search(plain) is not None
    for attempt, used in _attempts(plain, parsed, values, origin or (lambda _, path: path), shared=shared):
        read = _read_as(attempt, values)
        if read is not None:
            done = RewrittenText(attempt, []) if parsed.is_json else _with_comments(plain, parsed, attempt, read, used, values)
            return done._replace(text=done.text.replace("\n", "\r\n")) if crlf else done
    if shared:
        raise NotWrittenError("the edits would write out what its anchors and aliases share; make them by hand")
    raise NotWrittenError("the changed object can't be written as text")


def _attempts(text: str, parsed: ParsedText, values: Sequence[Any], origin: Origin, *, shared: bool) -> Iterator[_Attempt]:
    """Texts to be tried: that which keeps most first; only that where nothing `shared` may be written out."""
    try:
        if shared:
            yield _changed(text, parsed, values, origin, shared=True)
            return
        for keeps_aliases, checks in ((True, False), (False, False), (False, True)):
            yield _changed(text, parsed, values, origin, shared=False, keeps_aliases=keeps_aliases, checks=checks)
    except UnsureError:
        pass
    if not shared:
        yield _anew(text, values, is_json=parsed.is_json), []


def _changed(
    text: str, parsed: ParsedText, values: Sequence[Any], origin: Origin, *, shared: bool, keeps_aliases: bool = True, checks: bool = False
) -> _Attempt:
    parts, cursor, used = [], 0, []
    for index, (root, value) in enumerate(zip(build_trees(text, parsed), values, strict=True)):
        if is_same_json(root.node.data, value):
            continue
        sources = EntrySources(root, value, partial(origin, index), keeps_aliases=keeps_aliases, trusts_aliases=shared)
        used.append(RewrittenDocument(index, root, sources))
        style = detect_style(text, root, is_json=parsed.is_json)
        if root.node.form is not Form.BLOCK:
            parts += [text[cursor : root.node.start], FlowWriter(text, style, sources).format_value(value, (), root.node, "")]
            cursor = root.node.end
            continue
        if not (isinstance(value, (dict, list)) and value and root.last):
            raise UnsureError
        first = find_line_start(text, root.node.entries[0].start)
        lines = BlockWriter(text, style, sources, _value if checks else None).children(value, (), root.node.column)
        parts += [text[cursor:first], "\n".join(lines)]
        cursor = root.last
    return "".join([*parts, text[cursor:]]), used


def _value(text: str) -> Any:
    """Parsed value of the text; a unique sentinel if it is empty or invalid."""
    parsed = _read(text)
    return parsed.values[0] if parsed is not None and len(parsed.values) == 1 else NotWrittenError


def _anew(text: str, values: Sequence[Any], *, is_json: bool) -> str:
    """Keep only the text above the document."""
    match = _HEAD.match(text)
    head = match[0] if match else ""
    if is_json:
        return head + "".join(emit_json(value) for value in values)
    if head and not head.endswith("\n"):
        head = head.rstrip(" \t") + "\n"
    return head + "---\n".join(emit_yaml(value) for value in values)


def _read(text: str) -> ParsedText | None:
    try:
        return parse(text)
    except InputError:
        return None


def _with_comments(
    text: str, parsed: ParsedText, done: str, read: ParsedText, used: list[RewrittenDocument], values: Sequence[Any]
) -> RewrittenText:
    """A new text with comments that it lost, as far as they have a place, and the others."""
    roots, before = _roots(done, read), find_comments(text, _roots(text, parsed))
    lost = find_lost_comments(before, find_comments(done, roots))
    if not lost or not used:
        return RewrittenText(done, lost)
    more = restore(text, done, lost, used, roots)
    again = _read_as(more, values)
    return (
        RewrittenText(done, lost)
        if again is None
        else RewrittenText(more, find_lost_comments(before, find_comments(more, _roots(more, again))))
    )


def _read_as(text: str, values: Sequence[Any]) -> ParsedText | None:
    """A text as it was read; None unless it has the values."""
    read = _read(text)
    return read if read is not None and len(read.values) == len(values) and all(map(is_same_json, read.values, values)) else None


def _roots(text: str, parsed: ParsedText) -> list[TextEntry]:
    try:
        return list(build_trees(text, parsed))
    except UnsureError:
        return []


class Style(NamedTuple):
    """Habits of a text. `step` and `dash` are columns: of a map, and of a list's dashes, to the right of their key."""

    step: int
    dash: int
    margin: str  # what a line in brackets is indented by, deeper than the line around it
    broken: bool  # whether maps and lists in brackets take a line for each entry
    colon: str
    comma: str
    is_json: bool


def detect_style(text: str, root: TextEntry, *, is_json: bool) -> Style:
    """The prevailing style of the text; two columns a step where it shows none."""
    steps: Counter[int] = Counter()
    dashes: Counter[int] = Counter()
    for entry in _entries(root.node):
        node = entry.node
        if node.form is Form.BLOCK and entry.key is not None:
            (steps if isinstance(node.data, dict) else dashes)[node.column - entry.column] += 1
    step = max(_most(steps, 2), 1)
    margin, broken, colon, comma = _brackets(text, root.node, step)
    return Style(step, max(_most(dashes, step if step == 2 else 0), 0), margin, broken, colon, comma, is_json)


def _entries(node: TextNode) -> Iterator[TextEntry]:
    for entry in node.entries:
        yield entry
        yield from _entries(entry.node)


def _most(counted: Counter[int], otherwise: int) -> int:
    """The most frequent; of equally frequent ones the smaller."""
    return min(counted, key=lambda number: (-counted[number], number)) if counted else otherwise


def _margin_at(text: str, offset: int) -> str:
    """The blanks that the line of an offset begins with."""
    start = find_line_start(text, offset)
    line = text[start:offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _is_broken(text: str, node: TextNode) -> bool:
    """Whether the first entry in brackets begins a line."""
    return bool(node.entries) and "\n" in text[node.start : node.entries[0].start]


def _margin_of(text: str, node: TextNode, otherwise: str) -> str:
    """The indentation of the entries of a map or list in brackets, relative to its first line."""
    outer, inner = _margin_at(text, node.start), _margin_at(text, node.entries[0].start)
    return inner[len(outer) :] if inner.startswith(outer) and len(inner) > len(outer) else otherwise


def _brackets(text: str, root: TextNode, step: int) -> tuple[str, bool, str, str]:
    if root.form is not Form.FLOW or not root.entries:
        return " " * step, False, " ", " "
    broken = _is_broken(text, root)
    first = root.entries[0]
    colon = text[first.mark : first.node.start] if first.key is not None else " "
    comma = _blank_behind_comma(text, root)
    return _margin_of(text, root, " " * step), broken, "" if colon == "" else " ", comma if comma is not None else (" " if colon else "")


def _blank_behind_comma(text: str, node: TextNode) -> str | None:
    """The blank behind the first comma between two entries on one line; None where no line shows it."""
    if len(node.entries) < 2 or _is_broken(text, node):
        return None
    between = text[node.entries[0].node.end : node.entries[1].start]
    blank = between.partition(",")[2]
    return blank if not blank.strip(" \t") else None


class FlowWriter:
    """Writes values in brackets."""

    def __init__(self, text: str, style: Style, sources: EntrySources) -> None:
        self._text = text
        self._style = style
        self._sources = sources

    def format_value(self, value: Any, path: Path, node: TextNode | None, margin: str, *, broken: bool | None = None) -> str:
        """The text of a value that was a node; `margin` begins its line, `broken` is set if its container spans lines."""
        if node is not None and not self._sources.keeps_aliases:
            node = resolve_alias(node)
        if node is not None and node.form is not Form.BLOCK and self._sources.copies(node, value):
            return self._copied(node, margin)
        if not isinstance(value, (dict, list)) or not value:
            return self._scalar(value, node)
        like = node if node is not None and node.form is Form.FLOW and node.entries else None
        broken = self._style.broken if broken is None else broken
        broken = broken if like is None else _is_broken(self._text, like)
        unit = _margin_of(self._text, like, self._style.margin) if like is not None and broken else self._style.margin
        inner = margin + unit if broken else margin
        steps: Sequence[Any] = self._sources.order(value, path) if isinstance(value, dict) else range(len(value))
        parts = [self._part(value, step, path, like, inner, broken) for step in steps]
        return self._bracketed(parts, value, like, broken, margin, inner)

    def _part(self, value: Any, step: Any, path: Path, like: TextNode | None, inner: str, broken: bool) -> str:
        source = self._sources.find((*path, step))
        text = self.format_value(value[step], (*path, step), source.node if source else None, inner, broken=broken)
        if isinstance(step, int):
            return text
        return self._key(step, source) + self._colon(like) + text

    def _key(self, key: str, source: TextEntry | None) -> str:
        if self._style.is_json:
            return emit_double_quoted(key)
        if source is not None and source.key == key:
            return self._text[source.start : source.mark].rstrip(": \t")
        return emit_flow_scalar(key)

    def _colon(self, like: TextNode | None) -> str:
        first = like.entries[0] if like is not None else None
        gap = self._text[first.mark : first.node.start] if first is not None and first.key is not None else self._style.colon
        return ":" + (gap if gap in ("", " ") and (self._style.is_json or gap) else " ")

    def _bracketed(self, parts: list[str], value: Any, like: TextNode | None, broken: bool, margin: str, inner: str) -> str:
        opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
        if broken:
            return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{margin}{closing}"
        blank = _blank_behind_comma(self._text, like) if like is not None else None
        pad = self._text[like.start + 1 : like.entries[0].start] if like is not None and like.known else ""
        pad = pad if not pad.strip(" ") else ""
        return opening + pad + ("," + (self._style.comma if blank is None else blank)).join(parts) + pad + closing

    def _copied(self, node: TextNode, margin: str) -> str:
        """A node's text; its further lines are indented along with its first line."""
        first, *more = self._text[node.start : node.end].split("\n")
        old = _margin_at(self._text, node.start)
        return "\n".join([first, *(margin + line.removeprefix(old) if line.startswith(old) else line for line in more)])

    def _scalar(self, value: Any, node: TextNode | None) -> str:
        if self._style.is_json:
            return emit_double_quoted(value) if isinstance(value, str) else emit_flow_scalar(value)
        like = self._text[node.start : node.end] if node is not None and node.form is Form.SCALAR else ""
        return emit_flow_scalar(value, like)


Reader = Callable[[str], Any]
DASH: Final = "-"
_ANCHOR: Final = re.compile(r"&[^\s,\[\]{}]+")


class BlockWriter:
    """Writes one document."""

    def __init__(self, text: str, style: Style, sources: EntrySources, reader: Reader | None = None) -> None:
        """`sources` knows where a value comes from; a `reader` reads each entry back, and one that says another value is written anew."""
        self._text = text
        self._style = style
        self._sources = sources
        self._reader = reader
        self._flow = FlowWriter(text, style, sources)
        self._comments = AttachedComments(text, sources)

    def children(self, value: Any, path: Path, column: int) -> list[str]:
        """The lines of a map or list that isn't empty, its keys or dashes in a column."""
        lines: list[str] = []
        if isinstance(value, list):
            for index, item in enumerate(value):
                lines += self._checked(None, item, (*path, index), column)
            return lines
        for key in self._sources.order(value, path):
            lines += self._checked(key, value[key], (*path, key), column)
        return lines

    def _checked(self, key: str | None, value: Any, path: Path, column: int) -> list[str]:
        lines = self._member(key, value, path, column)
        wanted = [value] if key is None else {key: value}
        if self._reader is None or is_same_json(self._reader("\n".join(lines)), wanted):
            return lines
        return [shift_line(line, column) for line in emit_yaml(wanted).removesuffix("\n").split("\n")]

    def _member(self, key: str | None, value: Any, path: Path, column: int) -> list[str]:
        """The lines of one entry with the comments that belong to it."""
        source = self._sources.find(path)
        if source is None:
            return self._new(key, value, path, column)
        node = self._sources.node_of(source)
        lead = self._comments.above(source, column)
        if self._sources.copies(node, value):
            lines = self._copied(key, source, node, column)
        elif isinstance(value, (dict, list)) and value and not (node.form is Form.FLOW and node.data):
            lines = self._nested(key, value, path, column, source, node)
        else:
            lead += self._comments.inside(source, node, key, column) if node.form is Form.BLOCK else []
            lines = self._inline(key, value, path, column, source, node)
        return [*lead, *self._comments.waiting(source, column), *lines]

    def _prefix(self, key: str | None, source: TextEntry | None, column: int) -> str:
        """The dash, or the key with its colon, as it was written where it is the same."""
        if key is None:
            return " " * column + DASH
        written = source is not None and source.key == key and source.last
        return " " * column + (self._text[source.start : source.mark] if source is not None and written else format_key(key) + ":")

    def _new(self, key: str | None, value: Any, path: Path, column: int) -> list[str]:
        prefix = self._prefix(key, None, column)
        if isinstance(value, (dict, list)) and value:
            return _joined(prefix, "", self.children(value, path, self._column(key, value, column)), column)
        return _scalar(prefix, value, "", column)

    def _column(self, key: str | None, value: Any, column: int) -> int:
        """The column of a new block below an entry."""
        if key is None:
            return column + 2
        return column + (self._style.dash if isinstance(value, list) else self._style.step)

    def _column_like(self, key: str | None, source: TextEntry, node: TextNode, column: int, value: Any) -> int:
        """Chooses where a block below an entry begins: as far to the right as it was, where it was the same kind of block."""
        was = node.column - source.column
        alike = node is source.node and (source.key is None) is (key is None) and isinstance(value, dict) is isinstance(node.data, dict)
        if alike and node.form is Form.BLOCK and (was > 0 or (key is not None and isinstance(value, list))):
            return column + was
        return self._column(key, value, column)

    def _copied(self, key: str | None, source: TextEntry, node: TextNode, column: int) -> list[str]:
        """An entry whose value is unchanged, with all comments in it."""
        own = node is source.node and source.last > 0
        if own and source.key == key:
            self._comments.mark_written(source)
            first, *more = self._text[source.start : source.last].split("\n")
            return [" " * column + first, *(shift_line(line, column - source.column) for line in more)]
        prefix = self._prefix(key, source, column)
        if node.form is Form.BLOCK:
            to = self._column_like(key, source, node, column, node.data)
            below = self._block_of(source, node, to)
            behind = self._comments.behind(source, node, key)
            self._comments.mark_written(source)
            return _joined(prefix, behind, below, column)
        behind = "" if own else self._comments.behind(source, node, key)
        self._comments.mark_written(source)
        first, *more = self._text[node.start : max(source.last, find_line_end(self._text, node.end)) if own else node.end].split("\n")
        gap = self._gap(source, node) if key is not None else " "
        behind = "" if more else behind
        return [prefix + (gap + first if first else "") + behind, *(shift_line(line, column - source.column) for line in more)]

    def _gap(self, source: TextEntry, node: TextNode) -> str:
        """The blanks between a colon and its value."""
        gap = self._text[source.mark : node.start] if node is source.node else ""
        return gap if gap and not gap.strip(" ") else " "

    def _block_of(self, source: TextEntry, node: TextNode, column: int) -> list[str]:
        """The lines of a node's block, moved to a column."""
        first = node.entries[0]
        start = find_line_start(self._text, first.start)
        lead = self._text[first.first : start - 1].split("\n") if first.first < start else []
        opening, *more = self._text[first.start : source.last if node is source.node else node.entries[-1].last].split("\n")
        columns = column - node.column
        return [*(shift_line(line, columns) for line in lead), " " * column + opening, *(shift_line(line, columns) for line in more)]

    def _nested(self, key: str | None, value: Any, path: Path, column: int, source: TextEntry, node: TextNode) -> list[str]:
        """A map or list that has changed somewhere inside. Raises: UnsureError for a merge key that would have to be written out."""
        if self._sources.trusts_aliases and len(node.by_key) > len(node.entries):
            raise UnsureError
        to = self._column_like(key, source, node, column, value)
        anchor = self._anchor(node) if key is None else ""  # after a key it is part of the entry's line
        behind = anchor + self._comments.behind(source, node, key)
        below = self.children(value, path, to)
        moved = to - node.column if node.form is Form.BLOCK else column - source.column
        prefix = self._prefix(key, source, column)
        lines = [prefix + behind, *below] if anchor else _joined(prefix, behind, below, column)
        return [*lines, *self._comments.below(source, node, moved)]

    def _anchor(self, node: TextNode) -> str:
        """The anchor of a value behind a blank; "" where it has none, or aliases are written out."""
        match = _ANCHOR.match(self._text, node.start, node.end) if self._sources.keeps_aliases else None
        return f" {match[0]}" if match else ""

    def _inline(self, key: str | None, value: Any, path: Path, column: int, source: TextEntry, node: TextNode) -> list[str]:
        """A value on the line of its key: a changed scalar, or a map or list in brackets."""
        prefix = self._prefix(key, source, column)
        behind = self._comments.behind(source, node, key)
        tail = self._comments.below(source, node, column - source.column)
        anchor = self._anchor(node)
        if isinstance(value, (dict, list)) and value:
            text = self._flow.format_value(value, path, node, " " * column)
            return [*(prefix + anchor + " " + text + behind).split("\n"), *tail]
        prefix += anchor
        scalar = node.form is Form.SCALAR
        like = self._text[node.start : node.end] if scalar else ""
        return [*_scalar(prefix, value, behind, column, like, self._gap(source, node) if scalar else " "), *tail]


def _scalar(prefix: str, value: Any, behind: str, column: int, like: str = "", gap: str = " ") -> list[str]:
    first, *more = format_scalar(value, like)
    return [prefix + gap + first + ("" if more else behind), *(shift_line(line, column) for line in more)]


def _joined(prefix: str, behind: str, below: list[str], column: int) -> list[str]:
    """An entry's first line and the lines of its block; the first key of a list item is on the line of the dash."""
    if prefix.strip(" ") != DASH:
        return [prefix + behind, *below]
    opening = next(index for index, line in enumerate(below) if line.strip() and not line.lstrip().startswith("#"))
    first = below[opening]
    indent = len(first) - len(first.lstrip(" "))
    joined = prefix + " " * max(indent - column - 1, 1) + first.lstrip(" ")
    above = [shift_line(line, column - indent) for line in below[:opening]]
    if behind.strip() and " #" not in joined and not joined.endswith(("|", ">", "-", "+")):
        joined += behind
    elif behind.strip():
        above.append(" " * column + behind.strip())
    return [*above, joined, *below[opening + 1 :]]
