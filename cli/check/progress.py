"""A line on a terminal that says how far a long run is, and is gone when it ends. Silent everywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterable
from typing import Final, TextIO, TypeVar

Item = TypeVar("Item")

PATIENCE: Final = 1.0  # seconds before anything is shown: short runs show nothing
PAUSE: Final = 0.1  # seconds between two lines
_ERASE: Final = "\r\033[K"


def over(
    items: Iterable[Item],
    total: int,
    *,
    quiet: bool = False,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Item]:
    """Passes on an item for each file that is done, and shows on stderr how many of `total` those are.

    It shows nothing where stderr is no terminal, or the run is `quiet`.

    Nothing else may write to the terminal while it runs, or it must begin a line of its own.
    """
    out = sys.stderr if stream is None else stream
    if quiet or not out.isatty():
        yield from items
        return
    shown, due = False, clock() + PATIENCE
    try:
        for done, item in enumerate(items, start=1):
            now = clock()
            if now >= due:
                out.write(f"{_ERASE}{done} of {total} files")
                out.flush()
                shown, due = True, now + PAUSE
            yield item
    finally:
        if shown:
            out.write(_ERASE)
            out.flush()
