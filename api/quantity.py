"""Kubernetes quantities: reading them exactly, asking whether they are zero or whole, printing the canonical form; no arithmetic."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from fractions import Fraction

NANO: Final = 10**9
# The largest amount that a quantity keeps; anything above is cut down to it, as Kubernetes does.
MAX_INT64: Final = 2**63 - 1

_TEXT: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?[0-9]+))?", re.ASCII)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES: Final = {exponent: name for name, exponent in _DECIMAL.items()} | {0: ""}
_BINARY_NAMES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
# More digits than this before the point are beyond MAX_INT64 for any suffix but the smallest, whatever they are (19 digits and nano).
_MAX_DIGITS: Final = 40
_MAX_CACHED_CHARACTERS: Final = 32  # usual quantities have fewer than ten
_SPELT: Final[dict[str, str | None]] = {}
_MAX_SPELT_CHARACTERS: Final = 4096


class _Parts(NamedTuple):
    """A quantity in nanos (it has no finer grain), and the family of its suffix, which the canonical form keeps."""

    nanos: int
    family: str


def parse(value: str | float) -> int | Fraction:
    """Returns the exact amount of a quantity: an int when it is whole, a Fraction of nanos otherwise.

    Bare JSON numbers are quantities too. An amount below one nano rounds away from zero to the next nano, and an amount above
    2**63-1 is cut down to that, so no exponent can ask for unbounded memory.

    Raises ValueError when the text is no quantity.
    """
    if type(value) is int and -MAX_INT64 <= value <= MAX_INT64:
        return value
    text = value.strip() if isinstance(value, str) else repr(value)
    whole, rest = divmod(_parts(text).nanos, NANO)
    if not rest:
        return whole
    from fractions import Fraction  # here: with decimals below it, its import takes as long as reading a file

    return Fraction(whole * NANO + rest, NANO)


def is_quantity(value: object) -> bool:
    """Whether a JSON value is a quantity: a number, or a text such as `1`, `500m`, `16Gi`, `1e3`."""
    if isinstance(value, str):
        return spell(value.strip()) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_zero(value: str | float) -> bool:
    """Whether the amount is numerically zero; the tiniest non-zero text is not."""
    return parse(value) == 0


def whole(value: str | float) -> int | None:
    """Returns the amount as an int, or None when it has a fraction."""
    amount = parse(value)
    return amount if isinstance(amount, int) else None


def canonical(value: str | float) -> str:
    """Returns the text that Kubernetes prints for a quantity: no fraction, no leading zero, the largest suffix of its own family.

    The family (decimal, binary, exponent) is that of the input, because a reader who wrote `1Gi` wants to read `1Gi` again.
    """
    nanos, family = _parts(value.strip() if isinstance(value, str) else repr(value))
    if nanos == 0:
        return "0"
    if family == "binary" and abs(nanos) >= 1024 * NANO:
        return _print_binary(nanos)
    return _print_decimal(nanos, exponent_form=family == "exponent")


def spell(text: str) -> str | None:
    """The canonical text of a quantity without blanks around it; None of anything else. Usual texts are remembered."""
    spelt = _SPELT.get(text, "")
    if spelt == "":
        try:
            spelt = canonical(text) if text == text.strip() else None
        except ValueError:
            spelt = None
        if len(text) <= _MAX_CACHED_CHARACTERS:
            if len(_SPELT) >= _MAX_SPELT_CHARACTERS:
                _SPELT.clear()
            _SPELT[text] = spelt
    return spelt


def _print_binary(nanos: int) -> str:
    """Prints a binary amount in whole units, rounded away from zero."""
    units = -(-abs(nanos) // NANO)
    steps = 0
    while units % 1024 == 0 and steps < len(_BINARY_NAMES) - 1:
        units //= 1024
        steps += 1
    return f"{'-' if nanos < 0 else ''}{units}{_BINARY_NAMES[steps]}"


def _print_decimal(nanos: int, *, exponent_form: bool) -> str:
    """Prints a decimal amount with the largest power of a thousand that leaves no fraction."""
    mantissa, exponent = nanos, -9
    while mantissa % 1000 == 0 and (exponent_form or exponent < 18):
        mantissa //= 1000
        exponent += 3
    if not exponent_form:
        return f"{mantissa}{_DECIMAL_NAMES[exponent]}"
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


def _parts(text: str) -> _Parts:
    """Reads a quantity's text, remembering the usual short ones: a cache that holds what a client sends must not hold megabytes of it."""
    return _read(text) if len(text) <= _MAX_CACHED_CHARACTERS else _read.__wrapped__(text)


@lru_cache(maxsize=4096)
def _read(text: str) -> _Parts:
    """Read a quantity's text; raises ValueError with a sentence that doesn't repeat the text, which may be a secret."""
    match = _TEXT.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise ValueError("must be a quantity: a number, then a suffix such as m, k, M, G, Ki, Mi, Gi or e3")
    sign, integer, fraction, binary, decimal, power = match.groups(default="")
    exponent = _DECIMAL.get(decimal, 0) if not power else _exponent(power)
    family = "binary" if binary else "exponent" if power else "decimal"
    nanos = _nanos(integer.lstrip("0"), fraction.rstrip("0"), exponent, _BINARY.get(binary, 0))
    if family == "binary" and 0 < nanos < NANO:
        family = "decimal"  # less than one of anything has no binary suffix
    return _Parts(-nanos if sign == "-" else nanos, family)


def _exponent(power: str) -> int:
    """Reads a decimal exponent; a very long one is cut to a bound, beyond which only the sign matters."""
    digits = power.lstrip("+-").lstrip("0") or "0"
    size = int(digits) if len(digits) <= 9 else NANO
    return -size if power.startswith("-") else size


def _nanos(integer: str, fraction: str, exponent: int, shift: int) -> int:
    """Computes |integer.fraction * 10**exponent * 2**shift| in nanos, rounded up, cut at MAX_INT64, in bounded time."""
    digits = integer + fraction
    if not digits.strip("0"):
        return 0
    scale = exponent - len(fraction) + 9
    # The first digit's place gives the size before any big number is made.
    magnitude = len(digits.lstrip("0")) + scale
    if magnitude > _MAX_DIGITS:
        return MAX_INT64 * NANO
    if magnitude < -_MAX_DIGITS:
        return 1
    # Digits so far behind the point can do no more than round the last nano up.
    lost = max(0, -scale - 2 * _MAX_DIGITS)
    kept, tail = (digits[:-lost], digits[-lost:]) if lost else (digits, "")
    number = int(kept.lstrip("0") or "0") << shift
    if scale >= 0:
        nanos = number * 10**scale
    else:
        nanos, rest = divmod(number, 10 ** -(scale + lost))
        nanos += 1 if rest or tail.strip("0") else 0
    return int(min(nanos, MAX_INT64 * NANO))
