"""Texts as files hold them: split into documents so that all but the converted ones stay byte for byte, and converted ones written anew.

How YAML is read, cli/yaml says; a text that is written here is read back there as the same values.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from cli.yaml.load import Document, InputError, Source, read
from cli.yaml.scalars import ScalarError, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKER: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_HEAD: Final = re.compile(r"(?:---[ \t]*(?:#.*)?\r?\n|[ \t]*(?:[#%].*)?\r?\n)*")
_COMMENT: Final = re.compile(r"(?:^|\s)#")


_LINE_ENDS: Final = re.compile("[\u0085\u2028\u2029]")
_UNFOLDED: Final = 2**31  # columns: lines stay as long as their texts


class Piece(NamedTuple):
    """A part of a text: what it holds, and how the text looks."""

    text: str
    documents: list[Document]
    errors: list[InputError]
    line: int  # where it begins in the file, from 1

    @property
    def is_json(self) -> bool:
        """Whether it is written as JSON."""
        return self.body.lstrip()[:1] in ("{", "[")

    @property
    def head(self) -> str:
        """The marker, comments and blank lines above the document; they stay whatever becomes of it."""
        found = _HEAD.match(self.text)
        return found[0] if found else ""

    @property
    def marker(self) -> str:
        """The marker of a document that begins on the marker's own line, and so is no part of the head."""
        return "---" if self.text.startswith("---") and not self.head else ""

    @property
    def body(self) -> str:
        """The document itself."""
        return self.text[len(self.head or self.marker) :]

    @property
    def loses_comments(self) -> bool:
        """Whether writing the document anew would lose comments; a `#` inside a text counts too, since only a parser could tell."""
        return not self.is_json and _COMMENT.search(self.body) is not None


def pieces(name: str, text: str) -> Iterator[Piece]:
    """Splits a text at its `---` lines; joined again the pieces are the text, whatever it is."""
    starts = [0, *(match.start() for match in _MARKER.finditer(text) if match.start()), len(text)]
    line, begin = 1, 0
    for end in starts[1:]:
        part = text[begin:end]
        if "%" in part and end < len(text) and _HEAD.fullmatch(part):
            continue  # directives belong to the document behind the marker
        begin = end
        found = list(read(Source(name, part))) if part.strip() else []
        errors = [one for one in found if isinstance(one, InputError)]
        for error in errors:
            error.line += line - 1 if error.line else 0
        yield Piece(part, [one for one in found if isinstance(one, Document)], errors, line)
        line += part.count("\n")


def written(piece: Piece, values: list[Any]) -> str:
    """The piece with other values in its documents: head and format stay, JSON is indented by two."""
    head = piece.head or (f"{piece.marker}\n" if piece.marker else "")
    if piece.is_json:
        return head + "".join(json_text(value) for value in values)
    newline = "\r\n" if "\r\n" in piece.text else "\n"
    return head + "---\n".join(yaml_text(value) for value in values).replace("\n", newline)


def json_text(value: Any) -> str:
    """Indented JSON with a final newline, text as it is."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def yaml_text(value: Any) -> str:
    """Block style YAML that Kubernetes reads as the very same value."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_UNFOLDED, default_flow_style=False)


class _Dumper(yaml.SafeDumper):
    """Quotes what Kubernetes would read as something else than text, and repeats values instead of making anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - as above
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text and _is_block(text) else '"' if _means_else(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _is_block(text: str) -> bool:
    """Whether a text of several lines can stand as a literal block: no odd characters, and no blanks at the ends of lines."""
    return all(line.isprintable() and line == line.rstrip() for line in text.split("\n")) and not text.startswith((" ", "\n"))


def _means_else(text: str) -> bool:
    """Whether the text must be in double quotes: plain it would be a number or so, or hold what YAML takes for the end of a line."""
    if _LINE_ENDS.search(text):
        return True
    try:
        return plain(text) is not text
    except ScalarError:
        return True


_Dumper.add_representer(str, _represent_text)
