"""Log lines: whole, in order, never blocking, and never the text of an exception."""

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.api.operator.server import Logging
from dynamo_webhooks.webhooks import logs
from dynamo_webhooks.webhooks.access_log import access_line
from dynamo_webhooks.webhooks.envelope import Verdict
from dynamo_webhooks.webhooks.log_lines import ATOMIC_BYTES, MAX_PENDING_BYTES, Lines
from dynamo_webhooks.webhooks.log_text import readable, stamp, word
from dynamo_webhooks.webhooks.logs import JsonHandler
from tests.rows import run_each
from tests.webhooks.requests import GRAPHS, conversion, graph, review
from tests.webhooks.serving import served

PLAIN: dict[str, Any] = {"server": {"metrics": {"secure": False}}}


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
    count = 3 * MAX_PENDING_BYTES // len(line)
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
    assert [stamp(now) for now in (0.0, 0.9994, 1_779_019_200.25)] == [
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


@run_each(("header", "trace"), [(TRACE, TRACE), ("", None), (TRACE + "x", None), (TRACE.upper(), None), ("word\nword", None)])
def test_a_trace_is_told_where_it_is_one(header: str, trace: str | None) -> None:
    """Anything else in that header is a client's free text."""
    line = orjson.loads(access_line("", None, Verdict("allowed", 200), 0.0, header))
    assert line.get("traceparent") == trace


FORGED: Final = '{"level":"error","msg":"forged"}'
HOSTILE: Final = {
    "newline": f"a\n{FORGED}\n",
    "carriage return": f"a\r{FORGED}",
    "terminal codes": "\x1b[2J\x1b]0;title\x07\x9b31m",
    "controls": "".join(map(chr, [*range(32), *range(127, 160)])),
    "bidirectional": "\u202eevil\u2066\u2069\u200f\u061c",
    "line separators": f"a\u2028{FORGED}\u2029\x85\x0b\x0c",
    "invisible": "\ufeff\u200b\u00ad\U000e0041",
    "private use": "\ue000\U0010ffff",
    "quotes": '"},{"\\" name=forged level=error',
    "huge": "x" * 100_000,
    "huge and unprintable": "\x1b" * 20_000,
    "key and value": "a allowed=true code=200",
}


def texts(value: Any) -> Iterator[str]:
    """Every text in a decoded line."""
    if isinstance(value, dict):
        for key, held in value.items():
            yield from (key, *texts(held))
    elif isinstance(value, list):
        for held in value:
            yield from texts(held)
    elif isinstance(value, str):
        yield value


def checked(line: bytes) -> dict[str, Any]:
    """A line that is one line, short, printable and JSON."""
    assert line.endswith(b"\n")
    assert len(line) <= ATOMIC_BYTES
    assert line.decode()[:-1].isprintable()
    entry: dict[str, Any] = orjson.loads(line)
    assert all(text.isprintable() for text in texts(entry)), entry
    shown = readable(line)
    assert shown.decode()[:-1].isprintable()
    assert shown.count(b"\n") == 1
    return entry


@run_each("text", HOSTILE.values(), HOSTILE)
async def test_each_request_has_one_line_whatever_it_says(tmp_path: Path, text: str) -> None:
    """Refused, allowed and converted; in every place that a line quotes, and in those that none does."""
    obj = graph() | {"kind": text, "apiVersion": text}
    obj["metadata"] |= {"name": text, "namespace": text, "uid": text, "annotations": {text: text}, "labels": {text: text}}
    bodies = [
        (GRAPHS, review(obj, uid=text, name=text, namespace=text, userInfo={"username": text})),
        (GRAPHS, review(graph(), uid=text, name=text, namespace=text, resource={"group": text, "version": text, "resource": text})),
        (GRAPHS, review(graph(), text, uid=text, name=text, namespace=text, subResource=text, dryRun=text)),
        (GRAPHS, orjson.dumps({"kind": text, "apiVersion": text, "request": {"uid": text}})),
        ("/convert", conversion([obj], text, text)),
    ]
    async with served(tmp_path) as running:
        client = await running.connect()
        for path, body in bodies:
            assert (await client.post(path, body)).status in (200, 400)
        running.log()
        lines = (tmp_path / "log").read_bytes().splitlines(keepends=True)
    entries = [line for line in map(checked, lines) if line["logger"] == "access"]
    assert len(entries) == len(bodies)
    assert not any(line["msg"] == "forged" for line in map(orjson.loads, lines))


@run_each("value", [b"\xff\xfe", b"\x1b[31m", b"\xe2\x80\xae", b"00-" + b"a" * 3000, b"\xed\xa0\x80"])
async def test_headers_and_paths_that_are_no_text(tmp_path: Path, value: bytes) -> None:
    """Bytes that are no UTF-8, codes and surrogates; each request is answered once, or refused, and leaves at most one line."""
    async with served(tmp_path) as running:
        for place in ("header", "path"):
            client = await running.connect()
            path, header = (GRAPHS.encode(), value) if place == "header" else (b"/" + value, b"x")
            client.send(b"POST %s HTTP/1.1\r\nHost: s\r\ntraceparent: %s\r\nContent-Length: 0\r\n\r\n" % (path, header))
            assert (await client.answer()).status in (400, 404, 415)
        running.log()
        lines = (tmp_path / "log").read_bytes().splitlines(keepends=True)
    assert sum(line["logger"] == "access" for line in map(checked, lines)) <= 2
    assert not any("traceparent" in orjson.loads(line) for line in lines)


@run_each("text", [*HOSTILE.values(), "\ud800\udcff"], ids=[*HOSTILE, "half a character"])
@run_each("console", [False, True])
def test_messages_of_ordinary_records(tmp_path: Path, text: str, *, console: bool) -> None:
    """What other libraries and our own modules log, for programs and for people; a lone surrogate has no UTF-8."""
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    handler = logs.install(Lines(descriptor), Logging(format="console" if console else "json"))
    try:
        logging.getLogger("somebody").error("it says %s", text)
    finally:
        logs.remove(handler)
        os.close(descriptor)
    [line] = (tmp_path / "log").read_bytes().splitlines(keepends=True)
    assert len(line) <= ATOMIC_BYTES
    assert line.decode()[:-1].isprintable()
    if not console:
        assert checked(line)["msg"].startswith("it says ")


def test_words_are_cut_and_escaped() -> None:
    assert word("plain-name") == "plain-name"
    assert word("a\nb") == "a\\nb"
    assert word("x" * 300) == "x" * 252 + "\N{HORIZONTAL ELLIPSIS}"
    assert len(word("\x1b" * 300)) == 253


def test_every_level_of_the_configuration_is_one() -> None:
    before = logging.getLogger().level
    try:
        for name in ("debug", "info", "warn", "warning", "error"):
            logs.remove(logs.install(Lines(), Logging(level=name)))
            assert logging.getLogger().level == logging.getLevelNamesMapping()[name.upper()]
    finally:
        logging.getLogger().setLevel(before)
