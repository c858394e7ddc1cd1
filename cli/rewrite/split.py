"""Texts as files hold them: split into documents, so that the others stay byte for byte. Writing a changed one is cli/rewrite's."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..yaml.load import Document, InputError, Source, read_text

_MARKER: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_HEAD: Final = re.compile(r"(?:---[ \t]*(?:#.*)?\r?\n|[ \t]*(?:[#%].*)?\r?\n)*")


class Piece(NamedTuple):
    """A part of a text: its documents, and its layout."""

    text: str
    documents: list[Document]
    errors: list[InputError]
    line: int  # where it begins in the file, from 1


def split_documents(name: str, text: str) -> Iterator[Piece]:
    """Splits a text at its `---` lines; joined again the pieces are the text, whatever it is."""
    starts = [0, *(match.start() for match in _MARKER.finditer(text) if match.start()), len(text)]
    line, begin = 1, 0
    for end in starts[1:]:
        part = text[begin:end]
        if "%" in part and end < len(text) and _HEAD.fullmatch(part):
            continue  # directives belong to the document behind the marker
        begin = end
        found = list(read_text(Source(name, part))) if part.strip() else []
        errors = [one for one in found if isinstance(one, InputError)]
        for error in errors:
            error.line += line - 1 if error.line else 0
        yield Piece(part, [one for one in found if isinstance(one, Document)], errors, line)
        line += part.count("\n")
