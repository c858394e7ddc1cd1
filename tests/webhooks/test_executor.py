"""Long requests in processes of their own: equal answers, bounds of CPU and memory, crashes, fairness."""

import contextlib
import ctypes
import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.conversion import objects
from dynamo_webhooks.webhooks import admission, convert
from dynamo_webhooks.webhooks.executor import forker
from dynamo_webhooks.webhooks.executor.executor import PROCESS_ENDED
from dynamo_webhooks.webhooks.executor.forker import NO_PROCESS, Order
from dynamo_webhooks.webhooks.limits import Bound, Limits
from dynamo_webhooks.webhooks.routes import ROUTES
from dynamo_webhooks.webhooks.spool import Spool
from tests.rows import run_each
from tests.webhooks.requests import GRAPHS, conversion, graph, review
from tests.webhooks.serving import QUICK, Http, post, served, until
from tests.webhooks.test_admission import SETTINGS
from tests.webhooks.test_convert import MIXED
from tests.webhooks.test_processes import state

LONG: Final = QUICK.small_body + 1
CHUNKED: Final = f"POST {GRAPHS} HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
WITHIN: Final = QUICK._replace(request_cpu=0.3, conversion_cpu_seconds_per_mib=0.0)


def padded(body: bytes) -> bytes:
    """The same review, long enough to be answered in a process of its own."""
    return body + b" " * (LONG - len(body))


def forever() -> None:
    """Takes CPU time until somebody ends it."""
    while True:
        pass


def swallowing() -> None:
    """Rules and conversions catch every exception: this must not hide the end of a request."""
    while True:
        with contextlib.suppress(Exception):
            forever()


def stuck() -> None:
    """What never gives Python a chance to raise."""
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
    forever()


def greedy() -> None:
    """Takes memory until there is none."""
    kept = []
    while True:
        kept.append(bytes(1024 * 1024))


def crashing() -> None:
    """Ends as a fault of a library would."""
    ctypes.string_at(0)


def slowly(monkeypatch: pytest.MonkeyPatch, what: Callable[[], None]) -> None:
    """Makes what judges and what converts do something else; for servers that start later, and their long requests alone."""
    here = os.getpid()
    judge, convert_object = admission._judge, objects.convert_object

    def judged(*given: Any) -> Any:
        if os.getpid() != here:
            what()
        return judge(*given)

    def converted(*given: Any) -> Any:
        if os.getpid() != here:
            what()
        return convert_object(*given)

    monkeypatch.setattr(admission, "_judge", judged)
    monkeypatch.setattr(convert, "convert_object", converted)


async def ask(tmp_path: Path, path: str, body: bytes, limits: Limits) -> tuple[Http, dict[str, int]]:
    """What a server answers, the bounds that were met; a small request beside it must be answered."""
    async with served(tmp_path, limits) as server:
        client = await server.connect()
        reply = await client.post(path, body)
        other = await server.connect()
        assert (await other.post(GRAPHS, review(graph()))).json["response"]["allowed"] is True
        assert (await other.post(GRAPHS, padded(review(graph())))).status in (200, 503)
        return reply, server.server.meter.bounds


@run_each("path", sorted(ROUTES))
async def test_the_answer_is_the_same_as_in_the_event_loop(tmp_path: Path, path: str) -> None:
    """Byte for byte, and the log and the counters say the same."""
    route = ROUTES[path]
    body = conversion(MIXED) if path == "/convert" else admission.example(route, "u-1")
    if path == GRAPHS:
        broken = graph()
        broken["spec"]["services"]["main"] = {"replicas": -1}
        body = review(broken)
    async with served(tmp_path) as server:
        client = await server.connect()
        short = await client.post(path, body)
        long = await client.post(path, padded(body))
        assert (long.status, long.body) == (short.status, short.body)
        first, other = [line for line in server.log() if line["logger"] == "access"]
        counted = server.server.meter
    same = {key: value for key, value in first.items() if key not in ("ts", "duration_ms", "seconds", "ms", "size", "bytes")}
    assert {key: other[key] for key in same} == same
    assert all(sum(values[1:]) == 2 for values in counted.requests.values())
    if path == "/convert":
        assert sum(objects for objects, _ in counted.conversions.values()) == 2 * len(MIXED)


