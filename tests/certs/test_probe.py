"""Endpoints are probed over real TLS on loopback; the test's clock counts rounds, and endpoints may stay silent."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator

import pytest
import trustme

from dynamo_webhooks.certs import probe
from dynamo_webhooks.certs.certificate import Certificate, read_certificate
from dynamo_webhooks.certs.probe import Prober, present
from dynamo_webhooks.certs.state import Endpoint
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES
from tests.certs.site import NAMESPACE, SERVICE, piece
from tests.certs.states import leaf
from tests.kube.memory import MemoryCluster
from tests.kube.timing import Timing
from tests.rows import run_each

NAME = f"{SERVICE}.{NAMESPACE}.svc"


@contextlib.asynccontextmanager
async def _listening(context: ssl.SSLContext | None) -> AsyncIterator[int]:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"no TLS here\n")
        writer.close()
        with contextlib.suppress(OSError, ssl.SSLError):
            await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


@run_each("name", [NAME, f"{'s' * 63}.{'n' * 63}.svc"])
async def test_the_certificate_that_is_presented_is_read_whoever_signed_it(name: str) -> None:
    signer = trustme.CA()
    cert = signer.issue_cert(NAME, key_type=trustme.KeyType.ECDSA)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    cert.configure_cert(context)
    async with _listening(context) as port:
        presented = await present(("127.0.0.1", port), name)
    assert presented == read_certificate(cert.cert_chain_pems[0].bytes())


async def test_who_speaks_no_tls_or_does_not_listen_presents_nothing() -> None:
    async with _listening(None) as port:
        assert await present(("127.0.0.1", port), NAME) is None
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert await present(bound.getsockname(), NAME) is None


class Pods:
    """What each host presents, and how often it was asked."""

    def __init__(self) -> None:
        self.leaves: dict[str, Certificate | None] = {}
        self.asked: list[str] = []
        self.silent: set[str] = set()

    async def __call__(self, address: tuple[str, int], name: str) -> Certificate | None:
        assert name == NAME
        self.asked.append(address[0])
        if address[0] in self.silent:
            await asyncio.Event().wait()
        return self.leaves.get(address[0])


class Site:
    """A prober with its slices and its clock."""

    def __init__(self) -> None:
        self.cluster, self.pods, self.timing = MemoryCluster(), Pods(), Timing()
        self.prober = Prober(self.cluster, SERVICE, NAMESPACE, NAME, ask=self.pods, clock=self.timing.clock)

    async def look(self) -> dict[str, Endpoint]:
        endpoints = await self.prober.probe()
        assert endpoints is not None
        return {each.address: each for each in endpoints}


@pytest.fixture
async def site() -> Site:
    new_site = Site()
    new_site.pods.leaves = {"10.0.0.1": leaf("a"), "10.0.0.2": leaf("a")}
    await new_site.cluster.create(ENDPOINT_SLICES, piece("10.0.0.1", "10.0.0.2"))
    return new_site


async def test_rounds_count_only_when_they_are_ten_seconds_apart(site: Site) -> None:
    rounds = []
    for seconds in (0, 1, 8.9, 0.1, 10, 3):
        site.timing.seconds += seconds
        rounds.append((await site.look())["10.0.0.1:9443"].rounds)
    assert rounds == [1, 1, 1, 2, 3, 3]


async def test_another_leaf_or_silence_begins_anew(site: Site) -> None:
    await site.look()
    site.timing.seconds += 10
    site.pods.leaves |= {"10.0.0.1": leaf("b"), "10.0.0.2": None}
    endpoints = await site.look()
    assert (endpoints["10.0.0.1:9443"].leaf, endpoints["10.0.0.1:9443"].rounds) == (leaf("b"), 1)
    assert (endpoints["10.0.0.2:9443"].leaf, endpoints["10.0.0.2:9443"].rounds) == (None, 0)


async def test_a_new_address_is_asked_at_once_and_one_that_left_is_forgotten(site: Site) -> None:
    await site.look()
    site.pods.leaves["10.0.0.3"] = leaf("a")
    await site.cluster.create(ENDPOINT_SLICES, piece("10.0.0.3", port=9444, ready=False))
    await site.cluster.delete(ENDPOINT_SLICES, f"{SERVICE}-9443", NAMESPACE)
    endpoints = await site.look()
    assert set(endpoints) == {"10.0.0.3:9444"}
    assert not endpoints["10.0.0.3:9444"].ready
    assert site.pods.asked == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


async def test_after_forgetting_everybody_is_asked_but_no_round_is_counted(site: Site) -> None:
    await site.look()
    site.prober.forget()
    endpoints = await site.look()
    assert len(site.pods.asked) == 4
    assert {each.rounds for each in endpoints.values()} == {1}


async def test_slices_of_other_services_and_ports_are_not_asked(site: Site) -> None:
    await site.cluster.create(ENDPOINT_SLICES, piece("10.0.0.7", service="other"))
    metrics = piece("10.0.0.8", port=9445)
    metrics["ports"].append({"name": "metrics", "port": 8080, "protocol": "TCP"})
    await site.cluster.create(ENDPOINT_SLICES, metrics)
    assert set(await site.look()) == {"10.0.0.1:9443", "10.0.0.2:9443", "10.0.0.8:9445"}


async def test_slices_of_silent_addresses_hold_no_look_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other users may write slices too; endpoints that answered before are probed first."""
    monkeypatch.setattr(probe, "PROBE_TIMEOUT_SECONDS", 0.1)
    await site.look()
    site.pods.silent = {f"10.1.{number // 250}.{number % 250}" for number in range(1000)}
    await site.cluster.create(ENDPOINT_SLICES, piece(*sorted(site.pods.silent), port=9999))
    site.timing.seconds += 10
    endpoints = await site.look()
    assert endpoints["10.0.0.1:9443"].rounds == endpoints["10.0.0.2:9443"].rounds == 2
    assert len(endpoints) == 1002
    assert {each.leaf for name, each in endpoints.items() if name.startswith("10.1.")} == {None}
    assert len(site.pods.asked) == 4 + probe.MAX_CONCURRENT_HANDSHAKES


async def test_names_and_absent_conditions_are_understood(site: Site) -> None:
    named, plain = piece("host.example", port=1), piece("fd00::1", port=2)
    named["addressType"], plain["addressType"] = "FQDN", "IPv6"
    plain["endpoints"][0].pop("conditions")
    for each in (named, plain):
        await site.cluster.create(ENDPOINT_SLICES, each)
    endpoints = await site.look()
    assert endpoints["[fd00::1]:2"].ready
    assert "host.example" not in str(endpoints)


async def test_without_permission_nothing_is_known(site: Site) -> None:
    site.cluster.denied.add(("list", "endpointslices"))
    assert await site.prober.probe() is None
    assert not await site.prober.anybody_behind("other")


async def test_whether_anybody_is_behind_another_service(site: Site) -> None:
    await site.cluster.create(ENDPOINT_SLICES, piece("10.0.0.7", service="other"))
    await site.cluster.create(ENDPOINT_SLICES, piece("10.0.0.7", service="third", ready=False))
    assert await site.prober.anybody_behind("other")
    assert not await site.prober.anybody_behind("third")
    assert not await site.prober.anybody_behind("absent")
