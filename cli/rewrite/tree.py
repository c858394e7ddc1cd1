"""Tree of a text: values with their spans, and the lines of entries with their own comments."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ...api.paths import Path


class Form(Enum):
    """Form of a written value."""

    SCALAR = "scalar"
    BLOCK = "block"  # a map or list by indentation
    FLOW = "flow"  # a map or list in brackets
    ALIAS = "alias"


@dataclass(slots=True)
class TextNode:
    """One value. Offsets count characters of the text; `end` is behind the last character that belongs to it, comments never do."""

    data: Any
    form: Form
    start: int
    end: int
    column: int = 0  # of the keys or dashes of a block
    entries: list[TextEntry] = field(default_factory=list)
    by_key: dict[str, TextEntry] = field(default_factory=dict)  # those that a merge key brings in too
    known: bool = True  # whether its entries are all that it consists of
    local: bool = True  # whether it can be moved: no anchors, aliases and merge keys
    stands_for: TextNode | None = None


@dataclass(slots=True)
class TextEntry:
    """A key with its value, or an item of a list. In a block `first` to `last` are its lines, with the comments that are its own."""

    key: str | None
    node: TextNode
    start: int  # of the key or the dash
    mark: int  # behind the colon or the dash
    column: int = 0
    first: int = 0  # where its lines begin: comments and blank lines above it are its own
    last: int = 0  # the end of its last line, without the line's end


def resolve_alias(node: TextNode) -> TextNode:
    """The value that an alias refers to; any other is itself."""
    return node.stands_for if node.stands_for is not None else node


def find_entry(root: TextEntry, path: Path) -> TextEntry | None:
    """The entry at a path below a root; None where there is none."""
    entry: TextEntry | None = root
    for step in path:
        if entry is None:
            return None
        node = resolve_alias(entry.node)
        if isinstance(step, int):
            items = node.entries if isinstance(node.data, list) else []
            entry = items[step] if 0 <= step < len(items) else None
        else:
            entry = node.by_key.get(step)
    return entry


def is_same_json(item: Any, other: Any) -> bool:
    """Whether two values are the same in JSON: the order of keys is nothing, true is not 1."""
    if isinstance(item, dict):
        return (
            isinstance(other, dict) and item.keys() == other.keys() and all(is_same_json(value, other[key]) for key, value in item.items())
        )
    if isinstance(item, list):
        return isinstance(other, list) and len(item) == len(other) and all(map(is_same_json, item, other))
    return bool(item == other and isinstance(item, bool) is isinstance(other, bool))


def find_line_start(text: str, offset: int) -> int:
    """The offset at which the line of an offset begins."""
    return text.rfind("\n", 0, offset) + 1


def find_line_end(text: str, offset: int) -> int:
    """Finds the end of the line of an offset, before the line feed."""
    end = text.find("\n", offset)
    return end if end >= 0 else len(text)


def shift_line(line: str, columns: int) -> str:
    """A line moved to the right, or to the left as far as blanks allow."""
    if columns >= 0:
        return " " * columns + line if line else line
    blank = len(line) - len(line.lstrip(" "))
    return line[min(-columns, blank) :]


def assign(text: str, root: TextEntry) -> None:
    """Gives each entry below a block its lines. Comments above the first entry of a document and behind its last stay where they are."""
    node = root.node
    root.first = find_line_start(text, node.entries[0].start)
    root.last = _deeper(text, find_line_end(text, node.end), len(text), node.column)
    _assign(text, root)


def _assign(text: str, above: TextEntry) -> None:
    entries = above.node.entries
    head = find_line_end(text, above.mark)
    opening = entries[0]
    opening.first = opening.start if opening.start <= head else _comments(text, head + 1, find_line_start(text, opening.start))
    if above.key is None and above.start == above.node.start:
        opening.first = above.first  # the root
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        end = find_line_end(text, entry.node.end)
        limit = find_line_start(text, following.start) - 1 if following else above.last
        entry.last = _deeper(text, end, limit, entry.column)
        if following:
            following.first = _comments(text, entry.last + 1, find_line_start(text, following.start))
        if entry.node.form is Form.BLOCK and entry.node.entries:
            _assign(text, entry)


def _comments(text: str, start: int, end: int) -> int:
    """The first line of the comments directly above an entry, separated by blank lines at most; a merge key may have them above it."""
    begin = end
    while begin > start:
        above = find_line_start(text, begin - 1)
        line = text[above:begin].strip()
        if line and not line.startswith("#"):
            break
        begin = above
    return min(begin, end)


def _deeper(text: str, end: int, limit: int, column: int) -> int:
    """The end of the last line, before the limit, of comments that are indented deeper than a column; `end` where there is none."""
    last = end
    while end < limit:
        start, end = end + 1, min(find_line_end(text, end + 1), limit)
        line = text[start:end]
        stripped = line.lstrip(" \t")
        if stripped.startswith("#") and len(line) - len(stripped) > column:
            last = end
        elif stripped.strip():
            break
    return last
