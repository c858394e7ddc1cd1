"""Semantic versions as the operator reads them, loosely: a leading v and one to three numbers."""

import re
from typing import Final

_PART: Final = r"[0-9A-Za-z-]+"
_VERSION: Final = re.compile(rf"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-({_PART}(?:\.{_PART})*))?(?:\+{_PART}(?:\.{_PART})*)?")
_PLAIN: Final = re.compile(r"v?[0-9]{1,19}(?:\.[0-9]{1,19}){0,2}")  # the form of nearly all versions, recognised faster
_DIGITS: Final = frozenset("0123456789")
_MAX_NUMBER: Final = 2**64 - 1
_CACHED: Final[set[str]] = set()  # versions that were found to be some: a cluster's objects have few
_MAX_CACHED: Final = 256
_MAX_DIGITS: Final = 20  # of _MAX_NUMBER; more are too large whatever they are, and need no conversion of a long text


def is_semver(text: str) -> bool:
    """Whether a text is a version: `1`, `v1.2` and `01.2.3-rc.1+build` are, `1.2.3.4`, `V1` and `1.2-01` are not."""
    if text in _CACHED or _PLAIN.fullmatch(text):
        if len(_CACHED) < _MAX_CACHED and len(text) <= _MAX_DIGITS:
            _CACHED.add(text)
        return True
    match = _VERSION.fullmatch(text)
    if match is None:
        return False
    numbers, pre_release = match.groups()[:3], match[4]
    if any(number is not None and not _fits(number) for number in numbers):
        return False
    return pre_release is None or not any(map(_padded, pre_release.split(".")))


def canonical(text: str) -> str:
    """A version with its three numbers, without a leading v and build metadata; the text itself where it is no version."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return text
    major, minor, patch, pre_release = match.groups()[:4]
    numbers = ".".join((number or "0").lstrip("0") or "0" for number in (major, minor, patch))
    return f"{numbers}-{pre_release}" if pre_release else numbers


def _fits(number: str) -> bool:
    digits = number.lstrip("0") or "0"
    return len(digits) <= _MAX_DIGITS and int(digits) <= _MAX_NUMBER


def _padded(identifier: str) -> bool:
    """Whether a pre-release identifier is a number with a leading zero, which has no place in an order of versions."""
    return len(identifier) > 1 and identifier[0] == "0" and _DIGITS.issuperset(identifier)
