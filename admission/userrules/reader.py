"""Reads values at their places in a document; each error names the field."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ...api.paths import Path
from ...api.walk.metadata import is_qualified
from ...api.wording import article, shorten
from .policy import PolicyError

_MAX_VALUE_CHARACTERS: Final = 80  # of a wrong value in a message
_LABEL: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
MAX_LABEL_CHARACTERS: Final = 63


def is_label_value(text: str) -> bool:
    """Whether a text may be the value of a label."""
    return not text or (len(text) <= MAX_LABEL_CHARACTERS and _LABEL.fullmatch(text) is not None)


class Reader:
    """A value at its place in a document."""

    def __init__(self, data: Any, path: Path = ()) -> None:
        """`path` is the value's own; None is read as absent."""
        self.data, self.path = data, path

    def fields(self, *known: str) -> None:
        """Sees to it that the value is a mapping of known keys. Raises: PolicyError, as do all others."""
        data = {} if self.data is None else self.data
        if not isinstance(data, dict):
            raise self.wrong("must be a mapping")
        for key in data:
            if key not in known:
                raise PolicyError((*self.path, str(key)), f"there is no such field here; known are {', '.join(known)}")

    def items(self) -> list[Reader]:
        """The value as a list."""
        data = [] if self.data is None else self.data
        if not isinstance(data, list):
            raise self.wrong("must be a list")
        return [Reader(item, (*self.path, index)) for index, item in enumerate(data)]

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
        return tuple(item.text() for item in self.items())

    def labels_key(self) -> str:
        """The value as the key of a label."""
        if not is_qualified(text := self.text()):
            raise self.wrong("must be a name such as team or example.com/team")
        return text

    def once(self, seen_names: set[str]) -> str:
        """The value as a string that comes once; `seen_names` are those before it."""
        text = self.text()
        if text in seen_names:
            raise self.wrong("must not come twice")
        seen_names.add(text)
        return text

    def few(self, most: int) -> list[Reader]:
        """The value as a list with at most so many entries."""
        items = self.items()
        if len(items) > most:
            raise PolicyError(self.path, f"must have at most {most} entries, got {len(items)}")
        return items

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
        return PolicyError(
            self.path, f"{text}, got {shorten(json.dumps(self.data, ensure_ascii=False, default=str), _MAX_VALUE_CHARACTERS)}"
        )