SPENT: Final = "the request needs more than 0.3 s of CPU time, the limit of one request; make it smaller"
LITTLE: Final = QUICK._replace(request_memory=2**26)
NO_MEMORY: Final = "the request needs more memory than one request may have; make the object or the list smaller"
NOTHING_YET: Final = "; 0 objects had been converted"
LINUX: Final = pytest.mark.skipif(sys.platform != "linux", reason="other systems don't bound memory so")


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("path", "what", "limits", "code", "text", "bound"),
    [
        (GRAPHS, forever, WITHIN, 413, SPENT, Bound.REQUEST_CPU),
        (GRAPHS, swallowing, WITHIN, 413, SPENT, Bound.REQUEST_CPU),
        ("/convert", forever, WITHIN, 413, SPENT + NOTHING_YET, Bound.REQUEST_CPU),
        (GRAPHS, stuck, WITHIN, 503, PROCESS_ENDED, Bound.REQUEST_MEMORY),
        pytest.param(GRAPHS, greedy, LITTLE, 413, NO_MEMORY, Bound.REQUEST_MEMORY, marks=LINUX),
        pytest.param("/convert", greedy, LITTLE, 413, NO_MEMORY + NOTHING_YET, Bound.REQUEST_MEMORY, marks=LINUX),
        (GRAPHS, crashing, WITHIN, 503, PROCESS_ENDED, Bound.REQUEST_MEMORY),
    ],
)
async def test_a_request_beyond_a_bound_is_refused_and_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, what: Callable[[], None], limits: Limits, code: int, text: str, bound: Bound
) -> None:
    """With its uid, where its process notices; what doesn't notice the bound is ended."""
    if what is stuck:
        monkeypatch.setattr(forker, "GRACE_SECONDS", 0)
    slowly(monkeypatch, what)
    body = review(graph()) if path == GRAPHS else conversion([graph()])
    reply, bounds = await ask(tmp_path, path, padded(body), limits)
    response = reply.json.get("response", {})
    status = response.get("status") or response.get("result") or reply.json
    assert (reply.status, status["status"], status["code"]) == (200 if response else 503, "Failure", code)
    assert status["reason"] == {413: "RequestEntityTooLarge", 503: "ServiceUnavailable"}[code]
    assert status["message"] == text
    if response:
        assert response["uid"] == orjson.loads(body)["request"]["uid"]
        assert response.get("allowed", False) is False
    assert bounds[bound] == 2 if path == "/convert" and what is forever else bounds[bound] >= 1  # with the admission request behind it


@pytest.mark.interpreted
async def test_the_process_of_a_client_that_leaves_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would hold 100 MiB, and its place, for as long as a request may take: an API server gives up after ten seconds, and asks again."""
    begun = tmp_path / "begun"

    def working() -> None:
        begun.write_text(str(os.getpid()))
        forever()

    slowly(monkeypatch, working)
    async with served(tmp_path, QUICK._replace(request_cpu=60.0)) as server:
        client = await server.connect()
        client.send(post(GRAPHS, padded(review(graph()))))
        await until(lambda: begun.exists() and begun.read_text())
        client.writer.transport.abort()
        pid = int(begun.read_text())
        await until(lambda: state(pid) in "ZX")


@pytest.mark.parametrize("size", [1, 100_000])
async def test_a_long_result_arrives_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Its reader's reads must not end its process."""
    real = forker._answered
    here = os.getpid()

    def answered(*given: Any) -> Any:
        result = real(*given)
        if os.getpid() != here:
            result.verdict.uid = "x" * size
        return result

    monkeypatch.setattr(forker, "_answered", answered)
    async with served(tmp_path) as server:
        client = await server.connect()
        assert (await client.post(GRAPHS, padded(review(graph())))).status == 200


