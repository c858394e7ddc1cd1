"""The documents of one file, or what keeps them from being read."""

# ruff: noqa: PTH110, PTH118, PTH120 - pathlib takes longer to import than a small file takes to check

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from ...api.kinds import GROUP
from ...api.wording import shorten
from ..yaml.errors import ForeignInputError, InputError
from ..yaml.load import Document, Source, read_text
from .find import CHART
from .read import STDIN, list_folders_above, load_text

_TEMPLATE: Final = r"(?m)^[ \t]*(?:- +)*(?:[\w./-]+: +)?(\{\{[^\n]*?\}\})"  # where a value begins, not inside of quotes

_DIRECTIVE: Final = re.compile(r"(?:[ \t]*(?:#.*)?\r?\n)*%")  # before the first document


def read_documents(file: str | Source | InputError, stdin_name: str, *, lenient: bool = False) -> Iterable[Document | InputError]:
    """Reads the documents of a file, or of a text that never was one; what can't be read is an error in its place.

    `lenient`: an error in a file that names our group nowhere is a ForeignInputError.
    """
    if isinstance(file, InputError):
        return [file]
    if isinstance(file, Source):
        return _read(Source(file.name, file.text))
    name = stdin_name if file == STDIN and stdin_name else file
    try:
        text = load_text(file, name)
    except InputError as error:
        return [error]
    documents = _read(Source(name, text))
    return map(_foreign, documents) if lenient and GROUP not in text and file != STDIN else documents


def _read(source: Source) -> Iterator[Document | InputError]:
    """The documents of a text; what can't be read of a template is one error, however many there are."""
    reported = searched = False
    template: re.Match[str] | None = None
    ours = GROUP in source.text
    if ours and "%" in source.text and (head := _DIRECTIVE.match(source.text)):
        line = head[0].count("\n") + 1
        yield InputError("must not begin with a directive: kubectl can't read the file", source.name, line, 1)
    for document in read_text(source):
        if isinstance(document, InputError) and not searched:  # once, because a file may hold thousands of broken documents
            template, searched = re.search(_TEMPLATE, source.text), True
        if not isinstance(document, InputError):
            lost = ours and document.data is not None and not isinstance(document.data, dict)
            at = document.position(())
            yield InputError("must be an object: kubectl can't read the file", source.name, at.line, at.column) if lost else document
        elif template is None:
            yield document
        elif not reported:
            reported = True
            line = source.text.count("\n", 0, template.start(1)) + 1
            text = f"is a template ({shorten(template[1], 60)} on line {line})"
            above = list_folders_above(os.path.dirname(source.name))
            if chart := next((folder for folder in above if folder and os.path.exists(os.path.join(folder, CHART))), ""):
                passed = f"{text} of a Helm chart, and is skipped; check its output: helm template {chart} | dynamo-webhooks check -"
                yield ForeignInputError(passed, document.name, document.line, document.column)
            else:
                yield InputError(f"{text}; render it first, for example with helm template", document.name, document.line, document.column)


def _foreign(document: Document | InputError) -> Document | InputError:
    """Marks what a file gives that names our group nowhere as foreign: a document of others that can't be read is no failure."""
    return ForeignInputError.of(document) if isinstance(document, InputError) and not isinstance(document, ForeignInputError) else document
