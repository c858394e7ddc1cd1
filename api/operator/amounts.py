"""Reads and prints spans of time and sizes."""

import re
from typing import Final

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h|d)")
_SIZE: Final = re.compile(r"([1-9][0-9]*)(Ki|Mi|Gi|)")
_SIZES: Final = {"Gi": 2**30, "Mi": 2**20, "Ki": 2**10, "": 1}
# what the Go operator can hold: nanoseconds in 64 bits, about 292 years
MAX_SPAN_SECONDS: Final = 2**63 / 1e9


def seconds(text: str) -> float | None:
    """Reads a span of time; None when the text is none. Days are ours: the Go operator's largest unit is the hour."""
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    parts = _PART.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        return None
    total = sign * sum(float(number) * _UNITS[unit] for number, unit in parts)
    return total if abs(total) < MAX_SPAN_SECONDS else None


def span(length: float) -> str:
    """Writes a span of time with as few parts as it has; whole days stay hours, which the Go operator reads too."""
    if length < 0:
        return "-" + span(-length)
    whole, milliseconds = divmod(round(length * 1000), 1000)
    parts = [(whole // 3600, "h"), (whole // 60 % 60, "m"), (whole % 60, "s"), (milliseconds, "ms")]
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def size(text: str) -> int | None:
    """Reads a number of bytes with an optional Ki, Mi or Gi; None when the text is none."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _SIZES[match[2]] if match else None


def amount(count: int) -> str:
    """Writes a number of bytes with the largest unit that divides it."""
    return next(f"{count // factor}{unit}" for unit, factor in _SIZES.items() if count % factor == 0)
