"""Adds flags to a user's command: after a Python program's arguments, or in a shell line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from ...conversion.lens.protocol import Fields
from .framework import SEPARATORS

_INTERPRETER: Final = re.compile(r"(?:.*/)?python[0-9.]*")
# the second line: characters that end a command in a shell, which the Go operator doesn't quote
_NEEDS_QUOTES: Final = re.compile(r"[ \t\n'\"\\{}\[\]$!`]" r"|[&|;()<>]")
_PYTHON: Final = re.compile(r"python[0-9.]*")
_ESCAPED: Final = re.compile(r'([\\"$`])')


def is_python(container: Fields) -> bool:
    """Whether a container's command is a Python interpreter."""
    command: list[Any] = container.get("command") or []
    return bool(command) and _INTERPRETER.fullmatch(str(command[0])) is not None


def add_flags(container: Fields, flags: str, framework: str, *, shell: bool = False) -> None:
    """Add flags to the call of a framework in a container, in place, if there is one.

    With `shell` the flags need a shell, so a Python command is wrapped in one.
    """
    if not is_python(container):
        container["args"] = _inserted([str(one) for one in container.get("args") or ()], flags, framework)
    elif shell:
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        container["command"] = ["sh", "-c"]
        container["args"] = [f"exec {join_shell(words)} {flags}"]
    else:
        container["args"] = [*(container.get("args") or ()), *flags.split()]


def join_shell(words: Sequence[object]) -> str:
    """Words as a shell line."""
    return " ".join(quote_word(str(one)) for one in words)


def quote_word(word: str) -> str:
    """A word for a shell, in double quotes if needed.

    Apostrophes stay unchanged; the Go operator adds one, which no shell can read.
    """
    if word and not _NEEDS_QUOTES.search(word):
        return word
    escaped = _ESCAPED.sub(r"\\\1", word)
    return f'"{escaped}"'


def quote_line(line: str) -> str:
    """A shell line as one single-quoted word."""
    return "'" + line.replace("'", "'\"'\"'") + "'"


def flag_value(container: Fields, flag: str) -> int:
    """The number after a flag in a container's arguments; 1 if absent or invalid. `--flag=value` isn't read."""
    words = " ".join(str(one) for one in container.get("args") or ()).split()
    for name, value in pairwise(words):
        if name == flag:
            return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else 1
    return 1


def has_flag(container: Fields, flag: str) -> bool:
    """Whether a container's arguments have a flag."""
    return flag in " ".join(str(one) for one in container.get("args") or ()).split()


def _inserted(args: list[str], flags: str, framework: str) -> list[str]:
    """The arguments with flags added to every call of the framework in the first argument that has one."""
    for index, text in enumerate(args):
        changed = "".join(_called(command, flags, framework) for command in SEPARATORS.split(text))
        if changed != text:
            return [*args[:index], changed, *args[index + 1 :]]
    return args


def _called(command: str, flags: str, framework: str) -> str:
    """A command with flags after the last word that names the framework, if a Python interpreter precedes it."""
    python = _PYTHON.search(command)
    words = re.compile(rf"(?:\b|(?<=\s-m))dynamo\.{re.escape(framework)}\S*")
    ends = [found.end() for found in words.finditer(command, python.end())] if python else []
    return f"{command[: ends[-1]]} {flags}{command[ends[-1] :]}" if ends else command
