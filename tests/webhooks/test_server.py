"""The server on loopback: HTTP around the answers, limits, hostile clients, certificates under load, drain."""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from tests.webhooks.requests import GRAPHS, PRIVATE, graph, review
from tests.webhooks.serving import DEADLINE, QUICK, Client, Served, post, served, until

BODY = review(graph())


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def test_requests_share_a_connection(running: Served) -> None:
    client = await running.connect()
    for number in range(3):
        found = await client.post(GRAPHS, review(graph(), uid=f"u-{number}"))
        assert (found.status, found.headers["content-type"]) == (200, "application/json")
        assert found.json["response"]["uid"] == f"u-{number}"
    assert running.server.reasons() == []


async def test_concurrent_requests_get_their_own_answers(running: Served) -> None:
    async def talk(number: int) -> list[str]:
        client = await running.connect()
        return [(await client.post(GRAPHS, review(graph(), uid=f"{number}-{turn}"))).json["response"]["uid"] for turn in range(20)]

    told = await asyncio.gather(*(talk(number) for number in range(10)))
    assert told == [[f"{number}-{turn}" for turn in range(20)] for number in range(10)]


async def test_pipelined_requests_are_answered_in_order(running: Served) -> None:
    client = await running.connect()
    client.send(b"".join(post(GRAPHS, review(graph(), uid=f"p-{number}")) for number in range(50)))
    assert [(await client.answer()).json["response"]["uid"] for _ in range(50)] == [f"p-{number}" for number in range(50)]


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"])
async def test_content_types_that_are_json(running: Served, kind: str) -> None:
    assert (await (await running.connect()).post(GRAPHS, BODY, kind)).status == 200


@pytest.mark.parametrize("kind", ["", "text/plain", "application/jsonx", "application/yaml", "application/x-www-form-urlencoded"])
async def test_content_types_that_are_not(running: Served, kind: str) -> None:
    found = await (await running.connect()).post(GRAPHS, BODY, kind)
    assert (found.status, found.json["message"]) == (415, "the content type must be application/json")


@pytest.mark.parametrize("path", ["/", "/healthz", GRAPHS + "/", GRAPHS.upper(), "/validate", "*", "/%00"])
async def test_unknown_paths(running: Served, path: str) -> None:
    client = await running.connect()
    client.send(f"POST {path} HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode())
    assert (await client.answer()).status in (400, 404)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_wrong_methods(running: Served, method: str) -> None:
    client = await running.connect()
    client.send(f"{method} {GRAPHS} HTTP/1.1\r\nHost: s\r\n\r\n".encode())
    found = await client.answer()
    assert (found.status, found.headers["allow"], found.json["code"]) == (405, "POST", 405)


async def test_head_is_answered_without_a_body(running: Served) -> None:
    client = await running.connect()
    client.send(f"HEAD {GRAPHS} HTTP/1.1\r\nHost: s\r\n\r\nGET {GRAPHS} HTTP/1.1\r\nHost: s\r\n\r\n".encode())
    async with asyncio.timeout(DEADLINE):
        head = await client.reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 405 ")
    assert (await client.answer()).status == 405


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST " + b"/" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: s\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: s\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(500)) + b"\r\n",
        b"POST / HTTP/1.1\r\nHost: s\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
    ids=lambda data: str(data)[:40],
)
async def test_bad_http_is_answered_and_closed(running: Served, data: bytes) -> None:
    """One sentence, and nothing of what was sent in the answer or in the log."""
    client = await running.connect()
    client.send(data)
    found = await client.answer()
    assert (found.status, found.json["message"]) == (400, "the request can't be read as HTTP/1.1")
    assert await client.closed()
    assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200


async def test_bodies_in_any_framing(running: Served) -> None:
    """Byte by byte and in chunks."""
    client = await running.connect()
    whole = post(GRAPHS, BODY)
    for start in range(0, len(whole), 97):
        client.send(whole[start : start + 97])
        await client.writer.drain()
    assert (await client.answer()).status == 200
    head = f"POST {GRAPHS} HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    parts = b"".join(b"%x\r\n%s\r\n" % (len(BODY[i : i + 50]), BODY[i : i + 50]) for i in range(0, len(BODY), 50))
    client.send(head + parts + b"0\r\n\r\n")
    assert (await client.answer()).json["response"]["allowed"] is True


