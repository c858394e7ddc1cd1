"""Resolves plain YAML words as the API machinery's decoder does: numbers, booleans, null or text.

Each line of this dialect was measured with kubectl 1.32: it is YAML 1.1 (`yes`, `on`, `y` and `0777` are not text) without timestamps and
sexagesimals, plus `0o17` and `1e3`. Any other word is text.
"""

import re
from typing import Final, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

INT64: Final = range(-(2**63), 2**63)
TAG: Final = "tag:yaml.org,2002:"

WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NOT_FINITE: Final = frozenset([*(sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")), ".nan", ".NaN", ".NAN"])
_NUMERIC: Final = frozenset("+-.0123456789")
_DECIMAL: Final = re.compile(r"[-+]?[1-9][0-9]*|[-+]?0")
_BASED: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+))")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAX_INTEGER: Final = {"": 2**64 - 1, "+": 2**63 - 1, "-": 2**63}  # by sign
_MAX_NUMBER_CHARACTERS: Final = 4_000  # int() of much longer digits is refused by Python, and no field holds such a number


class ScalarError(ValueError):
    """A scalar that has no meaning in an object: an infinity, or text under a tag that it does not fit."""


def parse_plain_scalar(text: str) -> Scalar:
    """Reads an unquoted word without a tag. Raises: ScalarError for infinities and not-a-number, which no JSON object can hold."""
    if text in WORDS:
        return WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    if text in _NOT_FINITE:
        raise ScalarError(f"the number {text} can't be written in an object")
    return _number(text)


def _number(text: str) -> Scalar:
    digits = text.replace("_", "") if "_" in text else text
    if len(digits) > _MAX_NUMBER_CHARACTERS:
        return text
    if _DECIMAL.fullmatch(digits):
        try:
            return _fitting(int(digits))
        except OverflowError:
            return text  # as below
    if based := _BASED.fullmatch(digits):
        sign, hexadecimal, binary, octal = based.groups()
        number = int(hexadecimal, 16) if hexadecimal else int(binary, 2) if binary else int(octal, 8)
        if number <= _MAX_INTEGER[sign]:
            return _fitting(-number if sign == "-" else number)
        # beyond 64 bits only what reads as a decimal, too, is a number
    if _FLOAT.fullmatch(digits):
        value = float(digits)
        # beyond the range of a double it stays text, as the API machinery has it
        return text if value in (float("inf"), float("-inf")) else normalize_double(value)
    return text


def normalize_double(value: float) -> int | float:
    """Makes an integer of a whole double: the API machinery writes 1e3 as 1000 and reads that back as an integer."""
    return int(value) if value.is_integer() and int(value) in INT64 else value


def _fitting(number: int) -> int | float:
    """An integer as the API machinery keeps it: exact within 64 bits, a double beyond. Raises: OverflowError beyond doubles."""
    return number if number in INT64 else float(number)


def parse_tagged_scalar(tag: str, text: str) -> Scalar:
    """Reads a scalar under an explicit tag; tags that aren't YAML's own mean text. Raises: ScalarError when the text doesn't fit."""
    short = tag.removeprefix(TAG)
    if short == "binary":
        import base64
        import binascii

        try:
            return base64.b64decode(text.replace("\n", ""), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise ScalarError("a value tagged !!binary must be base64 of UTF-8 text") from None
    if short not in ("int", "float", "bool", "null"):
        return text
    value, digits = parse_plain_scalar(text), text.replace("_", "")
    fits = {
        # 1e3 and 089 are doubles, however whole
        "int": type(value) is int and (_DECIMAL.fullmatch(digits) or _BASED.fullmatch(digits)),
        "float": type(value) in (int, float),
        "bool": type(value) is bool,
        "null": value is None,
    }
    if not fits[short]:
        raise ScalarError(f"a value tagged !!{short} must be one")
    return value


def format_key(value: Scalar) -> str:
    """A key as the API machinery writes it: `yes: 1` has the key "true", `1.50: 1` the key "1.5". Raises: ScalarError for null."""
    if isinstance(value, str):
        return value
    if value is None:
        raise ScalarError("a key must not be null or empty")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)
