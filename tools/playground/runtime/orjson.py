"""Replaces orjson in the playground, where its compiled module does not exist: what the commands use of it, over `json`.

Outside the playground nothing imports it; tests compare it with orjson itself.
"""

import json
import math
import re
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn

OPT_APPEND_NEWLINE: Final = 1024
OPT_INDENT_2: Final = 1
OPT_SORT_KEYS: Final = 32
_INTEGERS: Final = range(-(2**63), 2**64)
_HALF: Final = re.compile("[\ud800-\udfff]")  # of a pair: no character


class JSONEncodeError(TypeError):
    """A value that JSON, or orjson, can't hold."""


class JSONDecodeError(json.JSONDecodeError):
    """A text that is not JSON."""


def dumps(value: object, /, *, option: int = 0) -> bytes:
    """Encodes a value. Raises: JSONEncodeError."""
    ends = "\n" if option & OPT_APPEND_NEWLINE else ""
    return (_text(value, option, "\n" if option & OPT_INDENT_2 else "") + ends).encode()


def loads(text: bytes | bytearray | memoryview | str, /) -> Any:
    """Decodes a text. Raises: JSONDecodeError."""
    try:
        words = text if isinstance(text, str) else str(text, "utf-8")
        value = json.loads(words, parse_int=_number, parse_float=_finite, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise JSONDecodeError(error.msg, error.doc, error.pos) from None
    except (RecursionError, ValueError) as error:
        raise JSONDecodeError(str(error), "", 0) from None
    if _HALF.search(words) or ("\\u" in words and _HALF.search(json.dumps(value, ensure_ascii=False))):
        raise JSONDecodeError("a surrogate must be one of a pair", "", 0)
    return value


def _text(value: object, option: int, line: str) -> str:
    if isinstance(value, str):
        if _HALF.search(value):
            raise JSONEncodeError("str is not valid UTF-8: surrogates not allowed")
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        if value not in _INTEGERS:
            raise JSONEncodeError("Integer exceeds 64-bit range")
        return int.__repr__(value)
    if isinstance(value, float):
        return _float(value)
    deeper = f"{line}  " if line else ""
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise JSONEncodeError("Dict key must be str")
        colon = ": " if line else ":"
        pairs = sorted(value.items()) if option & OPT_SORT_KEYS and len(value) > 1 else value.items()
        return _joined([_text(key, option, "") + colon + _text(item, option, deeper) for key, item in pairs], "{}", line)
    if isinstance(value, list | tuple):
        return _joined([_text(item, option, deeper) for item in value], "[]", line)
    raise JSONEncodeError(f"Type is not JSON serializable: {type(value).__name__}")


def _joined(items: list[str], around: str, line: str) -> str:
    if not items:
        return around
    deeper = f"{line}  " if line else ""
    return f"{around[0]}{deeper}{f',{deeper}'.join(items)}{line}{around[1]}"


def _float(value: float) -> str:
    """The shortest digits; orjson writes 1e-5 as 0.00001, and 1e-7 without a zero in the exponent."""
    if not math.isfinite(value):
        return "null"
    digits, _, exponent = repr(value).partition("e")
    if not exponent:
        return digits
    if int(exponent) == -5:
        sign, digits = ("-", digits[1:]) if value < 0 else ("", digits)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{digits}e{int(exponent):+d}"


def _number(word: str) -> int | float:
    value = int(word) if len(word) < 24 else float(word)
    return value if value in _INTEGERS else _finite(word)


def _finite(word: str) -> float:
    value = float(word)
    if math.isinf(value):
        raise ValueError("number out of range")
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
