"""The values that placeholders of files are given, which may be secrets."""

import re
from collections.abc import Sequence
from typing import Any

from ..console.exits import UsageError
from ..yaml.errors import InputError
from ..yaml.load import load_documents
from ..yaml.substitute import NAME, Fill
from .read import load_text


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
    return Fill(values, _read_block)


def _read_block(text: str) -> Any:
    """The data of one document. Raises: InputError, ValueError."""
    [document] = load_documents(text)
    return document.data


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
        raise UsageError(f"{place}: the value must not contain control characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{place}: the value must be UTF-8") from None
    return value
