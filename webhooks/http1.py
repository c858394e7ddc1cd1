"""Reads the heads and chunked bodies of HTTP/1.1, strictly: whoever reads the same bytes finds the same requests, or we refuse them.

httptools (llhttp, the parser of Node.js) judges each byte. Where a request ends is decided here, from the values of its head and the sizes
of its chunks, and httptools is given exactly that much: it never sees a byte of the next request. Where the two disagree, the request is
refused. A parser is made for each head and each chunked body, so that none has a state that outlives it.
"""

from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from .limits import Limits
from .routes import Route

_END: Final = b"\r\n\r\n"
_ONCE: Final = frozenset({b"host", b"content-type", b"content-length", b"transfer-encoding"})  # a second one is refused
_CHUNKED: Final = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"  # lets the parser expect chunks
_SLACK_BYTES: Final = 8 * 1024  # of framing in a chunked body, beyond what `_BYTES_PER_FRAMING` allows
_BYTES_PER_FRAMING: Final = 64  # bytes of a chunked body for one byte of framing: chunks of 400 bytes and more


class UnreadableError(ValueError):
    """Bytes that aren't HTTP/1.1, or whose end is in doubt; never holds any of them."""


class Head:
    """The method, the target and the headers of one request, and what they say about its body."""

    __slots__ = ("content_length", "expects", "headers", "is_last", "method", "route", "target")

    def __init__(self) -> None:
        self.headers: dict[bytes, bytes] = {}  # by name in lower case; values of the same name are joined
        self.method, self.target = b"", ""
        self.content_length: int | None = 0  # bytes of the body; None: in chunks
        self.is_last = False  # whether the client sends no further request on this connection, or may speak another protocol
        self.expects = False  # whether the client waits for "100 Continue"
        self.route: Route | None = None  # of the target, as soon as the server has looked

    def header(self, name: bytes) -> str:
        """A header's text, empty without one. `name` is in lower case."""
        return self.headers.get(name, b"").decode("latin-1")


class HeadReader:
    """Reads one head, in as many pieces as it comes."""

    __slots__ = ("_end", "_events", "_limits", "_parser", "size")

    def __init__(self, limits: Limits) -> None:
        self._events = _HeadEvents()
        self._parser = HttpRequestParser(self._events)
        self._limits = limits
        self._end = b""  # the last bytes of what has come
        self.size = 0  # bytes that have come

    def feed(self, data: bytes) -> tuple[Head | None, bytes]:
        """Takes what has come; returns the head if that is complete, and the bytes behind it. Raises: UnreadableError."""
        while True:
            seen = len(self._end)
            found = (self._end + data[:3]).find(_END) if seen else -1
            cut = found + len(_END) - seen if found >= 0 else data.find(_END) + len(_END)
            if found < 0 and cut < len(_END):
                cut = len(data)
            piece = data[:cut]
            self.size += len(piece)
            if self.size > self._limits.head:
                raise UnreadableError
            try:
                self._parser.feed_data(piece)
            except HttpParserUpgrade:  # what follows is told by the head, as for any other request
                pass
            except HttpParserError:
                raise UnreadableError from None
            if self._events.ended:
                return self._events.finish(self._parser, self._limits), data[cut:]
            self._end, data = (self._end + piece)[-3:], data[cut:]
            if not data:
                return None, b""