async def test_where_no_process_can_be_started_a_request_is_refused_and_the_next_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short of processes for a moment, a node must not lose its servers: the forking process used to end, and its server with it."""
    here, real, tries = os.getpid(), os.fork, [1]

    def crowded() -> int:
        if os.getpid() != here and tries:
            tries.clear()
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return real()

    monkeypatch.setattr(os, "fork", crowded)
    async with served(tmp_path) as server:
        client = await server.connect()
        reply = await client.post(GRAPHS, padded(review(graph())))
        assert (reply.status, reply.json["message"]) == (503, f"{NO_PROCESS}: Resource temporarily unavailable")
        assert (await client.post(GRAPHS, padded(review(graph())))).json["response"]["allowed"] is True
        assert server.server.reasons() == []


def _open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_facts_that_change_are_known_to_the_next_request(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        client = await server.connect()
        body = padded(review(graph()))
        assert (await client.post(GRAPHS, body)).json["response"]["allowed"] is True
        namespace = graph()["metadata"]["namespace"]
        facts = SETTINGS.facts._replace(excludedNamespaces=frozenset({namespace}))
        server.server.use(SETTINGS._replace(facts=facts))
        assert (await client.post(GRAPHS, body)).json["response"]["allowed"] is True
        lines = [line for line in server.log() if line["logger"] == "access"]
    assert [line.get("skipped", "") for line in lines] == ["", "excluded"]


async def test_no_process_and_no_file_is_left_behind(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        client = await server.connect()
        await client.post("/convert", padded(conversion(MIXED)))
        before = _open_files()
        for _ in range(20):
            await client.post("/convert", padded(conversion(MIXED)))
        assert _open_files() == before
        for number in range(10):  # settings that change are sent to the forking process
            server.server.use(SETTINGS._replace(facts=SETTINGS.facts._replace(operatorVersion=f"1.2.{number}")))
            assert (await client.post(GRAPHS, padded(review(graph())))).status == 200
        assert _open_files() == before
        pid = server.server._executor._pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_end_of_the_forking_process_is_noticed(tmp_path: Path) -> None:
    """The server isn't ready any more."""
    async with served(tmp_path) as server:
        os.kill(server.server._executor._pid, signal.SIGKILL)
        await until(lambda: server.server.reasons() == ["the process that answers long requests has ended"])
        client = await server.connect()
        assert (await client.post(GRAPHS, padded(review(graph())))).status == 503
        assert (await client.post(GRAPHS, review(graph()))).status == 200


async def test_an_empty_long_body_is_answered(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        client = await server.connect()
        client.send(CHUNKED + b"0\r\n\r\n")
        reply = await client.answer()
    assert (reply.status, reply.json["message"]) == (400, "the body must be of kind AdmissionReview, got nothing")


def test_an_order_fits_its_frame() -> None:
    longest = max(ROUTES, key=len)
    assert len(orjson.dumps([*Order(longest, 2**40, 1e6 + 0.123456789, 2**40, 50)])) < forker.FRAME_BYTES
    assert time.process_time() < 2**40  # as many seconds as the frame has room for


async def test_log_lines_of_a_long_request_are_the_servers(tmp_path: Path) -> None:
    """Nobody who doesn't read them is waited for, and no more than a few are kept."""
    obj = graph()
    obj["metadata"]["annotations"] = {"nvidia.com/dgd-spec": "damaged"}
    async with served(tmp_path) as server:
        client = await server.connect()
        assert (await client.post("/convert", padded(conversion([obj] * 200)))).status == 200
        warned = [line for line in server.log() if "could not be used" in line["msg"]]
    assert 0 < len(warned) <= forker.MAX_LOG_LINES
    assert {line["logger"] for line in warned} == {"webhooks.convert"}


def test_a_spool_is_written_and_mapped_and_cleared() -> None:
    with Spool() as spool:
        spool.write(b"one")
        spool.write(memoryview(b" two"))
        assert (spool.size, bytes(spool.mapped(spool.size))) == (7, b"one two")
        spool.clear()
        spool.write(b"x")
        mapped = spool.mapped(spool.size)
    assert (spool.descriptor, bytes(mapped)) == (-1, b"x")