async def test_a_body_of_seven_mebibytes_is_accepted(tmp_path: Path) -> None:
    async with served(tmp_path) as running:
        obj = graph()
        obj["spec"]["envs"][0]["value"] = "v" * (QUICK.body - len(BODY) + len(PRIVATE))
        body = review(obj)
        assert len(body) == QUICK.body
        client = await running.connect()
        assert (await client.post(GRAPHS, body)).json["response"]["allowed"] is True


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_longer_body_is_refused(tmp_path: Path, chunked: bool) -> None:
    """413 with a sentence, whether the length is declared or found out."""
    async with served(tmp_path) as running:
        client = await running.connect()
        body = b" " * (QUICK.body + 1)
        if chunked:
            head = f"POST {GRAPHS} HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            client.send(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        else:
            client.send(post(GRAPHS, body))
        found = await client.answer()
        assert (found.status, found.json["code"], found.headers["connection"]) == (413, 413, "close")
        assert str(QUICK.body) in found.json["message"]


async def test_a_slow_body_is_given_up(tmp_path: Path) -> None:
    async with served(tmp_path, QUICK._replace(body_seconds=0.2)) as running:
        client = await running.connect()
        client.send(post(GRAPHS, BODY)[:-1])
        found = await client.answer()
        assert (found.status, found.headers["connection"]) == (408, "close")
        assert "must arrive within" in found.json["message"]


@pytest.mark.parametrize("leaves", [True, False])
async def test_the_rest_of_a_body_that_was_refused_holds_nothing_up(tmp_path: Path, *, leaves: bool) -> None:
    """Neither a client that leaves instead of sending it is kept in the books, nor does a drain wait for it."""
    async with served(tmp_path, QUICK._replace(body=10, body_seconds=10 * DEADLINE, drain_seconds=10 * DEADLINE)) as running:
        client = await running.connect()
        client.send(post(GRAPHS, BODY)[:-1])
        assert (await client.answer()).status == 413
        if leaves:
            client.writer.transport.abort()
            await running.gone()
        async with asyncio.timeout(DEADLINE):
            await running.server.drain()
        assert await client.closed()


async def test_a_client_that_has_spoken_is_kept(tmp_path: Path) -> None:
    async with served(tmp_path, QUICK._replace(head_seconds=3.0)) as running:  # enough for a handshake and a request, whatever else runs
        speaker = await running.connect()
        await speaker.post(GRAPHS, BODY)
        silent = await running.connect()
        assert await silent.closed()
        assert (await speaker.post(GRAPHS, BODY)).status == 200


async def test_too_many_connections_are_refused(tmp_path: Path) -> None:
    """Those that are open go on; there is room again when one has left."""
    async with served(tmp_path, QUICK._replace(connections=2)) as running:
        first, second = await running.connect(), await running.connect()
        assert {(await client.post(GRAPHS, BODY)).status for client in (first, second)} == {200}
        with contextlib.suppress(OSError):  # it may be refused before its handshake has ended on the client's side
            assert await (await running.connect()).closed()
        assert running.server.meter.counts["connections_refused"] == 1
        assert (await first.post(GRAPHS, BODY)).status == 200
        second.writer.transport.abort()
        await until(lambda: running.server.gauges()["open_connections"] == 1)
        assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200


async def _says(running: Served, address: str, data: bytes) -> Client:
    """A connection from an address of loopback, on which so much has been said; a whole request has been answered."""
    client = await running.connect(address)
    client.send(data)
    if data.endswith(b"\r\n\r\n"):
        assert (await client.answer()).status == 404
    return client


