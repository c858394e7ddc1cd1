"""Dice that generated objects are made with, by the ten thousand: hypothesis takes twenty times as long.

Throws are recorded, so that an object that breaks a law can be made again, and made smaller. No object is made here.
"""

import random
from collections.abc import Callable, Iterator
from typing import Final, Protocol

# How many smaller objects are tried for one that breaks a law: a few seconds.
TRIALS: Final = 3000


class Draw(Protocol):
    """Gives a number from 0 to below a count; the smaller the number, the simpler what is made of it."""

    def __call__(self, count: int, /) -> int: ...


class Dice:
    """Throws of a seed, kept in `thrown` as long as they are few enough to be of use."""

    def __init__(self, *seed: object) -> None:
        """Equal seeds throw equally, on every machine and in every process."""
        self._random = random.Random("/".join(map(str, seed))).random  # noqa: S311 - nothing here is a secret
        self.thrown: list[int] = []

    def __call__(self, count: int, /) -> int:
        """The next throw."""
        throw = int(self._random() * count)
        self.thrown.append(throw)
        return throw


class Replay:
    """Throws given beforehand: one too high for its place counts as the highest there, and after the last only zeros come."""

    def __init__(self, throws: list[int]) -> None:
        """Takes what `Dice.thrown` says, or less of it."""
        self._throws = iter(throws)

    def __call__(self, count: int, /) -> int:
        """The next throw."""
        return min(next(self._throws, 0), count - 1)


def smallest(throws: list[int], fails: Callable[[list[int]], bool]) -> list[int]:
    """Fewer and smaller throws for which `fails` still holds, as it does for those given."""
    trials = TRIALS
    changed = True
    while changed:
        changed = False
        for candidate in _simpler(throws):
            if trials <= 0:
                return throws
            trials -= 1
            if fails(candidate):
                throws, changed = candidate, True
                break
    return throws


def _simpler(throws: list[int]) -> Iterator[list[int]]:
    """Ever less simplified forms of some throws: without long runs of them, without short ones, with smaller numbers."""
    size = len(throws)
    while size := size // 2:
        for start in range(0, len(throws), size):
            yield throws[:start] + throws[start + size :]
    for index, value in enumerate(throws):
        for lower in dict.fromkeys((0, value // 2, value - 1)):
            if 0 <= lower < value:
                yield [*throws[:index], lower, *throws[index + 1 :]]
