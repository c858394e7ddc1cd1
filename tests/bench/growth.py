"""How the cost of a request grows with its size, for every shape of hostile objects and every route: in this process, without a server.

A cost is CPU time of `webhooks.admission.answer`, from the bytes of a review to the bytes of its answer, the least of several.
"""

import gc
import logging
import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from dynamo_webhooks.admission import losses
from dynamo_webhooks.admission.pipeline import Settings as Serving
from dynamo_webhooks.conversion import weight
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.process import GC_THRESHOLD
from dynamo_webhooks.webhooks.routes import Route
from tests.bench.table import Settings, Table
from tests.hostile.reviews import Asked
from tests.hostile.shapes import Shape, body, everything, label
from tests.policies.examples import base

SECTION: Final = "Growth by shape"
MOST: Final = 2.2  # for twice the size
TIMES: Final = 4  # that a cost is measured which seems to grow too fast: a neighbour may have disturbed it
LARGEST: Final = 16 * 1024  # bytes of the smallest body of a shape, from which on the caches of a CPU would be measured


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


def growth(table: Table, settings: Settings) -> list[Growth]:
    """A row for every shape, with the costs on every route, and one that counts those that grow too fast."""
    serving = Serving(facts_from(base()["facts"]))
    found: list[Growth] = []
    with _settled():
        for shape in everything():
            routes = list(grown(shape, serving, settings))
            costs = ", ".join(f"{one.route} {' / '.join(f'{cost * 1e3:.1f}' for cost in one.costs)} ms" for one in routes)
            most = max(one.lengths[-1] for one in routes)
            what = f"{shape.kind}: {shape.name} (up to {most:,} bytes)"
            table.row(SECTION, what, costs, ratio=max(one.ratio for one in routes), limit=MOST)
            found += routes
    over = sum(one.ratio > MOST for one in found)
    table.row(SECTION, f"of {len(found)} costs, those that grow by more than {MOST} when the size doubles", str(over), goal="0")
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
    once(asked.route, text, serving)  # the first one compiles what it meets
    return len(text) >= LARGEST or once(asked.route, text, serving) >= settings.growth_seconds


def _costs(route: Route, bodies: list[bytes], serving: Serving, settings: Settings) -> list[float]:
    """Seconds of CPU for each body: the least of several, of more where they are short, and of more again where they grow too fast."""
    least = [float("inf")] * len(bodies)
    for _ in range(TIMES):
        spent, count = 0.0, 0
        while count < settings.rounds or (spent < 5 * settings.growth_seconds and count < 10 * settings.rounds):
            seconds = [once(route, text, serving) for text in bodies]  # in turn, so that neighbours disturb all alike
            least = list(map(min, least, seconds))
            spent, count = spent + sum(seconds), count + 1
        if least[-1] <= MOST**2 * least[0]:
            break
    return least


def once(route: Route, text: bytes, serving: Serving) -> float:
    """Seconds of CPU for one answer."""
    gc.collect()
    begin = time.process_time()
    answer(route, text, serving)
    return time.process_time() - begin


@contextmanager
def _settled() -> Iterator[None]:
    """The collector is set as in a server, and passes over what was there before; nothing is logged.

    Objects of every size are weighed for their kind's other version: that only longer ones are is a step, which no doubling must meet.
    """
    steps = [(module, name, getattr(module, name)) for module, name in ((losses, "LIGHT"), (weight, "LIGHT"), (weight, "WARNED"))]
    for module, name, _ in steps:
        setattr(module, name, 0)
    disabled, threshold = logging.root.manager.disable, gc.get_threshold()
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLD)
    try:
        yield
    finally:
        for module, name, value in steps:
            setattr(module, name, value)
        gc.set_threshold(*threshold)
        gc.unfreeze()
        logging.disable(disabled)
