"""What clients write into names, uids, paths and headers can't forge, colour or swell a log line."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.api.operator.server import Logging
from dynamo_webhooks.webhooks import logs
from dynamo_webhooks.webhooks.logs import ATOMIC_BYTES, Lines, readable, word
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import served

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
each_hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())


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
    found: dict[str, Any] = orjson.loads(line)
    assert all(text.isprintable() for text in texts(found)), found
    shown = readable(line)
    assert shown.decode()[:-1].isprintable()
    assert shown.count(b"\n") == 1
    return found


@each_hostile
async def test_each_request_has_one_line_whatever_it_says(tmp_path: Path, text: str) -> None:
    """Refused, allowed and converted; in every place that a line quotes, and in those that none does."""
    obj = graph() | {"kind": text, "apiVersion": text}
    obj["metadata"] |= {"name": text, "namespace": text, "uid": text, "annotations": {text: text}, "labels": {text: text}}
    bodies = [
        (GRAPHS, review(obj, uid=text, name=text, namespace=text, userInfo={"username": text})),
        (GRAPHS, review(graph(), uid=text, name=text, namespace=text, resource={"group": text, "version": text, "resource": text})),
        (GRAPHS, review(graph(), text, uid=text, name=text, namespace=text, subResource=text, dryRun=text)),
        (GRAPHS, orjson.dumps({"kind": text, "apiVersion": text, "request": {"uid": text}})),
        (
            "/convert",
            orjson.dumps(
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "ConversionReview",
                    "request": {"uid": text, "desiredAPIVersion": text, "objects": [obj]},
                }
            ),
        ),
    ]
    async with served(tmp_path) as running:
        client = await running.connect()
        for path, body in bodies:
            assert (await client.post(path, body)).status in (200, 400)
        running.log()
        lines = (tmp_path / "log").read_bytes().splitlines(keepends=True)
    found = [line for line in map(checked, lines) if line["logger"] == "access"]
    assert len(found) == len(bodies)
    assert not any(line["msg"] == "forged" for line in map(orjson.loads, lines))


@pytest.mark.parametrize("value", [b"\xff\xfe", b"\x1b[31m", b"\xe2\x80\xae", b"00-" + b"a" * 3000, b"\xed\xa0\x80"], ids=repr)
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


@each_hostile
@pytest.mark.parametrize("console", [False, True])
def test_messages_of_ordinary_records(tmp_path: Path, text: str, *, console: bool) -> None:
    """What other libraries and our own modules log, for programs and for people."""
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
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


def test_a_record_with_half_a_character_is_written(tmp_path: Path) -> None:
    """A lone surrogate, of a file name that is no UTF-8 for one, has no UTF-8."""
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    handler = logs.install(Lines(descriptor))
    try:
        logging.getLogger("somebody").error("it says %s", "\ud800\udcff")
    finally:
        logs.remove(handler)
        os.close(descriptor)
    assert checked((tmp_path / "log").read_bytes())["msg"] == "it says \\ud800\\udcff"


def test_words_are_cut_and_escaped() -> None:
    assert word("plain-name") == "plain-name"
    assert word("a\nb") == "a\\nb"
    assert word("x" * 300) == "x" * 252 + "\N{HORIZONTAL ELLIPSIS}"
    assert len(word("\x1b" * 300)) == 253
