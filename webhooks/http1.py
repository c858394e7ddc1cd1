"""Reads heads and chunked bodies of HTTP/1.1 strictly: any other reader finds the same requests in the bytes, or we refuse them.

httptools (llhttp, the parser of Node.js) judges each byte. Where a request ends is decided here, from the values of its head and the sizes
of its chunks, and httptools is given exactly that much: it never sees a byte of the next request. Where the two disagree, the request is
refused. A parser is made for each head and each chunked body, so that none has a state that outlives it.
"""

from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from .limits import Limits
from .routes import Route

_END: Final = b"\r\n\r\n"
_CARRIAGE_RETURN: Final = 13
_LENGTH: Final = b"\r\nContent-Length: "  # as Go writes it
_MAX_DIGITS: Final = 10  # of a length, and the end of its line
_MAX_KNOWN_BYTES: Final = 1024  # of a head that is remembered
_ONCE: Final = frozenset({b"host", b"content-type", b"content-length", b"transfer-encoding"})  # a second one is refused
_CHUNKED: Final = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"  # lets the parser expect chunks
_SLACK_BYTES: Final = 8 * 1024  # of framing in a chunked body, beyond what `_BYTES_PER_FRAMING` allows
_BYTES_PER_FRAMING: Final = 64  # bytes of a chunked body for one byte of framing: chunks of 400 bytes and more


class UnreadableError(ValueError):
    """Bytes that aren't HTTP/1.1, or whose end is in doubt; never holds any of them."""


