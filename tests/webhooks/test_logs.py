"""Log lines: whole, in order, never blocking, and never the text of an exception."""

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from dynamo_webhooks.webhooks import logs
from dynamo_webhooks.webhooks.envelope import Verdict
from dynamo_webhooks.webhooks.logs import ATOMIC_BYTES, HELD_BYTES, JsonHandler, Lines, Stamp
from dynamo_webhooks.webhooks.meters import Access
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import served


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    yield tmp_path / "log", descriptor
    os.close(descriptor)


def test_lines_are_written_at_once_before_the_start(file: tuple[Path, int]) -> None:
    lines = Lines(file[1])
    lines.add(b"one\n")
    lines.add(b"two\n")
    assert file[0].read_bytes() == b"one\ntwo\n"


async def test_lines_keep_their_order(file: tuple[Path, int]) -> None:
    lines = Lines(file[1], shared=True)
    lines.start(asyncio.get_running_loop())
    written = [b"%d %s\n" % (number, b"x" * (number % 300)) for number in range(3_000)]
    for line in written:
        lines.add(line)
    lines.close()
    assert file[0].read_bytes() == b"".join(written)
    assert lines.dropped == 0


async def test_pieces_hold_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several processes share one pipe, which keeps pieces of up to 4 KiB together."""
    pieces: list[bytes] = []

    def write(_descriptor: int, data: bytes) -> int:
        pieces.append(data)
        return len(data)

    monkeypatch.setattr(os, "write", write)
    lines = Lines(shared=True)
    lines.start(asyncio.get_running_loop())
    long = b"y" * (2 * ATOMIC_BYTES) + b"\n"
    written = [b"%d %s\n" % (number, b"x" * 500) for number in range(50)]
    written.insert(20, long)
    for line in written:
        lines.add(line)
    lines.close()
    assert b"".join(pieces) == b"".join(written)
    assert all(piece.endswith(b"\n") and (len(piece) <= ATOMIC_BYTES or piece == long) for piece in pieces)


async def test_a_reader_that_does_not_read_blocks_nobody() -> None:
    """What can't be held is dropped and counted; what was held is still written when somebody reads."""
    reading, writing = os.pipe()
    lines = Lines(writing)
    lines.start(asyncio.get_running_loop())
    line = b"z" * 99_999 + b"\n"
    count = 3 * HELD_BYTES // len(line)
    for _ in range(count):
        lines.add(line)
    assert lines.dropped > 0
    wanted = (count - lines.dropped) * len(line)
    got = await asyncio.get_running_loop().run_in_executor(None, read_all, reading, wanted)
    lines.close()
    os.close(reading)
    os.close(writing)
    assert got == line * (wanted // len(line))


def read_all(descriptor: int, size: int) -> bytes:
    parts = []
    while size:
        parts.append(os.read(descriptor, size))
        size -= len(parts[-1])
    return b"".join(parts)


async def test_a_closed_reader_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    lines = Lines(writing)
    lines.start(asyncio.get_running_loop())
    lines.add(b"one\n")
    lines.close()
    os.close(writing)
    assert lines.dropped == 1


def test_times() -> None:
    stamp = Stamp()
    assert [stamp.text(now) for now in (0.0, 0.9994, 1_779_019_200.25)] == [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.999Z",
        "2026-05-17T12:00:00.250Z",
    ]


def test_exceptions_are_named_and_placed_but_not_quoted(file: tuple[Path, int]) -> None:
    logger = logging.Logger("x")
    logger.addHandler(JsonHandler(Lines(file[1]).add))
    try:
        int("private")
    except ValueError:
        logger.exception("it went %s", "wrong")
    line = orjson.loads(file[0].read_bytes())
    assert (line["level"], line["logger"], line["msg"], line["error"]) == ("error", "x", "it went wrong", "ValueError")
    assert "test_logs.py" in line["at"][0]
    assert b"private" not in file[0].read_bytes()


def test_installing_twice_writes_once(file: tuple[Path, int]) -> None:
    """A process installs its own lines over those that it was forked with."""
    first = logs.install(Lines(file[1]))
    second = logs.install(Lines(file[1]))
    try:
        logging.getLogger("y").info("once")
        assert file[0].read_bytes().count(b"once") == 1
        assert first not in logging.getLogger().handlers
    finally:
        logs.remove(second)


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(("header", "told"), [(TRACE, TRACE), ("", None), (TRACE + "x", None), (TRACE.upper(), None), ("word\nword", None)])
def test_a_trace_is_told_where_it_is_one(header: str, told: str | None) -> None:
    """Anything else in that header is a client's free text."""
    line = orjson.loads(Access().line(None, Verdict("allowed", 200), 0.0, header))
    assert line.get("traceparent") == told


async def test_the_trace_of_a_request_is_in_its_line(tmp_path: Path) -> None:
    async with served(tmp_path) as running:
        await (await running.connect()).post(GRAPHS, review(graph()), "application/json", f"traceparent: {TRACE}")
        [line] = [line for line in running.log() if line["logger"] == "access"]
        assert line["traceparent"] == TRACE
