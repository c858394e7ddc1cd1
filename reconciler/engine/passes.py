"""Results of reconcile passes, and the delays until the next ones."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..common.problems import Problem

RETRY_UNLISTED: Final = 1.0  # seconds until the next pass while objects of a kind are being listed
RETRY_SOON: Final = 2.0  # seconds until the next pass over an object that is about to change
RETRY_SLOW: Final = 60.0  # seconds until the next pass over an object that needs a change by a user


def first_of(*delays: float) -> float:
    """The shortest of some delays, of which 0 is none."""
    return min(filter(None, delays), default=0.0)


class Refusal(NamedTuple):
    """Why a pass does nothing: the reason and message of a condition."""

    reason: str
    message: str
    after: float = 0.0  # seconds until the next pass; 0 for the next change


class PassResult(NamedTuple):
    """The result of one pass."""

    problems: tuple[Problem, ...] = ()
    after: float = 0.0  # seconds until the next pass; 0 for the next change

    @property
    def passing(self) -> bool:
        """Whether an early retry is useful."""
        return any(problem.passing for problem in self.problems)
