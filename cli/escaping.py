"""JSON that any terminal shows as it is: bytes of file names that are no Unicode, and characters that don't print, become escapes."""

from __future__ import annotations

import json
from typing import Any

import orjson


def encoded(value: object, option: int = 0) -> str:
    """JSON of data that may hold a file name that is no Unicode text; such bytes are escaped. `option` is orjson's."""
    try:
        return visible(orjson.dumps(value, option=option).decode())
    except TypeError:
        return visible(orjson.dumps(_escaped(value), option=option).decode())


def visible(document: str) -> str:
    """The same JSON with every character that doesn't print, such as a bidirectional control, as its escape; readers see no difference."""
    return "\n".join(line if line.isprintable() else "".join(map(_visible, line)) for line in document.split("\n"))


def _visible(one: str) -> str:
    return one if one.isprintable() else json.dumps(one)[1:-1]


def unicode_text(text: str) -> str:
    """The text with what is no Unicode written as `\\udc80`."""
    return text.encode("utf-8", "backslashreplace").decode()


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return unicode_text(value)
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value
