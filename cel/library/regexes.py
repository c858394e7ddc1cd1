"""Regular expressions in texts."""

from itertools import islice

from ..errors import EvaluationError
from ..frame import Frame
from ..overloads import function, method
from ..regex.machine import Regex, compile_regex
from ..regex.syntax import RegexError


def _regex(frame: Frame, pattern: str, text: str) -> Regex:
    """Returns the machine of a pattern, and charges the cost of reading the pattern and searching the text."""
    frame.spend(len(pattern))
    try:
        machine = compile_regex(pattern)
    except RegexError as wrong:
        raise EvaluationError(f"error parsing regexp: {wrong}") from None
    frame.spend((1 + len(text)) * len(machine) // 2)
    return machine


@method("find", str, str, metered=True)
def _find(frame: Frame, text: str, pattern: str) -> str:
    span = _regex(frame, pattern, text).find(text)
    return "" if span is None else text[slice(*span)]


@function("matches", str, str, metered=True)
@method("matches", str, str, metered=True)
def _matches(frame: Frame, text: str, pattern: str) -> bool:
    return _regex(frame, pattern, text).matches(text)


@method("findAll", str, str, metered=True)
@method("findAll", str, str, int, metered=True)
def _find_all(frame: Frame, text: str, pattern: str, most: int = -1) -> list[str]:
    machine = _regex(frame, pattern, text)
    frame.spend((1 + len(text)) * (1 + len(text)) * len(machine) // 16)  # each search may read to the end and begin anew a character later
    return [*islice(machine.find_all(text), most if most >= 0 else None)]
