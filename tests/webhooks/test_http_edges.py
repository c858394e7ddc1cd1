"""HTTP at its edges, over TLS: each request is answered once or refused with 400, and what follows is answered in step or not at all."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.webhooks.limits import Bound
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import DEADLINE, QUICK, Served, post, served

BODY: Final = review(graph(), uid="first")
BEHIND: Final = post(GRAPHS, review(graph(), uid="behind"))
MARK: Final = post(GRAPHS, review(graph(), uid="mark"))
PATH: Final = GRAPHS.encode()
HEAD: Final = b"POST %s HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\n" % PATH
OLD: Final = HEAD.replace(b"/1.1", b"/1.0")
LENGTH: Final = b"Content-Length: %d\r\n" % len(BODY)
CODING: Final = b"Transfer-Encoding: chunked\r\n"
SIZE: Final = b"%x" % len(BODY)
CHUNKS: Final = SIZE + b"\r\n" + BODY + b"\r\n0\r\n"
CHUNKED: Final = HEAD + CODING + b"\r\n"


def lengthy(head: bytes) -> bytes:
    """A request with a length and one header line more."""
    return HEAD + LENGTH + head + b"\r\n" + BODY


def coded(coding: bytes, head: bytes = HEAD) -> bytes:
    """A request in chunks with some transfer coding."""
    return head + b"Transfer-Encoding: " + coding + b"\r\n\r\n" + CHUNKS + b"\r\n"


def chunk(line: bytes, end: bytes = b"\r\n", rest: bytes = b"0\r\n\r\n") -> bytes:
    """A request of one chunk with some size line."""
    return CHUNKED + line + b"\r\n" + BODY + end + rest


# answered, and the next request on the connection, too
GOOD: Final = {
    "length": lengthy(b""),
    "chunks": CHUNKED + CHUNKS + b"\r\n",
    "chunks of a byte": CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n",
    "length with leading zeros": HEAD + b"Content-Length: 000%d\r\n\r\n" % len(BODY) + BODY,
    "length between tabs": HEAD + b"Content-Length:\t%d\t\r\n\r\n" % len(BODY) + BODY,
    "coding after a tab": coded(b"\tchunked"),
    "coding in capitals": coded(b"CHUNKED"),
    "another header with an underscore": lengthy(b"Transfer_Encoding: chunked\r\n"),
    "text beyond ASCII": lengthy("X: \u00e9\r\n".encode()),
    "URL": HEAD.replace(PATH, b"https://s" + PATH) + LENGTH + b"\r\n" + BODY,
    "URL in capitals": HEAD.replace(PATH, b"HTTPS://elsewhere:1" + PATH + b"?a") + LENGTH + b"\r\n" + BODY,
    "long query": HEAD.replace(PATH, PATH + b"?" + b"x" * 4000) + LENGTH + b"\r\n" + BODY,
    "empty lines before": b"\r\n\r\n" + lengthy(b""),
    "trailers": CHUNKED + CHUNKS + b"X: y\r\n\r\n",
    "chunk extensions": chunk(SIZE + b';a=b;c="d"'),
    "zeros before a chunk size": chunk(b"0" * 100 + SIZE),
    "sixty headers": lengthy(b"".join(b"X%d: y\r\n" % number for number in range(60))),
    "the longest header": lengthy(b"X: " + b"y" * 4000 + b"\r\n"),
    "nearly the longest head": lengthy(b"".join(b"X%d: " % number + b"y" * 2400 + b"\r\n" for number in range(6))),
    "another expectation": lengthy(b"Expect: 200-ok\r\n"),
    "proxy header": lengthy(b"Proxy-Connection: keep-alive\r\n"),
}
# refused by a status, and the next request answered, as everything of this one has been read
REFUSED: Final = {
    "no body": (HEAD + b"\r\n", 400),
    "asterisk": (b"OPTIONS * HTTP/1.1\r\nHost: s\r\n\r\n", 404),
    "other method": (b"DELETE " + PATH + b" HTTP/1.1\r\nHost: s\r\n\r\n", 405),
    "path of a URL without one": (b"GET http://s HTTP/1.1\r\nHost: s\r\n\r\n", 404),
}
# answered or refused by a status, and then the connection ends, whatever follows
LAST: Final = {
    "percent-encoded path": (lengthy(b"").replace(b"/validate", b"/%76alidate"), 404),
    "path with a dot": (lengthy(b"").replace(b"/validate", b"/./validate"), 404),
    "path with two slashes": (lengthy(b"").replace(b"/validate", b"//validate"), 404),
    "fragment": (lengthy(b"").replace(b" HTTP/", b"#x HTTP/"), 404),
    "body of another method": (lengthy(b"").replace(b"POST", b"GET"), 405),
    "chunks of another method": (coded(b"chunked").replace(b"POST", b"GET"), 405),
    "CONNECT": (b"CONNECT s:443 HTTP/1.1\r\nHost: s:443\r\n\r\n", 404),
    "CONNECT with a body": (b"CONNECT s:443 HTTP/1.1\r\nHost: s:443\r\n" + LENGTH + b"\r\n" + BODY, 404),
    "CONNECT to a path": (b"CONNECT " + PATH + b" HTTP/1.1\r\nHost: s\r\n" + LENGTH + b"\r\n" + BODY, 405),
    "upgrade to h2c": (
        lengthy(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
        200,
    ),
    "upgrade to a WebSocket": (lengthy(b"Connection: Upgrade\r\nUpgrade: websocket\r\n"), 200),
    "upgrade without a connection header": (lengthy(b"Upgrade: h2c\r\n"), 200),
    "upgrade of chunks": (CHUNKED.replace(CODING, CODING + b"Connection: Upgrade\r\nUpgrade: websocket\r\n") + CHUNKS + b"\r\n", 200),
    "HTTP/1.0 that wants to stay": (OLD + LENGTH + b"Connection: keep-alive\r\n\r\n" + BODY, 200),
}
# no HTTP/1.1, or not safely
BAD: Final = {
    "length and chunks": HEAD + LENGTH + CODING + b"\r\n" + CHUNKS + b"\r\n",
    "chunks and length": HEAD + CODING + LENGTH + b"\r\n" + CHUNKS + b"\r\n",
    "two equal lengths": HEAD + LENGTH + LENGTH + b"\r\n" + BODY,
    "two lengths": HEAD + LENGTH + b"Content-Length: 5\r\n\r\n" + BODY,
    "list of lengths": HEAD + b"Content-Length: %d, %d\r\n\r\n" % (len(BODY), len(BODY)) + BODY,
    "length with a plus": HEAD + b"Content-Length: +%d\r\n\r\n" % len(BODY) + BODY,
    "length below zero": HEAD + b"Content-Length: -1\r\n\r\n",
    "empty length": HEAD + b"Content-Length: \r\n\r\n" + BODY,
    "length with a space": HEAD + b"Content-Length: 1 0\r\n\r\n" + BODY,
    "length with an underscore": HEAD + b"Content-Length: 1_0\r\n\r\n" + BODY,
    "length in hexadecimal": HEAD + b"Content-Length: 0x10\r\n\r\n",
    "length in other digits": HEAD + "Content-Length: \u0661\r\n\r\n".encode() + BODY,
    "length beyond 64 bits": HEAD + b"Content-Length: 18446744073709551617\r\n\r\n" + BODY,
    **{
        f"coding {coding!r}": coded(coding)
        for coding in (
            b"chunked, identity",
            b"identity",
            b"xchunked",
            b"chunked, chunked",
            b"gzip, chunked",
            b"identity, chunked",
            b",chunked",
            b"chunked,",
            b'"chunked"',
            b"chunked;q=1",
            b"",
            b"\x0bchunked",
            b"chunked\x0c",
            b"\xa0chunked",
            b"chunked\r",
            b"chunked\x00",
            b"\r\n chunked",
            b"chunked\r\nTransfer-Encoding: chunked",
            b"identity\r\nTransfer-Encoding: chunked",
            b"chunked\r\nTransfer-Encoding: identity",
        )
    },
    "space before a colon": HEAD + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS + b"\r\n",
    "tab before a colon": HEAD + b"Transfer-Encoding\t: chunked\r\n\r\n" + CHUNKS + b"\r\n",
    "length and a coding that isn't one": HEAD + LENGTH + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + BODY,
    "chunks in HTTP/1.0": coded(b"chunked", OLD),
    "chunks and length in HTTP/1.0": OLD + LENGTH + CODING + b"\r\n" + CHUNKS + b"\r\n",
    "folded header": lengthy(b"X: a\r\n b\r\n"),
    "folded first header": lengthy(b"").replace(b"Host", b" Host"),
    **{f"control {code} in a value": lengthy(b"X: a%cb\r\n" % code) for code in (0, 7, 8, 11, 12, 13, 27, 127)},
    **{f"{code} in a name": lengthy(b"X%cY: z\r\n" % code) for code in b'\x00\x01\x7f (),/;<=>?@[]{}\\"\xe9'},
    "empty name": lengthy(b": x\r\n"),
    "no colon": lengthy(b"X\r\n"),
    "no host": lengthy(b"").replace(b"Host: s\r\n", b""),
    "two hosts": lengthy(b"Host: t\r\n"),
    "two content types": lengthy(b"Content-Type: text/plain\r\n"),
    "lower-case method": lengthy(b"").replace(b"POST", b"post"),
    "mixed-case method": lengthy(b"").replace(b"POST", b"Post"),
    "unknown method": lengthy(b"").replace(b"POST", b"BREW"),
    "endless method": lengthy(b"").replace(b"POST", b"A" * 3000),
    "carriage returns alone": (HEAD + LENGTH).replace(b"\r\n", b"\r") + b"\r\n" + BODY,
    "line feeds alone": (HEAD + LENGTH).replace(b"\r\n", b"\n") + b"\n" + BODY,
    "one line feed alone": HEAD + b"X: y\n" + LENGTH + b"\r\n" + BODY,
    "two carriage returns": lengthy(b"X: a\r\r\n"),
    "line feed at the end of the head": HEAD + LENGTH + b"\n" + BODY,
    "space before a request": b" " + lengthy(b""),
    "NUL in a path": lengthy(b"").replace(b"/validate", b"/\x00validate"),
    "space in a path": lengthy(b"").replace(b" HTTP/", b" x HTTP/"),
    "tab for a space": lengthy(b"").replace(b"POST ", b"POST\t"),
    "UTF-8 in a path": b"POST /\xc3\xa9 HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n",
    "no UTF-8 in a path": b"POST /\xff HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n",
    "POST to an asterisk": b"POST * HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n",
    "POST to an authority": b"POST s:443 HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n",
    "relative path": b"POST validate HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n",
    "TLS in TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64 + b"\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    **{
        f"version {version!r}": lengthy(b"").replace(b"HTTP/1.1", version)
        for version in (b"HTTP/0.9", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/01.1", b"HTTP/1.10", b"http/1.1", b"HTTP/11", b"HTTP/1,1", b"")
    },
    "trailer that is no header": CHUNKED + CHUNKS + b"X y\r\n\r\n",
    "trailer with a length": CHUNKED + CHUNKS + b"Content-Length: 5\r\n\r\n",
    "trailer with NUL": CHUNKED + CHUNKS + b"X: \x00\r\n\r\n",
    "two thousand trailers": CHUNKED + CHUNKS + b"".join(b"X%d: y\r\n" % number for number in range(2000)) + b"\r\n",
    "long trailer": CHUNKED + CHUNKS + b"X: " + b"y" * 20_000 + b"\r\n\r\n",
    **{f"{code} in a chunk extension": chunk(SIZE + b";a%cb" % code) for code in (0, 10, 13)},
    **{
        f"chunk size {size!r}": chunk(size)
        for size in (b"+" + SIZE, b"-1", b"0x" + SIZE, b"1_0", b" " + SIZE, SIZE + b" ", b"", b"1" + b"0" * 16, b"g", SIZE + b"\t", b";")
    },
    "chunk size that ends in a line feed": CHUNKED + SIZE + b"\n" + BODY + b"\r\n0\r\n\r\n",
    "chunk that ends in a line feed": chunk(SIZE, b"\n"),
    "chunk that does not end": chunk(SIZE, b""),
    "chunk longer than it says": chunk(SIZE, b"XX\r\n"),
    "last chunk that ends in line feeds": chunk(SIZE, rest=b"0\n\n"),
    "seventy headers": lengthy(b"".join(b"X%d: y\r\n" % number for number in range(70))),
    "header too long": lengthy(b"X: " + b"y" * 4200 + b"\r\n"),
    "head too long": lengthy(b"".join(b"X%d: " % number + b"y" * 3000 + b"\r\n" for number in range(9))),
    "head that never begins": b"\r\n" * 30_000,
    "name too long": lengthy(b"X" * 5000 + b": y\r\n"),
    "target too long": lengthy(b"").replace(PATH, PATH + b"?" + b"x" * 5000),
}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made
        assert (await (await made.connect()).post(GRAPHS, BODY)).status == 200
        assert [line for line in made.log() if line["level"] == "error"] == []


async def got(running: Served, data: bytes, *, slowly: bool) -> tuple[list[tuple[int, str]], bool]:
    """What a connection is answered on which bytes have been sent, at once or in pieces: statuses and uids; and whether it was closed.

    The last of all answers is waited for by one request more, which only a connection in step answers.
    """
    client = await running.connect()
    step = 701 if slowly else len(data)
    for start in range(0, len(data), step):
        client.send(data[start : start + step])
        await asyncio.sleep(0)
    client.send(MARK)
    answers: list[tuple[int, str]] = []
    try:
        while not answers or answers[-1][1] != "mark":
            answer = await client.answer()
            answers.append((answer.status, str(answer.json.get("response", {}).get("uid", ""))))
    except (asyncio.IncompleteReadError, ConnectionError):
        assert answer.headers["connection"] == "close", "or somebody sends a request on it that gets no answer"
        assert await client.closed()
        return answers, True
    return answers[:-1], False


slowly = pytest.mark.parametrize("slowly", [False, True], ids=["at once", "in pieces"])


@slowly
async def test_what_is_http_is_answered_in_step(running: Served, *, slowly: bool) -> None:
    """Whole and in pieces, with a request before it and behind it."""
    answers = {name: await got(running, BEHIND + data + BEHIND, slowly=slowly) for name, data in GOOD.items()}
    assert answers == dict.fromkeys(GOOD, ([(200, "behind"), (200, "first"), (200, "behind")], False))


@slowly
async def test_what_is_refused_whole_leaves_the_connection_in_step(running: Served, *, slowly: bool) -> None:
    answers = {name: await got(running, data + BEHIND, slowly=slowly) for name, (data, _) in REFUSED.items()}
    assert answers == {name: ([(status, ""), (200, "behind")], False) for name, (_, status) in REFUSED.items()}


@slowly
async def test_what_must_be_the_last_request_is(running: Served, *, slowly: bool) -> None:
    """One answer; nothing behind it is taken for a request."""
    answers = {name: await got(running, data + BEHIND, slowly=slowly) for name, (data, _) in LAST.items()}
    assert answers == {name: ([(status, "first" if status == 200 else "")], True) for name, (_, status) in LAST.items()}


@slowly
async def test_what_is_no_http_is_refused_once(running: Served, *, slowly: bool) -> None:
    """With 400 and the end of the connection, whatever is behind it."""
    answers = {name: await got(running, data + BEHIND, slowly=slowly) for name, data in BAD.items()}
    assert answers == dict.fromkeys(BAD, ([(400, "")], True))


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"f" * 16 + b"\r\n{}", 408), (b"7fffffff\r\n{}", 408), (b"2;" + b"x" * 4_000, 408), (b"2;" + b"x" * 5_000, 400), (b"0" * 5_000, 400)],
    ids=["largest size", "large size", "extension", "endless extension", "endless size"],
)
async def test_a_body_that_never_ends_ends_in_time(tmp_path: Path, body: bytes, status: int) -> None:
    """A chunk of more bytes than there are in time, an extension or a size without end at a bound."""
    async with served(tmp_path, QUICK._replace(body_seconds=0.3)) as running:
        client = await running.connect()
        client.send(CHUNKED + body)
        assert (await client.answer()).status == status
        assert await client.closed()
        await running.gone()


async def test_continue_is_said_once_and_only_where_a_body_is_wanted(running: Served) -> None:
    client = await running.connect()
    for _ in range(2):
        client.send(HEAD + LENGTH + b"Expect: 100-Continue\r\n\r\n")
        async with asyncio.timeout(DEADLINE):
            assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(BODY)
        assert (await client.answer()).json["response"]["uid"] == "first"
    client.send(HEAD.replace(PATH, b"/nowhere") + LENGTH + b"Expect: 100-continue\r\n\r\n")
    assert (await client.answer()).status == 404


async def test_continue_is_not_said_to_http_1_0(running: Served) -> None:
    """Such a client would take it for the answer."""
    client = await running.connect()
    client.send(OLD + LENGTH + b"Expect: 100-continue\r\n\r\n")
    await asyncio.sleep(0.1)
    client.send(BODY)
    assert (await client.answer()).status == 200


async def test_one_request_of_a_connection_is_parsed_at_a_time(running: Served) -> None:
    """The rest of a long pipeline stays with the client, or unparsed within a bound, and is answered in order all the same."""
    client = await running.connect()
    client.send(b"".join(post(GRAPHS, review(graph(), uid=f"p-{number}")) for number in range(500)))
    kept = 0
    for number in range(500):
        assert (await client.answer()).json["response"]["uid"] == f"p-{number}"
        [connection] = running.server.connections.open
        kept = max(kept, len(connection._buffered))
    assert 0 < kept <= 256 * 1024  # what one read of a socket brings


async def test_a_later_head_must_be_complete_in_time_too(tmp_path: Path) -> None:
    """Once it has begun; a client may wait before that, also longer than that from the connection on."""
    async with served(tmp_path, QUICK._replace(head_seconds=1.0)) as running:
        client, idle = await running.connect(), await running.connect()
        for each in (client, idle):
            assert (await each.post(GRAPHS, BODY)).status == 200
        client.send(b"GET / HTTP/1.1\r\nX: ")
        assert await client.closed()
        assert running.server.meter.bounds == {Bound.HEAD_SECONDS: 1}
        assert (await idle.post(GRAPHS, BODY)).status == 200


async def test_a_body_in_pieces_starts_no_clock_of_heads(tmp_path: Path) -> None:
    async with served(tmp_path, QUICK._replace(head_seconds=0.4)) as running:
        client = await running.connect()
        whole = lengthy(b"")
        client.send(whole[:-9])
        await asyncio.sleep(0.05)
        client.send(whole[-9:])
        assert (await client.answer()).status == 200
        await asyncio.sleep(0.6)
        assert (await client.post(GRAPHS, BODY)).status == 200
        assert running.server.meter.bounds == {}


async def test_a_head_that_is_refused_is_counted(running: Served) -> None:
    client = await running.connect()
    client.send(BAD["header too long"])
    reply = await client.answer()
    assert (reply.status, reply.json["message"]) == (400, "the request can't be read as HTTP/1.1")
    assert running.server.meter.bounds[Bound.HEAD] == 1
