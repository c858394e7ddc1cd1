"""Text that a format can't hold: bytes of file names that are no Unicode, and characters that XML forbids, become escapes."""

from __future__ import annotations

from typing import Any

import orjson


def encoded(value: object, option: int = 0) -> str:
    """JSON of data that may hold a file name that is no Unicode text; such bytes are escaped. `option` is orjson's."""
    try:
        return orjson.dumps(value, option=option).decode()
    except TypeError:
        return orjson.dumps(_escaped(value), option=option).decode()


def unicode_text(text: str) -> str:
    """The text with what is no Unicode written as `\\udc80`."""
    return text.encode("utf-8", "backslashreplace").decode()


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return unicode_text(value)
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value
