"""Metrics of provisioner and reconciler over TLS: a pair of their own, made anew in time, and no reader whom nobody let.

And the garbage collector, which is kept away while all is listed, and no longer.
"""

import asyncio
import gc
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, cast

import pytest
from cryptography import x509
from prometheus_client.parser import text_string_to_metric_families

from dynamo_webhooks.certs.context import Change, ReloadingContext
from dynamo_webhooks.certs.files import judge
from dynamo_webhooks.cli.daemon import run
from dynamo_webhooks.cli.daemon.run import LIFE, PROCESS_METRICS, RENEWED, Guard, OwnPair, Part, State, process_metrics
from dynamo_webhooks.kube.connection import NO_ANSWER
from dynamo_webhooks.kube.lease import Election
from dynamo_webhooks.kube.protocol import Cluster, Sent
from dynamo_webhooks.kube.resources import TOKEN_REVIEWS, Resource
from dynamo_webhooks.webhooks.probes import METRICS, Probes
from dynamo_webhooks.webhooks.sockets import Address, bind
from tests.kube.memory import MemoryCluster

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
GOOD: Final = "of-prometheus"
DEADLINE: Final = 60.0  # seconds, far more than any step here takes


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def test_the_pair_is_kept_and_made_anew_long_before_its_end() -> None:
    clock = Clock()
    pair = OwnPair(("localhost",), clock)
    first = pair.offer()
    assert judge(first.certificate, first.key, clock.now).not_after == START + LIFE
    clock.now = START + RENEWED - timedelta(seconds=1)
    assert pair.offer() is first
    clock.now = START + RENEWED
    second = pair.offer()
    assert second.certificate != first.certificate
    clock.now = START
    assert pair.offer() is not second, "made in what is now the future, it may not be valid yet"
    context = ReloadingContext(pair, clock)
    assert (context.refresh(), context.refresh()) == (Change.LOADED, Change.SAME)
    clock.now += RENEWED
    assert context.refresh() is Change.LOADED
    assert context.served is not None
    assert context.served.source == "own"


class Shown:
    """What is to be read."""

    async def checks(self) -> dict[str, list[str]]:
        return {}

    async def metrics(self) -> bytes:
        return b"secret_total 1\n"


class Judge:
    """An API server that knows one token."""

    async def create(self, resource: Resource, obj: Any, _namespace: str = "") -> Any:
        if resource is TOKEN_REVIEWS:
            return {"status": {"authenticated": obj["spec"]["token"] == GOOD, "user": {"username": "prometheus"}}}
        return {"status": {"allowed": obj["spec"]["user"] == "prometheus"}}


class Reader(NamedTuple):
    """Asks a guarded listener."""

    port: int
    guard: Guard

    async def status(self, token: str) -> tuple[int, bytes]:
        context = ssl.create_default_context(cadata=self.guard.context.served.bundle.decode() if self.guard.context.served else None)
        async with asyncio.timeout(DEADLINE):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context, server_hostname="localhost")
            header = f"Authorization: Bearer {token}\r\n" if token else ""
            writer.write(f"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n".encode())
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
        return int(head.split()[1]), body


@asynccontextmanager
async def guarded() -> AsyncIterator[Reader]:
    guard, listener = Guard(), Probes(Shown())
    address, sock = bind(Address("127.0.0.1", 0))
    await listener.listen(asyncio.get_running_loop(), sock, METRICS, guard.context, guard.gate)
    try:
        yield Reader(address.port, guard)
    finally:
        await listener.close()
        sock.close()


async def test_only_whom_the_api_server_lets_reads_and_nobody_before_it_can_be_asked() -> None:
    async with guarded() as reader:
        assert (await reader.status(GOOD))[0] == 503
        reader.guard.use(cast("Cluster", Judge()))
        assert await reader.status(GOOD) == (200, b"secret_total 1\n")
        assert (await reader.status(""))[0] == 401
        assert (await reader.status("bad"))[0] == 403
        assert reader.guard.refused == 3
        served = reader.guard.context.served
        assert served is not None
        [issuer] = x509.load_pem_x509_certificates(served.bundle)
        assert issuer.subject.rfc4514_string() == "CN=dynamo-webhook-ca-1"


async def test_vitals_are_what_they_are_declared_to_be() -> None:
    election = Election(MemoryCluster("x"), "lock", "ns", "me")
    traffic = Counter({Sent(NO_ANSWER, "GET", "api:6443"): 4})
    families = {family.name: family for family in text_string_to_metric_families(process_metrics(election, 2, traffic).decode())}
    assert families.keys() == {each.name for each in PROCESS_METRICS}
    for each in PROCESS_METRICS:
        assert families[each.name].type == each.type
        assert [sample.name for sample in families[each.name].samples] == list(each.samples)
        assert {label for sample in families[each.name].samples for label in sample.labels} == set(each.labels)
    [asked] = families["rest_client_requests"].samples
    assert (asked.labels, asked.value) == ({"code": "<error>", "method": "GET", "host": "api:6443"}, 4)
    [leading] = families["leader_election_master_status"].samples
    assert (leading.labels, leading.value) == ({"name": "lock"}, 0)
    assert [sample.value for sample in families["dynamo_webhooks_metrics_access_denied"].samples] == [2]
    assert await election.attempt()
    assert 'leader_election_master_status{name="lock"} 1.0' in process_metrics(election, 0, Counter()).decode()
    assert b"leader_election" not in process_metrics(None, 1, Counter())


class Listing:
    """A part that is ready when everything is listed."""

    def __init__(self) -> None:
        self.listed = False

    async def reasons(self) -> list[str]:
        return [] if self.listed else ["not listed"]


async def test_the_collector_comes_back_when_all_is_listed_or_can_not_be_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[bool] = []  # whether it was off whenever something was kept from it
    monkeypatch.setattr(run, "_LOOK", 0.001)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(not gc.isenabled()))
    state, part = State("x", None), Listing()
    task = asyncio.ensure_future(run._uncollected(state))
    await asyncio.sleep(0.01)
    state.part = cast("Part", part)
    await asyncio.sleep(0.01)
    assert (gc.isenabled(), frozen) == (False, [])
    part.listed = True
    await task
    assert (gc.isenabled(), frozen) == (True, [True])
    task = asyncio.ensure_future(run._uncollected(State("x", None)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert gc.isenabled()
    monkeypatch.setattr(run, "LISTING", 0.01)
    await asyncio.wait_for(run._uncollected(State("x", None)), 5)
    assert gc.isenabled()
