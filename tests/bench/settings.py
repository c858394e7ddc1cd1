"""How long a run measures; `--quick` only shows that everything works."""

import os
from typing import Final, NamedTuple


class Settings(NamedTuple):
    """Counts of requests and seconds."""

    rounds: int  # interleaved blocks, so that both servers see the same neighbours
    block: int  # requests in a block of a route that has a goal
    small_block: int  # requests in a block of any other route
    sizes: tuple[int, ...]  # objects in a review, services in a graph
    seconds: float  # of each measurement of waiting times
    long: int  # requests between the first look at the memory and the last
    starts: int
    growth_seconds: float  # of CPU that the costliest route of a shape takes at least at its smallest size


WHOLE: Final = Settings(
    rounds=7,
    block=1_000,
    small_block=150,
    sizes=(10, 100, 1_000, 10_000),
    seconds=12.0,
    long=int(os.environ.get("BENCH_LONG") or 100_000),
    starts=7,
    growth_seconds=0.001,
)
QUICK: Final = Settings(
    rounds=3,
    block=60,
    small_block=20,
    sizes=(10, 100, 1_000),
    seconds=2.0,
    long=2_000,
    starts=2,
    growth_seconds=0.0005,
)
