"""Splits a long ConversionReview into its objects, each of which is decoded by itself.

The decoder can't be interrupted, and 20 MiB keep it busy for a tenth of a second: no other request would be answered meanwhile, and all
objects would be in memory at once. So a review of 32 KiB or more is cut between its objects, without being decoded.

Clients write all objects of a review alike: `{"apiVersion":"...","kind":"...`, an API server without blanks. Where one ends and another
begins so is a cut, and the decoder itself judges it: text that begins as an object and is accepted whole ends where that object ends. So
pieces that are all accepted are the objects of the review, and no others. The rest of the review is decoded with a mark in the place of its
objects, which no client can guess: only if the mark is what the request's list holds, exactly that list was left out. Whatever looks
otherwise is decoded at one go, by `convert.py`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..api import deep
from .limits import is_light

if TYPE_CHECKING:
    from mmap import mmap  # a browser has none

MIN_LONG_REVIEW_BYTES: Final = 32 * 1024  # shorter reviews are decoded in a sixth of a millisecond
_MAX_HEAD_BYTES: Final = 4 * 1024  # in which the list begins, and as many in which it ends
_MAX_FIRST_BYTES: Final = 64 * 1024  # of an object that is searched for its end, to learn which blanks are around the comma behind it
_BLANKS: Final = rb"[ \t\r\n]*"
_LIST: Final = re.compile(rb'"objects" : \[ (\{ "apiVersion" : "[^"\\]{1,253}" , "kind" : ")'.replace(b" ", _BLANKS))
_LIST_END: Final = re.compile(rb"\}" + _BLANKS + rb"\]")
_BETWEEN: Final = rb"\}(" + _BLANKS + b"," + _BLANKS + b")"  # two objects
_MARK: Final = secrets.token_hex(16)  # placeholder of the objects, which no client can send
_QUOTED: Final = f'"{_MARK}"'.encode()
_ABOVE: Final = b"[", b"]"  # so that two objects are none


class NotDivisibleError(ValueError):
    """A review that must be decoded at one go."""


class SplitReview(NamedTuple):
    """A long review and its list, from `start` to `end` without brackets."""

    frame: bytes  # the review, with a mark in the place of its objects
    lead: bytes  # how each object begins
    comma: bytes  # between two objects, with the blanks around it
    start: int
    end: int

    @property
    def cut(self) -> bytes:
        """The end of an object with the beginning of the next one."""
        return b"}" + self.comma + self.lead

    def has_mark(self, request: dict[str, Any]) -> bool:
        """Whether the decoded frame's request has the mark for its objects: then exactly that list was left out."""
        return bool(request.get("objects") == [_MARK])

    def all_light(self, body: bytes | mmap, longest: int) -> bool:
        """Whether each object is converted in the loop."""
        pieces = body[self.start : self.end].split(self.cut)
        return all(is_light(piece, longest - 1 - len(self.lead)) for piece in pieces)

    def objects(self, body: bytes | mmap) -> Iterator[Any]:
        """Decode one object after the other. Raises: NotDivisibleError."""
        start, cut = self.start, self.cut
        while start < self.end:
            at = body.find(cut, start, self.end)
            stop = self.end if at < 0 else at + 1
            try:
                [obj] = deep.load(body[start:stop].join(_ABOVE))
            except ValueError:  # no JSON, or more than one object
                raise NotDivisibleError from None
            yield obj
            start = stop + len(self.comma)


def split_review(body: bytes | mmap) -> SplitReview | None:
    """Find the list by its form; None for a short or different body."""
    if len(body) < MIN_LONG_REVIEW_BYTES:
        return None
    begin, ends = _LIST.search(body, 0, _MAX_HEAD_BYTES), [*_LIST_END.finditer(body, max(0, len(body) - _MAX_HEAD_BYTES))]
    if begin is None or not ends or ends[-1].start() < begin.start(1):
        return None
    lead, start, end = begin[1], begin.start(1), ends[-1].start() + 1
    between = re.compile(_BETWEEN + re.escape(lead)).search(body, start, min(end, start + _MAX_FIRST_BYTES))
    comma = between[1] if between is not None else b","
    return SplitReview(b"".join((body[:start], _QUOTED, body[end:])), lead, comma, start, end)