class _HeadEvents:
    """What the parser finds in a head."""

    __slots__ = ("count", "ended", "fields", "longest", "torn", "url")

    def __init__(self) -> None:
        self.fields: dict[bytes, bytes] = {}
        self.url = b""
        self.count = self.longest = 0
        self.ended = False
        self.torn = False  # a header came twice, or something behind the head's end

    def on_url(self, part: bytes) -> None:
        self.url += part

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self.count += 1
        self.longest = max(self.longest, len(name) + len(value))
        if name in self.fields:
            self.torn |= name in _ONCE
            value = self.fields[name] + b", " + value
        self.fields[name] = value

    def on_headers_complete(self) -> None:
        self.torn |= self.ended
        self.ended = True

    def on_body(self, _part: bytes) -> None:
        self.torn = True

    def finish(self, parser: HttpRequestParser, limits: Limits) -> Head:
        """The head, which has come as a whole. Raises: UnreadableError."""
        head, fields, version = Head(), self.fields, parser.get_http_version()
        head.method, head.headers = parser.get_method(), fields
        if self.torn or self.count > limits.headers or max(self.longest, len(self.url)) > limits.line:
            raise UnreadableError
        modern = version == "1.1"
        if not ((modern and b"host" in fields) or version == "1.0") or not _is_target(head.method, self.url):
            raise UnreadableError
        head.target = self.url.decode("latin-1")
        coding, length = fields.get(b"transfer-encoding"), fields.get(b"content-length")
        if coding is not None:
            if not modern or length is not None or coding.lower() != b"chunked":
                raise UnreadableError
            head.content_length = None
        elif length is not None:
            head.content_length = int(length)  # of digits, says the parser
        connection = fields.get(b"connection")
        closes = connection is not None and b"close" in (each.strip() for each in connection.lower().split(b","))
        head.is_last = closes or not modern or b"upgrade" in fields or head.method == b"CONNECT"
        head.expects = modern and fields.get(b"expect", b"").lower() == b"100-continue"
        return head


def _is_target(method: bytes, url: bytes) -> bool:
    """Whether a request target has the form that its method asks for."""
    return url.startswith(b"/") or b"://" in url or method == b"CONNECT" or (method == b"OPTIONS" and url == b"*")


class ChunkedBody:
    """Reads one body in chunks."""

    __slots__ = ("_events", "_framing", "_left", "_limits", "_line", "_parser", "_trailers", "size")

    def __init__(self, limits: Limits) -> None:
        self._events = _ChunkEvents()
        self._parser = HttpRequestParser(self._events)
        self._parser.feed_data(_CHUNKED)
        self._events.begun = True
        self._limits = limits
        self._left = 0  # bytes of a chunk that have not come, with the end of its last line
        self._line = b""  # the begin of a line that has come in part
        self._trailers = False  # the last chunk has come
        self._framing = 0  # bytes that aren't the body's
        self.size = 0  # bytes of the body

    @property
    def complete(self) -> bool:
        """Whether the end has come."""
        return self._events.complete

    def feed(self, data: bytes) -> tuple[list[bytes], bytes]:
        """Takes what has come; returns the parts of the body in it, and the bytes behind its end. Raises: UnreadableError."""
        at = 0
        while at < len(data) and not self._events.complete:
            if self._left:
                end = min(len(data), at + self._left)
                self._left -= end - at
            else:
                end = data.find(b"\n", at) + 1 or len(data)
                self._line += data[at:end]
            try:
                self._parser.feed_data(data[at:end])
            except HttpParserError:
                raise UnreadableError from None
            if self._line:
                self._take_line(self._line.endswith(b"\n"))
            at = end
        parts, self._events.parts = self._events.parts, []
        size = sum(map(len, parts))
        self.size += size
        self._framing += at - size
        if self._framing > _SLACK_BYTES + self.size // _BYTES_PER_FRAMING or self._events.torn:
            raise UnreadableError
        return parts, data[at:]

    def _take_line(self, whole: bool) -> None:
        """Looks at a line of the framing, which the parser has accepted: the size of a chunk, or a trailer."""
        if len(self._line) > self._limits.line:
            raise UnreadableError
        if not whole:
            return
        line, self._line = self._line, b""
        if not self._trailers:
            size = int(line.partition(b";")[0], 16)
            self._left = size + 2 if size else 0
            self._trailers = not size


class _ChunkEvents:
    """What the parser finds in a body of chunks."""

    __slots__ = ("begun", "complete", "parts", "torn")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.begun = self.complete = self.torn = False

    def on_header(self, name: bytes, _value: bytes) -> None:
        self.torn |= self.begun and name.lower() in _ONCE  # a trailer that would say another end

    def on_message_begin(self) -> None:
        self.torn |= self.complete

    def on_body(self, part: bytes) -> None:
        self.parts.append(part)

    def on_message_complete(self) -> None:
        self.complete = True
