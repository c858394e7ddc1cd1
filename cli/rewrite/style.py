"""How a file is written: what new text beside its own should look like."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from .lines import line_start
from .tree import Entry, Form, Node


class Style(NamedTuple):
    """Habits of a text. `step` and `dash` are columns: of a map, and of a list's dashes, to the right of their key."""

    step: int
    dash: int
    margin: str  # what a line in brackets is indented by, deeper than the line around it
    broken: bool  # whether maps and lists in brackets take a line for each entry
    colon: str
    comma: str
    is_json: bool


def style_of(text: str, root: Entry, *, is_json: bool) -> Style:
    """What most of the text does; where it shows nothing, two columns a step."""
    steps: Counter[int] = Counter()
    dashes: Counter[int] = Counter()
    for entry in _entries(root.node):
        node = entry.node
        if node.form is Form.BLOCK and entry.key is not None:
            (steps if isinstance(node.data, dict) else dashes)[node.column - entry.column] += 1
    step = max(_most(steps, 2), 1)
    margin, broken, colon, comma = _brackets(text, root.node, step)
    return Style(step, max(_most(dashes, step if step == 2 else 0), 0), margin, broken, colon, comma, is_json)


def _entries(node: Node) -> Iterator[Entry]:
    for entry in node.entries:
        yield entry
        yield from _entries(entry.node)


def _most(counted: Counter[int], otherwise: int) -> int:
    """The most frequent; of equally frequent ones the smaller."""
    return min(counted, key=lambda one: (-counted[one], one)) if counted else otherwise


def margin_at(text: str, offset: int) -> str:
    """The blanks that the line of an offset begins with."""
    start = line_start(text, offset)
    line = text[start:offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def is_broken(text: str, node: Node) -> bool:
    """Whether the first entry in brackets begins a line."""
    return bool(node.entries) and "\n" in text[node.start : node.entries[0].start]


def margin_of(text: str, node: Node, otherwise: str) -> str:
    """The indentation of the entries of a map or list in brackets, relative to its first line."""
    outer, inner = margin_at(text, node.start), margin_at(text, node.entries[0].start)
    return inner[len(outer) :] if inner.startswith(outer) and len(inner) > len(outer) else otherwise


def _brackets(text: str, root: Node, step: int) -> tuple[str, bool, str, str]:
    if root.form is not Form.FLOW or not root.entries:
        return " " * step, False, " ", " "
    broken = is_broken(text, root)
    first = root.entries[0]
    colon = text[first.mark : first.node.start] if first.key is not None else " "
    comma = blank_behind_comma(text, root)
    return margin_of(text, root, " " * step), broken, "" if colon == "" else " ", comma if comma is not None else (" " if colon else "")


def blank_behind_comma(text: str, node: Node) -> str | None:
    """What separates the first two entries on one line behind their comma; None where no line shows it."""
    if len(node.entries) < 2 or is_broken(text, node):
        return None
    between = text[node.entries[0].node.end : node.entries[1].start]
    blank = between.partition(",")[2]
    return blank if not blank.strip(" \t") else None
