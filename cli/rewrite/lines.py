"""Lines of a text, and which comments belong to which entry of a block: those above it, beside it, and deeper ones below it."""

from .tree import Entry, Form


def line_start(text: str, offset: int) -> int:
    """Where the line of an offset begins."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Where the line of an offset ends, before the line feed."""
    found = text.find("\n", offset)
    return found if found >= 0 else len(text)


def shift_line(line: str, columns: int) -> str:
    """A line moved to the right, or to the left as far as blanks allow."""
    if columns >= 0:
        return " " * columns + line if line else line
    blank = len(line) - len(line.lstrip(" "))
    return line[min(-columns, blank) :]


def assign(text: str, root: Entry) -> None:
    """Gives each entry below a block its lines. Comments above the first entry of a document and behind its last stay where they are."""
    node = root.node
    root.first = line_start(text, node.entries[0].start)
    root.last = _deeper(text, line_end(text, node.end), len(text), node.column)
    _assign(text, root)


def _assign(text: str, above: Entry) -> None:
    entries = above.node.entries
    head = line_end(text, above.mark)
    opening = entries[0]
    opening.first = opening.start if opening.start <= head else _comments(text, head + 1, line_start(text, opening.start))
    if above.key is None and above.start == above.node.start:
        opening.first = above.first  # the root
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        end = line_end(text, entry.node.end)
        limit = line_start(text, following.start) - 1 if following else above.last
        entry.last = _deeper(text, end, limit, entry.column)
        if following:
            following.first = _comments(text, entry.last + 1, line_start(text, following.start))
        if entry.node.form is Form.BLOCK and entry.node.entries:
            _assign(text, entry)


def _comments(text: str, start: int, end: int) -> int:
    """The first line of the comments directly above an entry, separated by blank lines at most; a merge key may have them above it."""
    found = end
    while found > start:
        above = line_start(text, found - 1)
        line = text[above:found].strip()
        if line and not line.startswith("#"):
            break
        found = above
    return min(found, end)


def _deeper(text: str, end: int, limit: int, column: int) -> int:
    """The end of the last line, before the limit, of comments that are indented deeper than a column; `end` where there is none."""
    found = end
    while end < limit:
        start, end = end + 1, min(line_end(text, end + 1), limit)
        line = text[start:end]
        stripped = line.lstrip(" \t")
        if stripped.startswith("#") and len(line) - len(stripped) > column:
            found = end
        elif stripped.strip():
            break
    return found
