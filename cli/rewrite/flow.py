"""How a file is written, and maps and lists in brackets like that, JSON among them: on one line or a line for each entry, as they were."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...api.paths import Path
from .align import Sources
from .emit import emit_double_quoted, emit_flow_scalar
from .tree import Entry, Form, Node, line_start, resolve_alias


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


def _margin_at(text: str, offset: int) -> str:
    """The blanks that the line of an offset begins with."""
    start = line_start(text, offset)
    line = text[start:offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _is_broken(text: str, node: Node) -> bool:
    """Whether the first entry in brackets begins a line."""
    return bool(node.entries) and "\n" in text[node.start : node.entries[0].start]


def _margin_of(text: str, node: Node, otherwise: str) -> str:
    """The indentation of the entries of a map or list in brackets, relative to its first line."""
    outer, inner = _margin_at(text, node.start), _margin_at(text, node.entries[0].start)
    return inner[len(outer) :] if inner.startswith(outer) and len(inner) > len(outer) else otherwise


def _brackets(text: str, root: Node, step: int) -> tuple[str, bool, str, str]:
    if root.form is not Form.FLOW or not root.entries:
        return " " * step, False, " ", " "
    broken = _is_broken(text, root)
    first = root.entries[0]
    colon = text[first.mark : first.node.start] if first.key is not None else " "
    comma = _blank_behind_comma(text, root)
    return _margin_of(text, root, " " * step), broken, "" if colon == "" else " ", comma if comma is not None else (" " if colon else "")


def _blank_behind_comma(text: str, node: Node) -> str | None:
    """What separates the first two entries on one line behind their comma; None where no line shows it."""
    if len(node.entries) < 2 or _is_broken(text, node):
        return None
    between = text[node.entries[0].node.end : node.entries[1].start]
    blank = between.partition(",")[2]
    return blank if not blank.strip(" \t") else None


class Flow:
    """Writes values in brackets."""

    def __init__(self, text: str, style: Style, sources: Sources) -> None:
        self._text = text
        self._style = style
        self._sources = sources

    def written(self, value: Any, path: Path, node: Node | None, margin: str, *, broken: bool | None = None) -> str:
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

    def _part(self, value: Any, step: Any, path: Path, like: Node | None, inner: str, broken: bool) -> str:
        source = self._sources.find((*path, step))
        text = self.written(value[step], (*path, step), source.node if source else None, inner, broken=broken)
        if isinstance(step, int):
            return text
        return self._key(step, source) + self._colon(like) + text

    def _key(self, key: str, source: Entry | None) -> str:
        if self._style.is_json:
            return emit_double_quoted(key)
        if source is not None and source.key == key:
            return self._text[source.start : source.mark].rstrip(": \t")
        return emit_flow_scalar(key)

    def _colon(self, like: Node | None) -> str:
        first = like.entries[0] if like is not None else None
        gap = self._text[first.mark : first.node.start] if first is not None and first.key is not None else self._style.colon
        return ":" + (gap if gap in ("", " ") and (self._style.is_json or gap) else " ")

    def _bracketed(self, parts: list[str], value: Any, like: Node | None, broken: bool, margin: str, inner: str) -> str:
        opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
        if broken:
            return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{margin}{closing}"
        blank = _blank_behind_comma(self._text, like) if like is not None else None
        pad = self._text[like.start + 1 : like.entries[0].start] if like is not None and like.known else ""
        pad = pad if not pad.strip(" ") else ""
        return opening + pad + ("," + (self._style.comma if blank is None else blank)).join(parts) + pad + closing

    def _copied(self, node: Node, margin: str) -> str:
        """A node's text; its further lines are indented along with its first line."""
        first, *more = self._text[node.start : node.end].split("\n")
        old = _margin_at(self._text, node.start)
        return "\n".join([first, *(margin + line.removeprefix(old) if line.startswith(old) else line for line in more)])

    def _scalar(self, value: Any, node: Node | None) -> str:
        if self._style.is_json:
            return emit_double_quoted(value) if isinstance(value, str) else emit_flow_scalar(value)
        like = self._text[node.start : node.end] if node is not None and node.form is Form.SCALAR else ""
        return emit_flow_scalar(value, like)
