"""The wait for all API servers: each is asked by itself, or many times through the usual address where that is not possible."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME
from dynamo_webhooks.cli.commands.migrate import definition as servers
from dynamo_webhooks.cli.commands.migrate.options import Hands, Stopped
from dynamo_webhooks.cli.commands.migrate.report import Report
from dynamo_webhooks.kube.errors import ForbiddenError, UnavailableError
from dynamo_webhooks.kube.protocol import Cluster
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES
from dynamo_webhooks.kube.storage_versions import TRIES, read_definition
from tests.cli.migrate.store import DGD, Store, hands

FIRST, SECOND = "https://10.0.0.7:6443", "https://10.0.0.8:6443"


class Several:
    """API servers by address, each with a store of its own; the usual address leads to them in turn."""

    def __init__(self, **options: Any) -> None:
        self.stores = {FIRST: Store(BETA), SECOND: Store(ALPHA)}
        self.asked: list[str] = []
        self.away: set[str] = set()
        self.hands = hands(self.stores[FIRST], **options)
        self.hands = Hands(self.stores[FIRST], self._open, self.hands.options, lambda _: None)
        self.report = Report(BETA, "", dry_run=False)

    @contextlib.asynccontextmanager
    async def _open(self, server: str) -> AsyncIterator[Cluster]:
        self.asked.append(server)
        if server in self.away:
            raise UnavailableError(0, "", "no way to it")
        yield self.stores[server or [FIRST, SECOND][self.asked.count("") % 2]]

    async def publish(self) -> None:
        """Writes the endpoints of the Service default/kubernetes."""
        metadata = {"name": "kubernetes", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}}
        endpoints = [{"addresses": ["10.0.0.7", "10.0.0.8"]}]
        await self.stores[FIRST].create(
            ENDPOINT_SLICES, {"metadata": metadata, "ports": [{"name": "https", "port": 6443}], "endpoints": endpoints}
        )

    async def agree(self) -> None:
        await servers.wait_for_agreement(self.hands, [read_definition(self.stores[FIRST].crd())], self.report)

    def follow(self) -> None:
        """The second server takes the definition over."""
        self.stores[SECOND] = Store(BETA)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "PAUSE", 0.0)


async def test_it_waits_for_the_last_of_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    several = Several()
    await several.publish()
    looks = []

    async def sleep(_: float) -> None:
        looks.append([*several.asked])
        if len(looks) == 3:
            several.follow()

    monkeypatch.setattr(several.hands, "sleep", sleep)
    await several.agree()
    assert looks[0] == [FIRST, SECOND]
    assert len(looks) == 3
    assert several.asked[-2:] == [FIRST, SECOND]
    assert several.report.warnings == []


@pytest.mark.parametrize("why", ["no endpoints", "no right", "no way"])
async def test_servers_that_can_not_be_asked_alone_are_met_by_chance(why: str) -> None:
    several = Several(patience=-1.0)
    if why == "no way":
        await several.publish()
        several.away = {FIRST, SECOND}
    if why == "no right":
        fault = ForbiddenError(403, "Forbidden", "no slices for you")
        several.stores[FIRST].fail(lambda verb, *_: fault if verb == "list" else None)
    with pytest.raises(UnavailableError, match=f"has not taken over the definition of {BY_NAME[DGD].plural}"):
        await several.agree()
    several.follow()
    several.asked.clear()
    await several.agree()
    assert several.asked.count("") == TRIES
    assert bool(several.report.warnings) is (why != "no endpoints")


async def test_servers_that_are_named_are_asked() -> None:
    several = Several(servers=(SECOND,), patience=-1.0)
    with pytest.raises(UnavailableError, match=SECOND):
        await several.agree()
    several.follow()
    await several.agree()
    assert {*several.asked} == {SECOND}


async def test_a_stop_ends_the_wait() -> None:
    several = Several()
    await several.publish()
    several.hands.stop()
    with pytest.raises(Stopped):
        await several.agree()
