"""Looking for GPUs: outside of passes, once for all who ask, within bounds."""

import asyncio
from typing import Any

import pytest

from dynamo_webhooks.kube.resources import NODES, PODS
from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.request import shared
from dynamo_webhooks.reconciler.request.shared import AT_ONCE, Gpus
from tests.kube.memory import MemoryCluster
from tests.reconciler.request.test_hardware import METRICS
from tests.reconciler.request.test_request import NODE
from tests.reconciler.site import settings

A, B = (Key("DynamoGraphDeploymentRequest", "demo", name) for name in "ab")


class Exporters(shared.Scraper):
    """Exporters of which some never answer."""

    def __init__(self, silent: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.silent, self.now, self.most = silent, 0, 0
        self.asked: list[str] = []

    async def read(self, url: str) -> str:
        """The metrics."""
        self.asked.append(url)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(60 if any(one in url for one in self.silent) else 0)
        finally:
            self.now -= 1
        return METRICS

    async def close(self) -> None:
        """Nothing is open."""


async def _exporter(cluster: MemoryCluster, name: str, address: str, phase: str = "Running", namespace: str = "gpu-operator") -> None:
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "nvidia-dcgm-exporter"}},
        "spec": {},
    }
    await cluster.create(PODS, pod, namespace)
    status = {"phase": phase, "podIP": address}
    await cluster.merge_patch(PODS, name, {"status": status}, namespace, subresource="status")


class Looking:
    """A finder at work."""

    def __init__(self, cluster: MemoryCluster, exporters: Exporters, more: str = "") -> None:
        self.time = 0.0
        self.told: list[Key] = []
        self.all_told = asyncio.Event()
        self.finder = Gpus(cluster, settings(more), exporters, self._tell, lambda: self.time)
        self.task = asyncio.ensure_future(self.finder.run())

    def _tell(self, key: Key) -> None:
        self.told.append(key)
        asyncio.get_running_loop().call_soon(self.all_told.set)  # after the others of this look

    async def found(self, *keys: Key) -> Any:
        """What those who ask are told in the end."""
        before = [self.finder.known(key) for key in keys]
        async with asyncio.timeout(20):
            await self.all_told.wait()
        assert before == [None] * len(keys)
        return self.finder.known(keys[0])

    async def stop(self) -> None:
        """Ends it."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def test_all_who_ask_are_told_by_one_look_that_counts_for_a_minute() -> None:
    cluster, exporters = MemoryCluster(), Exporters()
    await cluster.create(NODES, NODE)
    looking = Looking(cluster, exporters)
    found = await looking.found(A, B)
    assert [(one.product, one.gpus) for one in found.machines] == [("NVIDIA-H200", 8)]
    assert sorted(looking.told) == [A, B]
    looking.time = 59
    assert looking.finder.known(A) == found
    looking.time = 61
    assert looking.finder.known(A) is None
    await looking.stop()


async def test_exporters_are_asked_a_few_at_a_time_and_the_silent_ones_hold_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "IN_ALL", 0.3)
    cluster, exporters = MemoryCluster(), Exporters(silent=("10.0.0.3:", "10.0.0.4:"))
    for number in range(40):
        await _exporter(cluster, f"p{number}", f"10.0.0.{number}")
    await _exporter(cluster, "v6", "fd00::1")
    await _exporter(cluster, "pending", "10.0.1.1", "Pending")
    await _exporter(cluster, "local", "127.0.0.1")
    await _exporter(cluster, "metadata", "169.254.169.254")
    looking = Looking(cluster, exporters)
    found = await looking.found(A)
    assert len(found.machines) == 39
    assert exporters.most <= AT_ONCE
    assert len(exporters.asked) == 41
    assert "http://[fd00::1]:9400/metrics" in exporters.asked
    await looking.stop()
    assert exporters.now == 0


async def test_a_right_that_is_missing_is_said_and_discovery_can_be_off() -> None:
    cluster, exporters = MemoryCluster(), Exporters()
    await cluster.create(NODES, NODE)
    cluster.denied.add(("list", "nodes"))
    looking = Looking(cluster, exporters)
    found = await looking.found(A)
    assert "nodes can't be read" in found.why
    await looking.stop()
    cluster.denied.clear()
    looking = Looking(cluster, exporters, "gpu: {discoveryEnabled: false}\n")
    assert (await looking.found(A)).machines == ()
    await looking.stop()
