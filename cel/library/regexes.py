"""Regular expressions in texts."""

from itertools import islice

from ..errors import EvaluationError
from ..overloads import function, method
from ..regex.machine import Regex, compile_regex
from ..regex.syntax import RegexError


def _regex(pattern: str) -> Regex:
    try:
        return compile_regex(pattern)
    except RegexError as wrong:
        raise EvaluationError(f"error parsing regexp: {wrong}") from None


def _steps(text: str, pattern: str, *_: int) -> int:
    """The most that a search takes."""
    return (1 + len(text)) * len(_regex(pattern)) // 2


def _all_steps(text: str, pattern: str, *_: int) -> int:
    """A search may read the text to its end and begin anew right behind its first character."""
    return (1 + len(text)) * _steps(text, pattern) // 8


@method("find", str, str, cost=_steps)
def _find(text: str, pattern: str) -> str:
    found = _regex(pattern).find(text)
    return "" if found is None else text[slice(*found)]


function("matches", str, str, cost=_steps)(lambda text, pattern: _regex(pattern).matches(text))
method("matches", str, str, cost=_steps)(lambda text, pattern: _regex(pattern).matches(text))
method("findAll", str, str, cost=_all_steps)(lambda text, pattern: [*_regex(pattern).find_all(text)])
method("findAll", str, str, int, cost=_all_steps)(
    lambda text, pattern, most: [*islice(_regex(pattern).find_all(text), most if most >= 0 else None)]
)
