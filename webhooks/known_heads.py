"""Heads of requests that the parser has read: an API server sends the same over and over, but for the length of the body.

The parser reads the same bytes alike on any connection where a request may begin. So a known head isn't parsed again, nor made into a
request: that took more than half of what the server itself adds to an answer.
"""

from typing import Final

from .routes import Route

_LENGTH: Final = b"\r\nContent-Length: "  # as Go writes it; with another spelling no head is read
_DIGITS: Final = 9
_MOST: Final = 256  # heads that are known, after which it begins anew: 256 KiB at most
_LONGEST: Final = 1024  # bytes of a head


class Head:
    """A request's head that gives the length of its body."""

    __slots__ = ("length", "parts", "size")

    def __init__(self, parts: tuple[bytes, bytes], size: int, length: int) -> None:
        """`parts`: before and behind the length, which is of the body; `size`: bytes up to where the body begins."""
        self.parts, self.size, self.length = parts, size, length


class KnownHeads:
    """The routes of heads, whatever length they give."""

    __slots__ = ("_routes",)

    def __init__(self) -> None:
        self._routes: dict[tuple[bytes, bytes], Route] = {}

    def learn(self, head: Head, route: Route) -> None:
        """Remembers the head of a request whose body a route has judged, and after which its connection goes on."""
        if len(self._routes) >= _MOST:
            self._routes.clear()
        self._routes[head.parts] = route

    def find(self, data: bytes) -> tuple[Route, bytes] | None:
        """The route and the body of a request that has a known head and is whole and alone; else None."""
        head = read_head(data)
        if head is None or head.size + head.length != len(data) or (route := self._routes.get(head.parts)) is None:
            return None
        return route, data[head.size :]


def read_head(data: bytes) -> Head | None:
    """The head that a request's bytes begin with, if all of it has come, its lines end as they should, and it is short."""
    begin = data.find(_LENGTH, 0, _LONGEST) + len(_LENGTH)
    end = data.find(b"\r\n", begin, begin + _DIGITS + 2)
    size = data.find(b"\r\n\r\n", 0, _LONGEST) + 4
    if not len(_LENGTH) <= begin <= end < size or not (digits := data[begin:end]).isdigit():
        return None
    return Head((data[:begin], data[end:size]), size, int(digits))
