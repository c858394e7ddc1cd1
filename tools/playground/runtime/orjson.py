"""Replaces orjson in the playground, where its compiled module does not exist: what the commands use of it, over `json`.

Outside the playground nothing imports it; tests compare it with orjson itself. Numbers with an exponent have other digits.
"""

import json
from typing import Any, Final

OPT_APPEND_NEWLINE: Final = 1024
OPT_INDENT_2: Final = 1
OPT_SORT_KEYS: Final = 32
_INTEGERS: Final = range(-(2**63), 2**64)


class JSONEncodeError(TypeError):
    """A value that JSON, or orjson, can't hold."""


class JSONDecodeError(json.JSONDecodeError):
    """A text that is not JSON."""


def dumps(value: object, /, *, option: int = 0) -> bytes:
    """Encodes a value. Raises: JSONEncodeError."""
    indent, colon = (2, ": ") if option & OPT_INDENT_2 else (None, ":")
    ordered = bool(option & OPT_SORT_KEYS)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=(",", colon), sort_keys=ordered)
        return (text + "\n" * bool(option & OPT_APPEND_NEWLINE)).encode()
    except (TypeError, ValueError) as error:
        raise JSONEncodeError(str(error)) from None


def loads(text: bytes | bytearray | memoryview | str, /) -> Any:
    """Decodes a text. Raises: JSONDecodeError."""
    try:
        value = json.loads(text if isinstance(text, str) else str(text, "utf-8"), parse_int=_number)
        dumps(value)  # refuses an infinity, and half of a pair of surrogates
    except json.JSONDecodeError as error:
        raise JSONDecodeError(error.msg, error.doc, error.pos) from None
    except (JSONEncodeError, RecursionError, ValueError) as error:
        raise JSONDecodeError(str(error), "", 0) from None
    return value


def _number(word: str) -> int | float:
    value = int(word)
    return value if value in _INTEGERS else float(word)