class Head:
    """The method, the target and the headers of one request, and what they say about its body; the parser fills it."""

    __slots__ = (
        "_ended",
        "_longest",
        "_repeated",
        "_torn",
        "_url",
        "content_length",
        "expects",
        "headers",
        "is_last",
        "method",
        "route",
        "target",
    )

    def __init__(self) -> None:
        self.headers: dict[bytes, bytes] = {}  # by name in lower case; values of the same name are joined
        self.method, self.target = b"", ""
        self.content_length: int | None = 0  # bytes of the body; None: in chunks
        self.is_last = False  # whether the client sends no further request on this connection, or may speak another protocol
        self.expects = False  # whether the client waits for "100 Continue"
        self.route: Route | None = None  # of the target, as soon as the server has looked
        self._url = b""
        self._longest = self._repeated = 0  # bytes of a header, and headers beside those of `headers`
        self._ended = False
        self._torn = False  # a header came twice, or something behind the head's end

    def header(self, name: bytes) -> str:
        """A header's text, empty without one. `name` is in lower case."""
        return self.headers.get(name, b"").decode("latin-1")

    def on_url(self, part: bytes) -> None:
        """Takes a part of the target."""
        self._url += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a header."""
        name = name.lower()
        size = len(name) + len(value)
        if size > self._longest:  # noqa: PLR1730 - a call costs as much as all else here
            self._longest = size
        if name in self.headers:
            self._repeated += 1
            self._torn |= name in _ONCE
            value = self.headers[name] + b", " + value
        self.headers[name] = value

    def on_headers_complete(self) -> None:
        """Takes the end."""
        self._torn |= self._ended
        self._ended = True

    def on_body(self, _part: bytes) -> None:
        """Takes what must not come."""
        self._torn = True

    @property
    def ended(self) -> bool:
        """Whether the parser has found the end."""
        return self._ended

    def finish(self, parser: HttpRequestParser, begin: bytes, limits: Limits) -> None:
        """Looks at what has come as a whole; `begin` holds its first line. Raises: UnreadableError."""
        headers, url, method, version = self.headers, self._url, parser.get_method(), parser.get_http_version()
        if self._torn or len(headers) + self._repeated > limits.headers or self._longest > limits.line or len(url) > limits.line:
            raise UnreadableError
        if not begin.startswith(b" HTTP/", len(method) + 1 + len(url)):
            raise UnreadableError  # the parser takes two spaces for one
        modern = version == "1.1"
        if not (_is_target(method, url) and ((modern and b"host" in headers) or version == "1.0")):
            raise UnreadableError
        self.method, self.target = method, url.decode("latin-1")
        coding, length = headers.get(b"transfer-encoding"), headers.get(b"content-length")
        if coding is not None:
            if not modern or length is not None or coding.lower() != b"chunked":
                raise UnreadableError
            self.content_length = None
        elif length is not None:
            self.content_length = int(length)  # of digits, says the parser
        connection = headers.get(b"connection")
        closes = connection is not None and b"close" in [each.strip() for each in connection.lower().split(b",")]
        self.is_last = closes or not modern or b"upgrade" in headers or method == b"CONNECT"
        self.expects = modern and headers.get(b"expect", b"").lower() == b"100-continue"


class HeadReader:
    """Reads the heads of one connection, one after the other, each in as many pieces as it comes.

    An API server sends the same head with each request, but for the length of the body. Where the digits of the length are all that differs
    from the last head, the parser would find the same again, and isn't asked: that is a third of what HTTP costs.
    """

    __slots__ = ("_came", "_head", "_known", "_limits", "_parser", "_skipped")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known: tuple[bytes, bytes, Head] | None = None  # the last head, after its bytes before and behind the length
        self._restart()

    def _restart(self) -> None:
        self._head: Head | None = None
        self._parser: HttpRequestParser | None = None
        self._came = b""  # of the head
        self._skipped = 0  # bytes of empty lines before it

    @property
    def begun(self) -> bool:
        """Whether a part of a head has come."""
        return bool(self._came) or self._skipped > 0

    def feed(self, data: bytes) -> tuple[Head | None, bytes]:
        """Takes what has come; returns the head if that is complete, and the bytes behind it. Raises: UnreadableError."""
        if self._known is not None and not (self._came or self._skipped):
            before, behind, known = self._known
            if data.startswith(before):
                end = data.find(b"\r", len(before), len(before) + _MAX_DIGITS)
                # asked in this order: compiled, a slice that ends before it begins is an error
                if end > 0 and (digits := data[len(before) : end]).isdigit() and data.startswith(behind, end):
                    known.content_length = int(digits)
                    return known, data[end + len(behind) :]
        return self._parse(data)

    def _parse(self, data: bytes) -> tuple[Head | None, bytes]:
        """Has a head parsed, or a part of it."""
        parsed, came = len(self._came), self._came + data
        if self._parser is None and came[0] <= _CARRIAGE_RETURN:
            parsed, came = 0, self._without_empty_lines(came)
        cut = came.find(_END, max(0, parsed - len(_END) + 1))
        end = cut + len(_END) if cut >= 0 else len(came)
        if self._skipped + end > self._limits.head:
            raise UnreadableError
        self._came = came[:end]
        if self._came in (b"", b"\r"):  # another empty line, perhaps
            return None, b""
        head = self._head
        if head is None or self._parser is None:
            head = self._head = Head()
            self._parser = HttpRequestParser(head)
        try:
            self._parser.feed_data(came[parsed:end])
        except HttpParserUpgrade:  # the head says what follows, as for any other request
            pass
        except HttpParserError:
            raise UnreadableError from None
        if head.ended != (cut >= 0):
            raise UnreadableError
        if not head.ended:
            return None, b""
        head.finish(self._parser, self._came, self._limits)
        self._remember(head, self._came)
        self._restart()
        return head, came[end:]

    def _remember(self, head: Head, text: bytes) -> None:
        """Keeps a head that may come again with another length: a short one, after which the connection goes on."""
        self._known = None
        begin = text.find(_LENGTH) + len(_LENGTH)
        end = text.find(b"\r", begin)
        if len(text) <= _MAX_KNOWN_BYTES and begin >= len(_LENGTH) and text[begin:end].isdigit() and not head.is_last:
            self._known = text[:begin], text[end:], head

    def _without_empty_lines(self, came: bytes) -> bytes:
        """Drops the empty lines before a request from what has come: HTTP forgives them. Raises: UnreadableError."""
        begun = came.lstrip(b"\r\n")
        size = (len(came) - len(begun)) // 2 * 2
        torn = came[size : len(came) - len(begun)]  # half the end of a line
        if came[:size] != b"\r\n" * (size // 2) or (torn and (begun or torn != b"\r")):
            raise UnreadableError
        self._skipped += size
        return came[size:]


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
    """The parser's findings in a body of chunks."""

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
