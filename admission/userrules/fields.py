"""Reads plain data field by field; a value of another shape is an error with its place and the requirement."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ...api.paths import Path
from ...api.wording import article, shorten
from .policy import PolicyError

_SHOWN = 80  # characters of a wrong value


class Reader:
    """A value at its place in a document."""

    def __init__(self, data: Any, path: Path = ()) -> None:
        """`path` is the value's own; None is read as absent."""
        self.data, self.path = data, path

    def fields(self, known: Iterable[str]) -> dict[str, Any]:
        """The value as a mapping of known keys. Raises: PolicyError, as do all others."""
        data = {} if self.data is None else self.data
        if not isinstance(data, dict):
            raise self.wrong("must be a mapping")
        known = tuple(known)
        for key in data:
            if key not in known:
                raise PolicyError((*self.path, str(key)), f"there is no such field here; known are {', '.join(known)}")
        return data

    def items(self) -> list[Reader]:
        """The value as a list."""
        data = [] if self.data is None else self.data
        if not isinstance(data, list):
            raise self.wrong("must be a list")
        return [Reader(one, (*self.path, index)) for index, one in enumerate(data)]

    def text(self) -> str:
        """The value as a string, empty where it is absent."""
        data = "" if self.data is None else self.data
        if not isinstance(data, str):
            raise self.wrong("must be a string")
        return data

    def required(self) -> str:
        """The value as a string that is not empty."""
        text = self.text()
        if not text.strip():
            raise self.wrong("must be a string that is not empty")
        return text

    def texts(self) -> tuple[str, ...]:
        """The value as a list of strings."""
        return tuple(one.text() for one in self.items())

    def choice(self, known: tuple[str, ...], default: str = "") -> str:
        """The value as one of some words."""
        if self.data is None and default:
            return default
        if self.data not in known:
            raise self.wrong(f"must be one of {', '.join(known)}")
        return str(self.data)

    def at(self, key: str) -> Reader:
        """The value of a key of a mapping that `fields` has read, or that may lack it."""
        data = self.data.get(key) if isinstance(self.data, dict) else None
        return Reader(data, (*self.path, key))

    def wrong(self, text: str) -> PolicyError:
        """The error for the value, which it shows."""
        if isinstance(self.data, (dict, list)):
            return PolicyError(self.path, f"{text}, got {article(self.data)}")
        return PolicyError(self.path, f"{text}, got {shorten(json.dumps(self.data, ensure_ascii=False, default=str), _SHOWN)}")
