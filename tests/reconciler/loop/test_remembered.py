"""What a process remembers of children stays small, however many there are."""

from __future__ import annotations

import pytest

from dynamo_webhooks.reconciler.loop import write
from dynamo_webhooks.reconciler.loop.cache import Cache
from dynamo_webhooks.reconciler.loop.keys import Key
from dynamo_webhooks.reconciler.loop.problems import ContestedError
from dynamo_webhooks.reconciler.loop.write import Writer
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing


async def test_repairs_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "REMEMBERED", 10)
    timing, cluster = Timing(), MemoryCluster()
    writer = Writer(cluster, Cache(cluster, [""], lambda *_: None), lambda _: True, timing.clock)
    for number in range(100):
        writer._contest(Key("Service", "n", str(number)), "", ["kubectl"], "conflict")
        await timing.advance(write.WINDOW / 5)
    assert len(writer._repaired) <= 11
    for _ in range(write.REPAIRS):
        writer._contest(Key("Service", "n", "again"), "", ["kubectl"], "conflict")
    with pytest.raises(ContestedError):
        writer._contest(Key("Service", "n", "again"), "", ["kubectl"], "conflict")
