"""Strangers who only open connections: memory stays within its bound, and nobody else waits or fails. Each was seen to break it."""

from pathlib import Path
from typing import Final

import pytest

from tests.hostile.settings import SEED
from tests.hostile.storm.generator import Order
from tests.hostile.storm.kinds import KINDS
from tests.hostile.storm.storm import LISTEN, Outcome, attacked, storm
from tests.webhooks.processes import Command

FIXED: Final = 29
ROW: Final = 8.0  # seconds
MIXED: Final = 24.0
SMOKE: Final = 3.0


async def _harmless(tmp_path: Path, order: Order) -> Outcome:
    with Command(tmp_path, *LISTEN) as server:
        [outcome] = await storm([attacked(server.ready())], order)
        print(f"HOSTILE_SEED={SEED}", outcome)
        assert server.process.poll() is None
    assert set(order.kinds or KINDS) >= outcome.opened.keys() != set()
    assert [*outcome.faults(), *outcome.late()] == []
    return outcome


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "size"),
    [("large heads", 1_500), ("pipelined", 200), ("side heads", 1_500), ("scrapes", 1_500), ("hellos", 200), ("hellos", 900)],
)
async def test_many_connections_of_one_kind_harm_nobody(tmp_path: Path, kind: str, size: int) -> None:
    outcome = await _harmless(tmp_path, Order(FIXED, ROW, [], (kind,), size))
    assert outcome.opened[kind] >= size


@pytest.mark.parametrize(
    ("seed", "seconds"), [(SEED, SMOKE), *(pytest.param(seed, MIXED, marks=pytest.mark.nightly) for seed in (FIXED, SEED))]
)
async def test_connections_of_all_kinds_harm_nobody(tmp_path: Path, seed: int, seconds: float) -> None:
    await _harmless(tmp_path, Order(seed, seconds, []))
