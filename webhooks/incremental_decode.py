"""Decodes a long conversion review object by object: the decoder can't be interrupted, but is brief with one object.

An API server writes all objects of a review alike: `{"apiVersion":"...","kind":"...`. Where one ends and another begins so is a cut, and
the decoder itself judges it: text that begins as an object and is accepted whole ends where that object ends. So pieces that are all
accepted are the objects of the review, and no others; whatever looks otherwise is decoded at one go.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

if TYPE_CHECKING:
    from mmap import mmap  # a browser has none

LONG: Final = 32 * 1024  # bytes; shorter reviews are decoded in a sixth of a millisecond
_HEAD: Final = 4 * 1024  # bytes in which the list begins, and as many in which it ends
_LIST: Final = re.compile(rb'"objects":\[(\{"apiVersion":"[^"\\]{1,253}","kind":")')
_MARK: Final = secrets.token_hex(16)  # placeholder of the objects, which no client can send
_QUOTED: Final = f'"{_MARK}"'.encode()
_ABOVE: Final = b"[[[", b"]]]"  # an object is three levels deep in its review, and the decoder's bound of depth counts from the top


class NotDivisibleError(ValueError):
    """A review that must be decoded at one go."""


class Apart(NamedTuple):
    """A review and its list, from `start` to `end` without brackets."""

    frame: bytes  # the review, with a mark in the place of its objects
    lead: bytes  # how each object begins
    start: int
    end: int

    def framed(self, request: dict[str, Any]) -> bool:
        """Whether the decoded frame's request has the mark for its objects: then exactly that list was left out."""
        return bool(request.get("objects") == [_MARK])

    def longest(self, body: bytes | mmap) -> int:
        """An upper bound of the bytes of an object."""
        return 1 + len(self.lead) + max(map(len, body[self.start : self.end].split(b"}," + self.lead)))

    def objects(self, body: bytes | mmap) -> Iterator[Any]:
        """Decode one object after the other. Raises: NotDivisibleError."""
        start, cut = self.start, b"}," + self.lead
        while start < self.end:
            found = body.find(cut, start, self.end)
            stop = self.end if found < 0 else found + 1
            try:
                [[[obj]]] = orjson.loads(body[start:stop].join(_ABOVE))
            except ValueError:  # no JSON, or more than one object
                raise NotDivisibleError from None
            yield obj
            start = stop + 1


def apart(body: bytes | mmap) -> Apart | None:
    """Find the list by its form; None for a short or different body."""
    if len(body) < LONG:
        return None
    found, last = _LIST.search(body, 0, _HEAD), body.rfind(b"}]", max(0, len(body) - _HEAD))
    if found is None or last < found.start(1):
        return None
    start, end = found.start(1), last + 1
    return Apart(b"".join((body[:start], _QUOTED, body[end:])), found[1], start, end)
