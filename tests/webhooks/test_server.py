"""The server on loopback: HTTP around the answers, limits, hostile clients, certificates under load, drain."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.api.line import NEWEST
from dynamo_webhooks.policies.facts import Facts
from tests.rows import run_each
from tests.webhooks import serving
from tests.webhooks.requests import GRAPHS, PRIVATE, graph, review
from tests.webhooks.serving import DEADLINE, QUICK, Client, Served, post, served, until

BODY = review(graph())


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def test_concurrent_requests_get_their_own_answers(running: Served) -> None:
    async def talk(number: int) -> list[str]:
        client = await running.connect()
        return [(await client.post(GRAPHS, review(graph(), uid=f"{number}-{turn}"))).json["response"]["uid"] for turn in range(20)]

    uids = await asyncio.gather(*(talk(number) for number in range(10)))
    assert uids == [[f"{number}-{turn}" for turn in range(20)] for number in range(10)]


JSON_TYPES = ("application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8")
OTHER_TYPES = ("", "text/plain", "application/jsonx", "application/yaml", "application/x-www-form-urlencoded")


@run_each("kind", [*JSON_TYPES, *OTHER_TYPES])
async def test_a_content_type_must_be_json(running: Served, kind: str) -> None:
    reply = await (await running.connect()).post(GRAPHS, BODY, kind)
    expected = (200, None) if kind in JSON_TYPES else (415, "the content type must be application/json")
    assert (reply.status, reply.json.get("message")) == expected


UNKNOWN = ("/", "/healthz", GRAPHS + "/", GRAPHS.upper(), "/validate", "*", "/%00")


@run_each(
    ("method", "path"),
    [*(("POST", path) for path in UNKNOWN), *((method, GRAPHS) for method in ("GET", "PUT", "DELETE", "OPTIONS", "PATCH"))],
)
async def test_unknown_paths_and_wrong_methods(running: Served, method: str, path: str) -> None:
    client = await running.connect()
    client.send(f"{method} {path} HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode())
    reply = await client.answer()
    if path == GRAPHS:
        assert (reply.status, reply.headers["allow"], reply.json["code"]) == (405, "POST", 405)
    else:
        assert reply.status in (400, 404)


async def test_head_is_answered_without_a_body(running: Served) -> None:
    client = await running.connect()
    client.send(f"HEAD {GRAPHS} HTTP/1.1\r\nHost: s\r\n\r\nGET {GRAPHS} HTTP/1.1\r\nHost: s\r\n\r\n".encode())
    async with asyncio.timeout(DEADLINE):
        head = await client.reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 405 ")
    assert (await client.answer()).status == 405


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
        reply = await client.answer()
        assert (reply.status, reply.json["code"], reply.headers["connection"]) == (413, 413, "close")
        assert str(QUICK.body) in reply.json["message"]


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
            await until(lambda: sum(running.server.snapshot().reading.values()) == 7)
        for _ in range(3):
            assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200
        await until(lambda: running.server.gauges()["open_connections"] == 8)
        assert await hog[0].closed()
        with contextlib.suppress(OSError):
            assert await (await running.connect("127.0.0.2")).closed()
        assert running.server.meter.counts["connections_refused"] == 1
        assert (await kept.post(GRAPHS, BODY)).status == 200


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


async def test_drain_finishes_what_has_begun(running: Served) -> None:
    """A request whose body is still arriving is answered; idle connections are closed, new ones refused."""
    busy, idle = await running.connect(), await running.connect()
    await idle.post(GRAPHS, BODY)
    whole = post(GRAPHS, BODY)
    busy.send(whole[:-1])
    await until(lambda: running.server.snapshot().reading.get(GRAPHS) == 1)
    drain = asyncio.ensure_future(running.server.drain())
    assert await idle.closed()
    assert "draining" in running.server.reasons()
    with pytest.raises(OSError, match=r".*"):
        await asyncio.open_connection("127.0.0.1", running.port)
    busy.send(whole[-1:])
    reply = await busy.answer()
    assert (reply.status, reply.headers["connection"]) == (200, "close")
    async with asyncio.timeout(DEADLINE):
        await drain


@pytest.mark.interpreted
async def test_a_server_that_cannot_judge_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks itself before it lets others ask."""

    def fail(*_given: object) -> None:
        raise ValueError

    monkeypatch.setattr("dynamo_webhooks.admission.judging.evaluate", fail)
    async with served(tmp_path) as running:
        [reason] = running.server.reasons()
        assert "test request at /validate" in reason
        assert any(line["msg"].startswith("not ready: ") for line in running.log())


async def test_a_release_that_is_not_known_is_told_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SETTINGS", Settings(Facts(operatorVersion="1.99.0")))
    async with served(tmp_path) as running:
        message = f"this cluster is newer than operator {NEWEST}: judged as {NEWEST}; `dynamo-webhooks facts --cluster` lists fields"
        assert any(line["msg"].startswith(message) for line in running.log())


@pytest.mark.interpreted
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
