"""Writes maps and lists in brackets, JSON among them: on one line or a line for each entry, as they were."""

from typing import Any

from ...api.paths import Path
from .align import Sources
from .emit import emit_double_quoted, emit_flow_scalar
from .style import Style, blank_behind_comma, is_broken, margin_at, margin_of
from .tree import Entry, Form, Node, resolve_alias


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
        broken = broken if like is None else is_broken(self._text, like)
        unit = margin_of(self._text, like, self._style.margin) if like is not None and broken else self._style.margin
        inner = margin + unit if broken else margin
        parts = [self._part(value, step, path, like, inner, broken) for step in self._steps(value, path)]
        return self._bracketed(parts, value, like, broken, margin, inner)

    def _steps(self, value: Any, path: Path) -> list[Any]:
        return self._sources.order(value, path) if isinstance(value, dict) else list(range(len(value)))

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
        blank = blank_behind_comma(self._text, like) if like is not None else None
        pad = self._text[like.start + 1 : like.entries[0].start] if like is not None and like.known else ""
        pad = pad if not pad.strip(" ") else ""
        return opening + pad + ("," + (self._style.comma if blank is None else blank)).join(parts) + pad + closing

    def _copied(self, node: Node, margin: str) -> str:
        """A node's text; its further lines are indented along with its first line."""
        first, *more = self._text[node.start : node.end].split("\n")
        old = margin_at(self._text, node.start)
        return "\n".join([first, *(margin + line.removeprefix(old) if line.startswith(old) else line for line in more)])

    def _scalar(self, value: Any, node: Node | None) -> str:
        if self._style.is_json:
            return emit_double_quoted(value) if isinstance(value, str) else emit_flow_scalar(value)
        like = self._text[node.start : node.end] if node is not None and node.form is Form.SCALAR else ""
        return emit_flow_scalar(value, like)
