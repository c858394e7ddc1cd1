"""Client certificates: wanted for admission where they are configured, never for conversion; rotated, expired, resumed, and counted."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import trustme

from dynamo_webhooks.certs.context import ClientTrust
from dynamo_webhooks.webhooks import metrics
from dynamo_webhooks.webhooks.convert import example
from dynamo_webhooks.webhooks.limits import Bound
from tests.rows import run_each
from tests.webhooks.requests import GRAPH_DEFAULTS, GRAPHS, graph, review
from tests.webhooks.serving import DEADLINE, Client, Http, Served, post, served, until

NAME: Final = "kube-apiserver"
BODY: Final = review(graph())
CONVERSION: Final = example()
VERSIONS: Final = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])


class Site:
    """A server that wants client certificates, and an authority that makes them."""

    def __init__(self, running: Served, authority: trustme.CA, file: Path) -> None:
        self.running, self.authority, self.file = running, authority, file

    def caller(self, name: str = NAME, **more: Any) -> trustme.LeafCert:
        return self.authority.issue_cert(f"{name}.example", common_name=name, **more)

    def context(self, leaf: trustme.LeafCert | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
        """A client's, which trusts the server."""
        made = self.running.trusting()
        made.maximum_version = version
        if leaf is not None:
            leaf.configure_cert(made)
        return made

    async def connect(self, leaf: trustme.LeafCert | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Client:
        return await self.running.connect(tls=self.context(leaf, version))

    async def post(self, leaf: trustme.LeafCert | None, path: str = GRAPHS, body: bytes = BODY) -> Http:
        """One request on a connection of its own."""
        return await (await self.connect(leaf)).post(path, body)

    async def generation(self, number: int) -> None:
        trust = self.running.server.certificate.context.clients
        assert trust is not None
        await until(lambda: trust.generation == number)

    def counted(self) -> dict[tuple[str, str], int]:
        return self.running.server.snapshot().callers


@asynccontextmanager
async def wanting(tmp_path: Path, authority: trustme.CA, names: Sequence[str] = (NAME,)) -> AsyncIterator[Site]:
    file = tmp_path / "ca.crt"
    authority.cert_pem.write_to_path(str(file))
    async with served(tmp_path, clients=ClientTrust(file, names)) as running:
        yield Site(running, authority, file)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with wanting(tmp_path, trustme.CA()) as made:
        yield made


@VERSIONS
async def test_admission_is_for_allowed_callers(site: Site, version: ssl.TLSVersion) -> None:
    client = await site.connect(site.caller(), version)
    for path in (GRAPHS, GRAPH_DEFAULTS, GRAPHS):
        assert (await client.post(path, BODY)).json["response"]["allowed"] is True
    assert client.writer.get_extra_info("ssl_object").version() == {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}[version.name]
    assert site.counted() == {(GRAPHS, "verified"): 2, (GRAPH_DEFAULTS, "verified"): 1}
    printed = metrics.export(site.running.server.snapshot(), {}).decode()
    assert f'dynamo_webhooks_requests_by_caller_total{{caller="verified",path="{GRAPHS}"}} 2' in printed


@VERSIONS
async def test_a_caller_without_a_certificate_may_convert_and_nothing_else(site: Site, version: ssl.TLSVersion) -> None:
    """As an API server does, which has no client certificate for conversion webhooks."""
    for path in (GRAPHS, GRAPH_DEFAULTS):
        reply = await (await site.connect(None, version)).post(path, BODY)
        assert (reply.status, reply.json["reason"]) == (403, "Forbidden")
        assert "must present a client certificate" in reply.json["message"]
    client = await site.connect(None, version)
    for _ in range(2):
        assert (await client.post("/convert", CONVERSION)).json["response"]["result"]["status"] == "Success"
    assert site.counted() == {(GRAPHS, "unverified"): 1, (GRAPH_DEFAULTS, "unverified"): 1, ("/convert", "unverified"): 2}


async def test_a_refusal_waits_for_no_body(site: Site) -> None:
    client = await site.connect(None)
    client.send(f"POST {GRAPHS} HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n".encode())
    assert (await client.answer()).status == 403


@run_each(
    ("names", "common", "status"),
    [
        ([NAME], NAME, 200),
        ([NAME], "somebody", 403),
        ([NAME], NAME.upper(), 403),
        ([NAME], NAME + " ", 403),
        (["somebody.example"], "somebody", 200),
        (["other", "somebody"], "somebody", 200),
        ([], "anybody", 200),
    ],
)
async def test_names(tmp_path: Path, names: list[str], common: str, status: int) -> None:
    """Common names and DNS names count, each as a whole."""
    authority = trustme.CA()
    leaf = authority.issue_cert(f"{common.strip()}.example", common_name=common)
    async with wanting(tmp_path, authority, names) as site:
        reply = await site.post(leaf)
        assert reply.status == status
        if status == 403:
            assert "must bear one of the names in server.webhook.clientNames" in reply.json["message"]
            assert common.encode() not in reply.body
        assert (await site.post(leaf, "/convert", CONVERSION)).status == 200


async def test_an_intermediate_authority_suffices(tmp_path: Path) -> None:
    root = trustme.CA()
    async with wanting(tmp_path, root.create_child_ca()) as site:
        assert (await site.post(site.caller())).status == 200
        with pytest.raises((OSError, asyncio.IncompleteReadError)):
            await site.post(root.issue_cert("x", common_name=NAME))


@VERSIONS
@pytest.mark.parametrize("what", ["other authority", "expired", "not yet valid"])
async def test_a_certificate_that_does_not_verify_ends_its_own_handshake(site: Site, version: ssl.TLSVersion, what: str) -> None:
    """OpenSSL does that; others, and conversions on connections without one, go on."""
    other, now = await site.connect(None), datetime.now(UTC)
    leaf = {
        "other authority": lambda: trustme.CA().issue_cert("x", common_name=NAME),
        "expired": lambda: site.caller(not_before=now - timedelta(days=2), not_after=now - timedelta(days=1)),
        "not yet valid": lambda: site.caller(not_before=now + timedelta(days=1)),
    }[what]()
    with pytest.raises((OSError, asyncio.IncompleteReadError)):
        await (await site.connect(leaf, version)).post("/convert", CONVERSION)
    await until(lambda: site.running.server.meter.bounds.get(Bound.CLIENT_CERTIFICATE) == 1)
    assert (await other.post("/convert", CONVERSION)).status == 200
    assert (await site.post(site.caller())).status == 200
    with pytest.raises((OSError, asyncio.IncompleteReadError)):
        await (await site.connect(leaf, version)).post("/convert", CONVERSION)
    assert sum("does not verify" in line["msg"] for line in site.running.log()) == 1


@VERSIONS
async def test_a_certificate_that_expires_while_the_connection_lives(site: Site, version: ssl.TLSVersion) -> None:
    client = await site.connect(site.caller(), version)
    assert (await client.post(GRAPHS, BODY)).status == 200
    site.running.server._callers._clock = lambda: datetime(3001, 1, 1, tzinfo=UTC).timestamp()
    reply = await client.post(GRAPHS, BODY)
    assert (reply.status, "has expired" in reply.json["message"], reply.headers["connection"]) == (403, True, "close")
    assert await client.closed()
    assert site.counted()[GRAPHS, "unverified"] == 1


@VERSIONS
async def test_resumed_sessions_know_their_caller(site: Site, version: ssl.TLSVersion) -> None:
    """With and without a certificate; of sessions that replaced authorities vouched for, none is resumed."""
    for leaf, status in ((site.caller(), 200), (None, 403)):
        context = site.context(leaf, version)
        first = await asyncio.to_thread(talk, site.running.port, context, None)
        assert (first[0], first[1]) == (status, False)
        again = await asyncio.to_thread(talk, site.running.port, context, first[2])
        assert (again[0], again[1]) == (status, True)
    context = site.context(site.caller(), version)
    session = (await asyncio.to_thread(talk, site.running.port, context, None))[2]
    trustme.CA().cert_pem.write_to_path(str(site.file))
    await site.generation(2)
    with pytest.raises(OSError):  # noqa: PT011 - whichever way it ends
        await asyncio.to_thread(talk, site.running.port, context, session)


def talk(port: int, context: ssl.SSLContext, session: ssl.SSLSession | None) -> tuple[int, bool | None, ssl.SSLSession | None]:
    """The status of one request, whether its session was resumed, and the session that the server gave."""
    import socket

    raw = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
    with context.wrap_socket(raw, server_hostname="localhost", session=session) as tls:
        tls.sendall(post(GRAPHS, BODY, "application/json", "Connection: close"))
        received = b""
        while part := tls.recv(65536):
            received += part
        if not received:
            raise ConnectionResetError
        return int(received.split()[1]), tls.session_reused, tls.session


async def test_authorities_are_exchanged_without_a_lost_request(site: Site) -> None:
    """One joins, and later the old one goes; open connections are answered once more, and closed with that answer."""
    old, second = site.caller(), trustme.CA()
    client = await site.connect(old)
    assert (await client.post(GRAPHS, BODY)).status == 200
    site.file.write_bytes(site.authority.cert_pem.bytes() + second.cert_pem.bytes())
    await site.generation(2)
    reply = await client.post(GRAPHS, BODY)
    assert (reply.status, reply.headers["connection"]) == (200, "close")
    assert await client.closed()
    new = second.issue_cert("x", common_name=NAME)
    assert [(await site.post(leaf)).status for leaf in (old, new)] == [200, 200]
    second.cert_pem.write_to_path(str(site.file))
    await site.generation(3)
    assert (await site.post(new)).status == 200
    with pytest.raises((OSError, asyncio.IncompleteReadError)):
        await site.post(old)


async def test_a_new_serving_pair_keeps_the_authorities(site: Site) -> None:
    client = await site.connect(site.caller())
    site.running.put(site.running.issue())
    serial = client.serial()
    async with asyncio.timeout(DEADLINE):
        while (await site.connect(site.caller())).serial() == serial:
            pass
    assert (await client.post(GRAPHS, BODY)).status == 200
    assert (await site.post(site.caller())).status == 200
    assert (await site.post(None)).status == 403


@pytest.mark.parametrize("content", [b"", b"no certificate"])
async def test_a_file_that_cannot_be_used_keeps_the_last_authorities(site: Site, content: bytes) -> None:
    site.file.write_bytes(content)
    await until(lambda: "clientCA" in site.running.server.certificate.report()["trouble"])
    assert site.running.server.reasons() == []
    assert (await site.post(site.caller())).status == 200
    assert any("can't be used, the last stay" in line["msg"] for line in site.running.log())


async def test_without_authorities_from_the_start_only_conversion_is_answered(tmp_path: Path) -> None:
    """Whoever asked for certificates isn't served without; conversion must not depend on it, not for callers who have one either."""
    file, authority = tmp_path / "clients.crt", trustme.CA()
    async with served(tmp_path, clients=ClientTrust(file)) as running:
        site = Site(running, authority, file)
        for leaf in (site.caller(), None):
            reply = await site.post(leaf)
            assert (reply.status, "no authority of client certificates could be read" in reply.json["message"]) == (403, True)
            assert (await site.post(leaf, "/convert", CONVERSION)).status == 200
        assert "clients.crt can't be read" in running.server.certificate.report()["trouble"]
        authority.cert_pem.write_to_path(str(file))
        await site.generation(1)
        assert (await site.post(site.caller())).status == 200
        assert running.server.certificate.report()["trouble"] == ""


async def test_without_a_configuration_all_may_call(tmp_path: Path) -> None:
    """And nobody is asked for a certificate."""
    async with served(tmp_path) as running:
        site = Site(running, trustme.CA(), tmp_path)
        for leaf in (None, site.caller()):
            assert (await site.post(leaf)).status == 200
        assert site.counted() == {(GRAPHS, "unverified"): 2}
