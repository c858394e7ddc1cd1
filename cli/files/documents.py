"""The documents of one file, or what keeps them from being read; and the values of their placeholders, which may be secrets."""

# ruff: noqa: PTH110, PTH118, PTH120 - pathlib takes longer to import than a small file takes to check

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ...api.kinds import GROUP
from ...api.wording import shorten
from ..console.exits import UsageError
from ..yaml.errors import ForeignInputError, InputError
from ..yaml.load import Document, Source, read_text
from ..yaml.substitute import NAME, Fill
from .find import CHART
from .read import STDIN, folders_above, load_text

_TEMPLATE: Final = r"(?m)^[ \t]*(?:- +)*(?:[\w./-]+: +)?(\{\{[^\n]*?\}\})"  # where a value begins, not inside of quotes


def read_documents(
    file: str | Source | InputError, stdin_name: str, *, lenient: bool = False, fill: Fill | None = None
) -> Iterable[Document | InputError]:
    """Reads the documents of a file, or of a text that never was one; what can't be read is an error in its place.

    `lenient`: an error in a file that names our group nowhere is a ForeignInputError. `fill` has values for placeholders.
    """
    if isinstance(file, InputError):
        return [file]
    if isinstance(file, Source):
        return _read(Source(file.name, file.text, fill))
    name = stdin_name if file == STDIN and stdin_name else file
    try:
        text = load_text(file, name)
    except InputError as error:
        return [error]
    found = _read(Source(name, text, fill))
    return map(_foreign, found) if lenient and GROUP not in text and file != STDIN else found


def _read(source: Source) -> Iterator[Document | InputError]:
    """The documents of a text; what can't be read of a template is one error, however many there are."""
    told = asked = False
    template: re.Match[str] | None = None
    for one in read_text(source):
        if isinstance(one, InputError) and not asked:  # once, because a file may hold thousands of broken documents
            template, asked = re.search(_TEMPLATE, source.text), True
        if not isinstance(one, InputError):
            yield one
        elif template is None:
            one.text = one.text if source.fill is None else source.fill.masked(one.text, source.text)
            yield one
        elif not told:
            told = True
            line = source.text.count("\n", 0, template.start(1)) + 1
            text = f"is a template ({shorten(template[1], 60)} on line {line})"
            above = folders_above(os.path.dirname(source.name))
            if chart := next((folder for folder in above if folder and os.path.exists(os.path.join(folder, CHART))), ""):
                passed = f"{text} of a Helm chart, and is skipped; check its output with check --helm {chart}"
                yield ForeignInputError(passed, one.name, one.line, one.column)
            else:
                yield InputError(f"{text}; render it first, for example with --helm DIR", one.name, one.line, one.column)


def _foreign(found: Document | InputError) -> Document | InputError:
    """What a file gives that names our group nowhere: a document of others that can't be read is no failure."""
    return ForeignInputError.of(found) if isinstance(found, InputError) and not isinstance(found, ForeignInputError) else found


def parse_values(settings: Sequence[str], files: Sequence[str]) -> Fill | None:
    """The values of `--set` over those of files, later ones over earlier; None where none were given. Raises: UsageError with the place."""
    if not settings and not files:
        return None
    values: dict[str, str] = {}
    for file in files:
        values |= _of_file(file)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not re.fullmatch(NAME, name):
            shown = f"--set {name[:80]!a}" if equals else "--set"  # without a name it may be the value
            raise UsageError(f"{shown}: must be NAME=VALUE, with a name of letters, digits and _")
        values[name] = _usable(value, f"--set {name}")
    return Fill(values)


def _of_file(file: str) -> dict[str, str]:
    try:
        text = load_text(file)
    except InputError as error:
        raise UsageError(f"--env-file {error}") from None
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip().removeprefix("export ").lstrip()
        if not words or words.startswith("#"):
            continue
        name, equals, value = words.partition("=")
        if not equals or not re.fullmatch(NAME, name):
            raise UsageError(f"--env-file {file}:{number}: must be NAME=VALUE, with a name of letters, digits and _")
        values[name] = _usable(_unquoted(value.strip()), f"--env-file {file}:{number}")
    return values


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _usable(value: str, place: str) -> str:
    if not value.isprintable() and any(ord(character) < 32 and character not in "\t\n" for character in value):
        raise UsageError(f"{place}: the value must hold no control characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{place}: the value must be UTF-8") from None
    return value
