"""Damaged reviews by the ten thousand in this process: each is answered, none is a fault, and nothing of them stays."""

import logging
import random
import tracemalloc
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.facts import UNKNOWN, Facts
from dynamo_webhooks.webhooks.admission import answer
from tests.hostile.growth import resident, unbounded
from tests.hostile.judging import MAX_SHOWN_BYTES, judged
from tests.hostile.mutants import Mutant, Surgeon
from tests.hostile.reviews import Asked, generated, of_examples, recorded
from tests.hostile.settings import REVIEWS, SEED
from tests.laws.dice import Dice
from tests.webhooks.test_admission import SETTINGS

# what a server may know: everything, nothing at all, and some of it on another line
KNOWN: Final = (SETTINGS, Settings(Facts()), Settings(Facts(operatorLine=Line.V1_6, grove=True, dra=False, lpx=UNKNOWN)))
FRESH: Final = 400  # well-formed reviews, after which new ones are generated
FIRST: Final = max(REVIEWS // 10, 1_000)  # reviews after which caches know most
MAX_GROWTH_MB: Final = 24.0  # from the end of the first reviews to the end of the last: fragmentation, however many reviews
MAX_ENTRIES: Final = 50  # of a cache without bound: some hold one for each rule and kind that was met
TRACED: Final = min(1_500, REVIEWS // 8)


@cache
def _written() -> tuple[list[Asked], list[Asked]]:
    return list(recorded()), list(of_examples())


def mutants(seed: str, count: int) -> Iterator[tuple[Asked, Mutant]]:
    """So many damaged reviews: of recorded ones, of examples, and of generated ones."""
    dice, chooser = Dice(seed), random.Random(seed)  # noqa: S311 - nothing here is a secret
    surgeon = Surgeon(chooser)
    fresh: list[Asked] = []
    for index in range(count):
        if index % (5 * FRESH) == 0:
            fresh = [generated(dice) for _ in range(min(FRESH, count // 5 + 1))]
        case = chooser.choice(chooser.choice((*_written(), fresh)))
        yield case, surgeon.mutant(case)


def _try(complaints: dict[str, str], seed: str, count: int) -> int:
    """Tries so many; complaints by route and words, each with the body that it was first heard about. Returns how many were whole."""
    whole = 0
    for index, (case, mutant) in enumerate(mutants(seed, count)):
        whole += mutant.whole
        wrong = judged(case.route, mutant, KNOWN[index % len(KNOWN)])
        if wrong:
            complaints.setdefault(f"{case.route.path}: {wrong[:60]}", f"{wrong}\n{mutant.body[:MAX_SHOWN_BYTES]!r}")
    return whole


@pytest.mark.slow("answers four thousand damaged reviews, and counts what stays")
def test_every_review_is_answered_and_nothing_stays(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)  # faults are logged as errors; damaged annotations as warnings, by the thousand
    complaints: dict[str, str] = {}
    whole = _try(complaints, f"{SEED}/first", FIRST)
    before, caches = resident(), unbounded()
    whole += _try(complaints, f"{SEED}/then", REVIEWS - FIRST)
    grown, after = resident() - before, unbounded()
    assert not complaints, f"{len(complaints)} complaints with HOSTILE_SEED={SEED}:\n" + "\n".join(list(complaints.values())[:10])
    assert not caplog.records, f"errors were logged with HOSTILE_SEED={SEED}"
    assert whole > REVIEWS // 3, "damage that spoils every envelope tries nothing behind it"
    assert grown < MAX_GROWTH_MB, f"{grown:.1f} MB more after {REVIEWS - FIRST} reviews with HOSTILE_SEED={SEED}"
    filled = {name: size - caches.get(name, 0) for name, size in after.items() if size - caches.get(name, 0) > MAX_ENTRIES}
    assert not filled, "a cache without bound grows with what strangers send"


@pytest.mark.slow("each allocation of several hundred reviews is traced")
def test_an_answered_review_leaves_no_object(caplog: pytest.LogCaptureFixture) -> None:
    """The same reviews again, when all caches and the tracer know them, leave not a two-hundredth of themselves."""
    caplog.set_level(logging.ERROR)
    kept = [(case.route, mutant.body) for case, mutant in mutants(f"{SEED}/traced", TRACED)]

    def answered() -> None:
        for route, body in kept:
            answer(route, body, SETTINGS)

    answered()
    tracemalloc.start()
    try:
        answered()  # objects from before tracing that are replaced count as new ones
        resident()
        before = tracemalloc.get_traced_memory()[0]
        answered()
        resident()
        left = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert left < sum(len(body) for _, body in kept) / 200, f"{left} bytes stay of {TRACED} reviews with HOSTILE_SEED={SEED}"
