"""Moments and spans of time."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from ..errors import EvaluationError
from ..operators import as_duration, as_timestamp
from ..overloads import function, method
from ..values import Duration, Timestamp

_BILLION: Final = 10**9
MAX_ZONE_HOURS: Final = 24
MAX_ZONE_MINUTES: Final = 60
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT: Final = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{1,2}:\d{2}:\d{2})(?:[.,](\d{1,9}))?\d*(?:Z|([+-])(\d{2}):(\d{2}))", re.ASCII)
_UNITS: Final = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": _BILLION, "m": 60 * _BILLION, "h": 3600 * _BILLION}
_PART: Final = re.compile(r"(\d{0,20})(?:\.(\d{0,20}))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_OFFSET: Final = re.compile(r"([+-]?)(\d{1,5}):(\d{1,5})", re.ASCII)


@function("timestamp", str)
def read_timestamp(text: str) -> Timestamp:
    """Reads a moment. Raises EvaluationError."""
    match = _MOMENT.fullmatch(text)
    if match is not None:
        day, time, fraction, sign, hours, minutes = match.groups()
        ahead = (int(hours or 0) * 60 + int(minutes or 0)) * (-1 if sign == "-" else 1)
        valid = int(hours or 0) <= MAX_ZONE_HOURS and int(minutes or 0) <= MAX_ZONE_MINUTES
        try:
            nanos = _nanos(datetime.fromisoformat(f"{day}T{time:0>8}+00:00")) + int((fraction or "").ljust(9, "0"))
            if valid and not time.startswith("24"):
                return as_timestamp(nanos - ahead * 60 * _BILLION, ahead)
        except ValueError:
            pass
    raise EvaluationError(f"invalid timestamp: {text[:60]!r} must be a moment such as 2023-02-03T23:31:20Z: range or Type conversion error")


def _nanos(at: datetime) -> int:
    span = at - _EPOCH
    return (span.days * 86400 + span.seconds) * _BILLION


function("timestamp", Timestamp)(lambda at: at)
function("timestamp", int)(lambda seconds: as_timestamp(seconds * _BILLION))
function("int", Timestamp)(lambda at: at.nanos // _BILLION)
function("int", Duration)(lambda span: span.nanos)
function("duration", Duration)(lambda span: span)


@function("string", Timestamp)
def print_timestamp(at: Timestamp) -> str:
    """Prints a moment by the clock of its zone, with as many decimals as it needs. Raises EvaluationError."""
    seconds, nanos = divmod(at.nanos, _BILLION)
    try:
        whole = (_EPOCH + timedelta(seconds=seconds, minutes=at.ahead)).replace(tzinfo=None)
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None
    hours, minutes = divmod(abs(at.ahead), 60)
    zone = f"{'-' if at.ahead < 0 else '+'}{hours:02}:{minutes:02}" if at.ahead else "Z"
    return f"{whole.isoformat()}{f'.{nanos:09}'.rstrip('0') if nanos else ''}{zone}"


@function("duration", str)
def _duration(text: str) -> Duration:
    rest = text.removeprefix("-") if text[:1] == "-" else text.removeprefix("+")
    total = 0
    at = 0
    while at < len(rest) and (match := _PART.match(rest, at)) and (match[1] or match[2]):
        fraction = match[2] or ""
        total += int(match[1] or 0) * _UNITS[match[3]] + int(fraction or 0) * _UNITS[match[3]] // 10 ** len(fraction)
        at = match.end()
    if (at < len(rest) or not rest) and rest != "0":
        raise EvaluationError(f"invalid duration: {text[:60]!r} must be a span such as 1h30m or 1.5s: Type conversion error")
    return as_duration(-total if text.startswith("-") else total)


@function("string", Duration)
def print_duration(span: Duration) -> str:
    """Prints a span in seconds, as the double that an API server makes of it."""
    seconds, nanos = divmod(abs(span.nanos), _BILLION)
    if seconds:
        return f"{'-' if span.nanos < 0 else ''}{seconds + nanos / _BILLION!r}".removesuffix(".0") + "s"
    return f"{'-' if span.nanos < 0 else ''}{seconds}{f'.{nanos:09}'.rstrip('0') if nanos else ''}s"


def _zone(name: str) -> tzinfo:
    if not name:
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise EvaluationError(f"unknown time zone {name[:60]}") from None


def _in_zone(at: Timestamp, zone: str) -> datetime:
    match = _OFFSET.fullmatch(zone)
    try:
        if match is not None:
            minutes = int(match[2]) * 60 + int(match[3])
            return _EPOCH + timedelta(seconds=at.nanos // _BILLION, minutes=-minutes if match[1] == "-" else minutes)
        return (_EPOCH + timedelta(seconds=at.nanos // _BILLION)).astimezone(_zone(zone))
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


def _getter(name: str, read: Callable[[datetime], int]) -> None:
    method(name, Timestamp)(lambda at: read(_in_zone(at, "+00:00")))
    method(name, Timestamp, str)(lambda at, zone: read(_in_zone(at, zone)))


_getter("getFullYear", lambda at: at.year)
_getter("getMonth", lambda at: at.month - 1)
_getter("getDate", lambda at: at.day)
_getter("getDayOfMonth", lambda at: at.day - 1)
_getter("getDayOfWeek", lambda at: at.isoweekday() % 7)
_getter("getDayOfYear", lambda at: at.timetuple().tm_yday - 1)
_getter("getHours", lambda at: at.hour)
_getter("getMinutes", lambda at: at.minute)
_getter("getSeconds", lambda at: at.second)


@method("getMilliseconds", Timestamp)
@method("getMilliseconds", Timestamp, str)
def _milliseconds(at: Timestamp, zone: str = "") -> int:
    _in_zone(at, zone)  # which there must be
    return at.nanos % _BILLION // 10**6


def _whole(nanos: int, unit: int) -> int:
    return nanos // unit if nanos >= 0 else -(-nanos // unit)


method("getHours", Duration)(lambda span: _whole(span.nanos, _UNITS["h"]))
method("getMinutes", Duration)(lambda span: _whole(span.nanos, _UNITS["m"]))
method("getSeconds", Duration)(lambda span: _whole(span.nanos, _UNITS["s"]))
method("getMilliseconds", Duration)(lambda span: _whole(span.nanos, 10**6))