@pytest.mark.parametrize(
    "data",
    [b"GET / HTTP/1.1\r\nHost: s\r\n\r\n", b"", post(GRAPHS, BODY)[:-9], post("/convert", b" " * 40_000)[:-9]],
    ids=["idle", "silent", "in a short body", "in a long body"],
)
async def test_who_has_most_connections_makes_room_for_others(tmp_path: Path, data: bytes) -> None:
    """One who opens as many as there may be keeps nobody else out, and gets no more of them."""
    async with served(tmp_path, QUICK._replace(connections=8)) as running:
        kept = await _says(running, "127.0.0.1", b"GET / HTTP/1.1\r\nHost: s\r\n\r\n")
        hog = [await _says(running, "127.0.0.2", data) for _ in range(7)]
        await until(lambda: running.server.gauges()["open_connections"] == 8)
        if data.startswith(b"POST"):
            await until(lambda: sum(running.server.meter.reading.values()) == 7)
        for _ in range(3):
            assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200
        await until(lambda: running.server.gauges()["open_connections"] == 8)
        assert await hog[0].closed()
        with contextlib.suppress(OSError):
            assert await (await running.connect("127.0.0.2")).closed()
        assert running.server.meter.counts["connections_refused"] == 1
        assert (await kept.post(GRAPHS, BODY)).status == 200


async def test_clients_that_leave_leave_nothing(running: Served) -> None:
    """Half a head, half a body, a whole request without waiting, a connection reset."""
    whole = post(GRAPHS, BODY)
    for data in (whole[:20], whole[:-5], whole, whole * 20):
        client = await running.connect()
        client.send(data)
        await client.writer.drain()
        client.writer.transport.abort()
    await running.gone()
    assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200


async def test_half_closed_clients_leave_nothing(running: Served) -> None:
    """The sending side is closed in the middle of a request, the receiving one stays open."""
    loop = asyncio.get_running_loop()
    for data in (b"", post(GRAPHS, BODY)[:-5]):
        client = await running.connect()
        client.send(data)
        await client.writer.drain()
        sock: socket.socket = client.writer.get_extra_info("socket")
        with socket.socket(fileno=socket.dup(sock.fileno())) as copy:
            copy.setblocking(False)
            await loop.run_in_executor(None, copy.shutdown, socket.SHUT_WR)
    await running.gone()


