"""The law for field managers on generated sequences: LAWS_OBJECTS of them, 1,000 by default; `make laws` tries ten
thousand."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

import pytest

from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice, Replay, smallest
from tests.laws.managers.law import breaches
from tests.laws.managers.sequences import Object, draw_any
from tests.laws.managers.server import Server
from tests.laws.managers.subjects import ADAPTER, COMPONENT, GRAPH, REQUEST

TRIED = (GRAPH, COMPONENT, REQUEST, ADAPTER)
CORES = os.cpu_count() or 1
SHARES = 4  # of the sequences of a kind


def converted(obj: Object, version: str) -> Object:
    """The object in a version, as a server answers on /convert."""
    return convert(KINDS[obj["kind"]], obj, version).object


def modelled(kind: str) -> Server:
    """The model of an API server."""
    return Server(kind, converted)


def search(kind: str, seed: int, numbers: range) -> str:
    """The first of some sequences that breaks the law, made small; nothing when none does."""
    for number in numbers:
        dice = Dice(seed, "managers", kind, number)
        if breaches(draw_any(dice, kind), modelled):
            thrown = smallest(dice.thrown, lambda throws: bool(breaches(draw_any(Replay(throws), kind), modelled)))
            sequence = draw_any(Replay(thrown), kind)
            return f"LAWS_SEED={seed}, {kind} number {number}: {breaches(sequence, modelled)}\n{sequence}"
    return ""


@pytest.mark.parametrize("kind", TRIED)
def test_nobody_loses_anything(kind: str) -> None:
    """Every sequence of writes of a kind keeps the law."""
    with ProcessPoolExecutor(CORES, multiprocessing.get_context("spawn")) as workers:
        running = [workers.submit(search, kind, SEED, range(OBJECTS // len(TRIED))[share::SHARES]) for share in range(SHARES)]
        found = [future.result() for future in running]
    assert not any(found), "\n\n".join(filter(None, found))
