"""A small fuzzer that is led by coverage: an input that goes from one line to another where none went before is kept, and damaged further.

It watches with the interpreter's own trace function and needs nothing else.
"""

from __future__ import annotations

import sys
from random import Random
from types import CodeType, FrameType
from typing import Any, Final

import orjson

from tests.hostile.damage import damaged
from tests.hostile.targets import Target
from tests.hostile.values import VALUES

Arc = tuple["CodeType", int, int]
MAX_INPUT_BYTES: Final = 6_000  # of an input that is kept
KEEPING: Final = 0.7  # the share of inputs drawn from those kept last


class Traced:
    """While in use, notes which line follows which in some files."""

    def __init__(self, files: frozenset[str]) -> None:
        """Lines of other files are run without being watched."""
        self.seen: set[Arc] = set()
        self._files = files
        self._before: Any = None

    def __enter__(self) -> Traced:
        """Starts watching."""
        self._before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        """Stops."""
        sys.settrace(self._before)

    def _called(self, frame: FrameType, _event: str, _arg: object) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        code, last, seen = frame.f_code, 0, self.seen

        def line(frame: FrameType, event: str, _arg: object) -> Any:
            nonlocal last
            if event == "line":
                seen.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return line

        return line


def explored(target: Target, random: Random, inputs: int) -> tuple[int, int]:
    """Tries so many inputs; returns how many were kept and how many steps from line to line they have shown.

    Raises: AssertionError with the input for which the target raised anything.
    """
    kept = list(target.seeds())
    with Traced(target.files) as traced:
        for body in kept:
            _tried(target, body)
        for _ in range(inputs):
            low = int(len(kept) * KEEPING) if random.random() < KEEPING else 0
            body = _changed(random, kept[low + int(random.random() * (len(kept) - low))])
            known = len(traced.seen)
            _tried(target, body)
            if len(traced.seen) > known and len(body) < MAX_INPUT_BYTES:
                kept.append(body)
    return len(kept), len(traced.seen)


def _tried(target: Target, body: bytes) -> None:
    try:
        target.run(body)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} for {body!r}") from error


def _changed(random: Random, body: bytes) -> bytes:
    """Damaged as bytes, or with one JSON value put in at a place where such often stand."""
    if random.random() < 0.6 or b":" not in body:
        return damaged(random, body)
    places = [index for index, byte in enumerate(body) if byte in b":[,"]
    at = places[int(random.random() * len(places))] + 1
    end = next((index for index in range(at, len(body)) if body[index] in b",]}"), len(body))
    return body[:at] + orjson.dumps(VALUES[int(random.random() * len(VALUES))]) + body[end:]
