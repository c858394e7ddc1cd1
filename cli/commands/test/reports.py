"""What `test` prints: the failing cases with the difference of expected and found, a summary, or JSON."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ....api.wording import escape_unprintable
from .verdict import Verdict

FORMAT: Final = 1


def text(verdicts: Iterable[Verdict], *, verbose: bool) -> str:
    """The failing cases; all of them for those who asked."""
    return "".join(f"{escape_unprintable(line)}\n" for one in verdicts if verbose or not one.passed for line in _lines(one))


def _lines(one: Verdict) -> Iterator[str]:
    yield f"ok   {one.case.file}" if one.passed else f"FAIL {one.case.file}: {one.failure}"
    yield from (f"  {line}" for line in one.lines)


def document(verdicts: Sequence[Verdict], code: int) -> dict[str, Any]:
    """Everything as data; fields are only ever added."""
    return {
        "format": FORMAT,
        "cases": [
            {
                "file": one.case.file,
                "sort": one.case.sort,
                "passed": one.passed,
                "failure": one.failure,
                "difference": list(one.lines),
                "notEvaluated": list(one.notes),
            }
            for one in verdicts
        ],
        "summary": {"cases": len(verdicts), "failed": sum(not one.passed for one in verdicts), "exit": code},
    }


def summary(verdicts: Sequence[Verdict]) -> str:
    """One line with the counts."""
    failed = sum(not one.passed for one in verdicts)
    return f"{len(verdicts)} case{'s' * (len(verdicts) != 1)}: {len(verdicts) - failed} passed, {failed} failed"


def notes(verdicts: Iterable[Verdict]) -> list[str]:
    """A sentence for everything that could not be evaluated, with how many cases it concerns."""
    told: dict[str, int] = {}
    for one in verdicts:
        for note in one.notes:
            told[note] = told.get(note, 0) + 1
    return [f"{note} ({count} case{'s' * (count != 1)})" for note, count in sorted(told.items())]
