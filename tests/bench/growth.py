"""How the cost of a request grows with its size, for every shape of hostile objects and every route: in this process, without a server.

A cost is CPU time of `webhooks.admission.answer`, from the bytes of a review to the bytes of its answer, the least of several.
"""

from __future__ import annotations

import gc
import logging
import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from policies.facts import facts_from
from tests.hostile.shapes import Shape, body, everything, label
from tests.policies.examples import base
from webhooks.admission import Settings as Serving
from webhooks.admission import answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.bench.settings import Settings
    from tests.bench.table import Table
    from tests.hostile.reviews import Asked
    from webhooks.routes import Route

MOST: Final = 2.2  # for twice the size
PIECE: Final = 64 * 1024  # bytes of a body that the summary is about
LARGEST: Final = 128 * 1024  # bytes of the smallest body of a shape, beyond which nothing is doubled further


class Growth(NamedTuple):
    """One shape on one route at three sizes, each twice the one before: bytes and seconds."""

    shape: Shape
    route: str
    lengths: list[int]
    costs: list[float]

    @property
    def ratio(self) -> float:
        """How many times as much each doubling costs, over both of them."""
        return math.sqrt(self.costs[-1] / self.costs[0])

    @property
    def of_a_piece(self) -> float:
        """Seconds for a body of 64 KiB, as the largest one costs."""
        return self.costs[-1] / self.lengths[-1] * PIECE


def growth(table: Table, settings: Settings) -> list[Growth]:
    """A row for every shape and route, and two for the worst of them."""
    serving = Serving(facts_from(base()["facts"]))
    found: list[Growth] = []
    with _settled():
        for shape in everything():
            for one in grown(shape, serving, settings):
                found.append(one)
                costs = " / ".join(f"{cost * 1e3:.1f}" for cost in one.costs)
                what = f"{shape.kind} {shape.version}, {shape.name}: {one.route} ({one.lengths[-1]:,} bytes)"
                table.row("Growth by shape", what, f"{costs} ms", ratio=one.ratio, limit=MOST)
    worst = max(found, key=lambda one: one.of_a_piece)
    what = f"the most that 64 KiB cost: {worst.shape.kind}, {worst.shape.name}: {worst.route}"
    table.row("Growth by shape", what, f"{worst.of_a_piece * 1e3:.0f} ms")
    over = sum(one.ratio > MOST for one in found)
    table.row("Growth by shape", f"rows of {len(found)} that grow faster than {MOST}", str(over), goal="0")
    return found


def grown(shape: Shape, serving: Serving, settings: Settings) -> Iterable[Growth]:
    """The costs of a shape on every route, from a size on at which they can be measured."""
    size = shape.size
    while not shape.deep and not _is_measurable(shape, size, serving, settings):
        size *= 2
    sizes = [list(shape.cases(size * factor)) for factor in (1, 2, 4)]
    for cases in zip(*sizes, strict=True):
        bodies = [body(asked) for asked in cases]
        yield Growth(shape, label(cases[0]), [len(text) for text in bodies], _costs(cases[0].route, bodies, serving, settings))


def _is_measurable(shape: Shape, size: int, serving: Serving, settings: Settings) -> bool:
    return any(_is_long_enough(asked, serving, settings) for asked in shape.cases(size))


def _is_long_enough(asked: Asked, serving: Serving, settings: Settings) -> bool:
    text = body(asked)
    return len(text) >= LARGEST or once(asked.route, text, serving) >= settings.growth_seconds


def _costs(route: Route, bodies: list[bytes], serving: Serving, settings: Settings) -> list[float]:
    """Seconds of CPU for each body: the least of several, and of more where they are short, taken in turn."""
    least, spent, count = [float("inf")] * len(bodies), 0.0, 0
    while count < settings.rounds or (spent < 5 * settings.growth_seconds and count < 10 * settings.rounds):
        seconds = [once(route, text, serving) for text in bodies]
        least = list(map(min, least, seconds))
        spent, count = spent + sum(seconds), count + 1
    return least


def once(route: Route, text: bytes, serving: Serving) -> float:
    """Seconds of CPU for one answer."""
    gc.collect()
    begin = time.process_time()
    answer(route, text, serving)
    return time.process_time() - begin


@contextmanager
def _settled() -> Iterator[None]:
    """The collector passes over what was there before, as in a server, and nothing is logged."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        logging.disable(disabled)
