"""How long to wait before asking again after an error: doubled each time, up to a limit, and never the same for two replicas."""

import random
from collections.abc import Callable


class Backoff:
    """Counts errors in a row."""

    def __init__(self, first: float = 0.5, most: float = 30.0, chance: Callable[[], float] = random.random) -> None:
        """`first` and `most` are seconds; `chance` gives a number from 0 to 1."""
        self._first, self._most, self._chance = first, most, chance
        self._errors = 0

    @property
    def errors(self) -> int:
        """How many errors in a row there were."""
        return self._errors

    def next(self) -> float:
        """Seconds to wait after one more error: between half and the whole of the doubled time."""
        whole = min(self._most, self._first * 2.0 ** min(self._errors, 32))
        self._errors += 1
        return whole * (0.5 + self._chance() / 2)

    def slow(self) -> float:
        """Seconds to wait for what a person has to change: near the limit at once."""
        return self._most * (0.5 + self._chance() / 2)

    def reset(self) -> None:
        """An answer came."""
        self._errors = 0
