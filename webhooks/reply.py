"""An HTTP answer as one piece of bytes: a head made of prepared parts, and a body that is bytes already."""

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Final

_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
JSON: Final = b"Content-Type: application/json\r\n"
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSE: Final = b"Connection: close\r\n"


class Reply:
    """A status, a body, and header lines beside those of every answer."""

    __slots__ = ("body", "closes", "lines", "status")

    def __init__(self, status: int, body: bytes | memoryview, lines: bytes = JSON, *, closes: bool = False) -> None:
        """`lines`: the content type and others, each with its end; `closes`: whether it is the last of its connection."""
        self.status, self.body, self.lines, self.closes = status, body, lines, closes

    def head(self, *, last: bool) -> bytes:
        """The head's bytes; `last`: no other answer follows on the connection."""
        date, close = _date_line(int(time.time())), _CLOSE if last else b""
        return b"".join((_LINES[self.status], self.lines, date, close, b"Content-Length: %d\r\n\r\n" % len(self.body)))


@lru_cache(maxsize=1)
def _date_line(second: int) -> bytes:
    """The header line for now, made once a second."""
    return f"Date: {formatdate(second, usegmt=True)}\r\n".encode()
