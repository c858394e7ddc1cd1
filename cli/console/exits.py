"""The exit codes, which are published and only ever added to, and their precedence; the error that means wrong usage."""

from collections.abc import Iterable
from typing import Final

OK: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
NOTHING_FOUND: Final = 3
UNREADABLE: Final = 4
NOT_EVALUATED: Final = 5
UNREACHABLE: Final = 6
BUG: Final = 70
INTERRUPTED: Final = 130

NO_OBJECT: Final = "no Dynamo object (group nvidia.com) found; --allow-empty accepts that"  # the sentence of NOTHING_FOUND

_PRECEDENCE: Final = (BUG, USAGE, UNREACHABLE, UNREADABLE, REFUSED, NOT_EVALUATED, NOTHING_FOUND, OK)


class UsageError(Exception):
    """A flag, an argument or a configuration file that can't be used; the text is one sentence that names it."""


def refuse(*mistakes: tuple[object, str]) -> None:
    """Raises: UsageError with the sentence of the first mistake that was made."""
    for made, sentence in mistakes:
        if made:
            raise UsageError(sentence)


def worst_code(codes: Iterable[int]) -> int:
    """The code that the process ends with when several things happened; 0 when nothing did."""
    happened = set(codes)
    return next((code for code in _PRECEDENCE if code in happened), OK)
