"""Rewords argparse's errors: the requirement, the value seen, the fix."""

import re
from typing import Final

from .nearest import did_you_mean

_REQUIRED: Final = re.compile(r"the following arguments are required: (.+)")
_CHOICE: Final = re.compile(r"argument (\S+): invalid choice: (.+?) \(choose from (.+)\)")
_VALUE: Final = re.compile(r"argument (\S+): expected (?:one|at least one) argument")
_NUMBER: Final = re.compile(r"argument (\S+): invalid (int|float) value: '?(.*?)'?")
_KINDS_OF_NUMBER: Final = {"int": "a whole number", "float": "a number"}
_OTHER: Final = re.compile(r"argument (\S+): (.+)")


def reword_argparse_error(message: str, called: str) -> str:
    """One sentence for people; `called` is the command whose help says more."""
    if found := _REQUIRED.fullmatch(message):
        return f"{found[1]} must be given; {called} --help says more"
    if found := _CHOICE.fullmatch(message):
        seen, known = found[2].strip("'"), [word.strip(" '") for word in found[3].split(",")]
        return f"{_flag(found[1])} must be one of {', '.join(known)}, got {seen}{did_you_mean(seen, known)}"
    if found := _VALUE.fullmatch(message):
        return f"{_flag(found[1])} must be followed by a value; {called} --help says which"
    if found := _NUMBER.fullmatch(message):
        return f"{_flag(found[1])} must be {_KINDS_OF_NUMBER[found[2]]}, got {found[3]}"
    if found := _OTHER.fullmatch(message):
        return f"{_flag(found[1])}: {found[2]}"
    return message


def _flag(names: str) -> str:
    """The longest of a flag's names: `-o/--output` is `--output`."""
    return max(names.split("/"), key=len)