async def test_plain_http_and_old_tls_are_refused(running: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(post(GRAPHS, BODY))
    async with asyncio.timeout(DEADLINE):
        with contextlib.suppress(ConnectionError):
            assert b"HTTP/" not in await reader.read()
    writer.transport.abort()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_2
    old.set_ciphers("AES128-SHA")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", running.port, ssl=old)


async def test_http_1_0_is_answered_and_closed(running: Served) -> None:
    client = await running.connect()
    client.send(post(GRAPHS, BODY).replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert (await client.answer()).headers["connection"] == "close"
    assert await client.closed()


async def test_certificates_change_under_load(running: Served) -> None:
    """Connections in use are not dropped, new ones see the new certificate, a torn pair is never served."""
    first = (await running.connect()).serial()
    stop = asyncio.Event()

    async def load() -> int:
        client, count = await running.connect(), 0
        while not stop.is_set():
            assert (await client.post(GRAPHS, BODY)).status == 200
            count += 1
        return count

    load_tasks = [asyncio.ensure_future(load()) for _ in range(4)]
    serials = {first}
    for _ in range(3):
        leaf = running.issue()
        (running.directory / "tls.key").write_bytes(leaf.private_key_pem.bytes())
        refusals = running.server.meter.counts.get("certificate_refusals", 0)
        await until(lambda seen=refusals: running.server.meter.counts.get("certificate_refusals", 0) > seen)
        assert (await running.connect()).serial() in serials
        assert running.server.reasons() == []
        reloads = running.server.meter.counts["certificate_reloads"]
        running.put(leaf)
        await until(lambda seen=reloads: running.server.meter.counts["certificate_reloads"] > seen)
        serial = (await running.connect()).serial()
        assert serial not in serials
        serials.add(serial)
    stop.set()
    counts = await asyncio.gather(*load_tasks)
    assert min(counts) > 0
    assert any("must be the key of" in line["msg"] for line in running.log())


async def test_without_a_certificate_it_waits(tmp_path: Path) -> None:
    """Not listening and not ready, with the reason, until a pair comes."""
    async with served(tmp_path, pair=False) as running:
        reasons = running.server.reasons()
        assert any("no certificate: tls.crt can't be read" in reason for reason in reasons)
        assert "not listening" in reasons
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", running.port)
        running.put(running.issue())
        async with asyncio.timeout(DEADLINE):
            await running.server.listening.wait()
        assert running.server.reasons() == []
        assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200


async def test_drain_finishes_what_has_begun(running: Served) -> None:
    """A request whose body is still arriving is answered; idle connections are closed, new ones refused."""
    busy, idle = await running.connect(), await running.connect()
    await idle.post(GRAPHS, BODY)
    whole = post(GRAPHS, BODY)
    busy.send(whole[:-1])
    await until(lambda: running.server.meter.reading.get(GRAPHS) == 1)
    drain = asyncio.ensure_future(running.server.drain())
    assert await idle.closed()
    assert "draining" in running.server.reasons()
    with pytest.raises(OSError, match=r".*"):
        await asyncio.open_connection("127.0.0.1", running.port)
    busy.send(whole[-1:])
    found = await busy.answer()
    assert (found.status, found.headers["connection"]) == (200, "close")
    async with asyncio.timeout(DEADLINE):
        await drain


async def test_a_server_that_cannot_judge_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks itself before it lets others ask."""

    def fail(*_given: object) -> None:
        raise ValueError

    monkeypatch.setattr("dynamo_webhooks.admission.judging.evaluate", fail)
    async with served(tmp_path) as running:
        [reason] = running.server.reasons()
        assert "could not be judged" in reason
        assert any(line["msg"].startswith("not ready: ") for line in running.log())


async def test_the_log_holds_names_and_never_values(running: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Good, bad, undecodable and faulty requests: one line each, and no word of the author."""
    client = await running.connect()
    bad = graph()
    bad["spec"]["services"]["frontend"]["replicas"] = -1
    bad["spec"]["services"]["worker"]["componentType"] = PRIVATE
    wrong = graph()
    wrong["spec"]["services"]["frontend"]["replicas"] = PRIVATE
    await client.post(GRAPHS, review(graph(), name="g", namespace="llm"))
    for body in (review(bad), review(wrong), review(graph(), PRIVATE), BODY[:-1], f'"{PRIVATE}"'.encode()):
        assert (await client.post(GRAPHS, body)).status in (200, 400)
    assert (await client.post(f"/{PRIVATE}", BODY)).status == 404
    client = await running.connect()

    def fail(*_given: object) -> None:
        raise ValueError(PRIVATE)

    monkeypatch.setattr("dynamo_webhooks.admission.judging.evaluate", fail)
    await client.post(GRAPHS, BODY)
    lines = running.log()
    access = [line for line in lines if line["logger"] == "access"]
    assert [line["msg"] for line in access] == ["allowed", "denied", "refused", "refused", "rejected", "rejected", "rejected", "fault"]
    assert PRIVATE not in orjson.dumps(lines).decode()
    first = access[0]
    assert first["duration_ms"] >= 0
    assert {key: first[key] for key in ("uid", "kind", "version", "namespace", "name", "operation", "allowed", "code", "rules")} == {
        "uid": "u-1",
        "kind": "DynamoGraphDeployment",
        "version": "v1alpha1",
        "namespace": "llm",
        "name": "g",
        "operation": "CREATE",
        "allowed": True,
        "code": 200,
        "rules": [],
    }
    assert "replicas-non-negative" in access[1]["rules"]
    [error] = [line for line in lines if line["logger"] == "webhooks.admission"]
    assert (error["level"], error["error"]) == ("error", "ValueError")
    assert any("_judge" in frame for frame in error["at"])
    assert logging.getLogger("aiohttp").level == logging.CRITICAL
