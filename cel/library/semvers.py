"""Semantic versions."""

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from ..errors import EvaluationError
from ..frame import SIZED
from ..overloads import comparable, function, method
from ..values import MAX_UINT, MIN_INT64

_NUMBER: Final = r"(0|[1-9]\d{0,19})"
_TEXT: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?", re.ASCII
)
_MAX_VERSION_CHARACTERS: Final = 1000


@dataclass(frozen=True, slots=True, order=True)
class Semver:
    """A version as a key to sort by: what comes before a release is below it, numbers are below words."""

    numbers: tuple[int, int, int]
    released: bool
    before: tuple[tuple[bool, int, str], ...]
    kind: ClassVar = "kubernetes.Semver"

    def __len__(self) -> int:
        return 3 + len(self.before)


SIZED.add(Semver)


def _parse(text: str, normalise: bool) -> Semver | None:
    if len(text) > _MAX_VERSION_CHARACTERS:
        return None
    match = _TEXT.fullmatch(_normalised(text) if normalise else text)
    if match is None:
        return None
    parts = match[4].split(".") if match[4] else []
    numbers = int(match[1]), int(match[2]), int(match[3])
    if any(part.isdigit() and part[0] == "0" and part != "0" for part in parts):
        return None
    if any(number > MAX_UINT for number in (*numbers, *(int(part) for part in parts if part.isdigit()))):
        return None
    before = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, "" if part.isdigit() else part) for part in parts)
    return Semver(numbers, not parts, before)


def _normalised(text: str) -> str:
    """Without a leading v and leading zeros, with three numbers."""
    core, sign, rest = re.fullmatch(r"v?([^-+]*)([-+]?)(.*)", text.replace("\n", " ")).groups()  # type: ignore[union-attr]
    numbers = [part.lstrip("0") or "0" if part else "" for part in core.split(".")]
    if len(numbers) < 3 and not sign:
        numbers += ["0"] * (3 - len(numbers))
    return ".".join(numbers) + sign + rest


@function("semver", str)
@function("semver", str, bool)
def _semver(text: str, normalise: bool = False) -> Semver:
    version = _parse(text, normalise)
    if version is None:
        raise EvaluationError("Invalid Semver: it must be a version such as 1.2.3 or 1.2.3-rc.1")
    return version


@function("isSemver", str)
@function("isSemver", str, bool)
def _is_semver(text: str, normalise: bool = False) -> bool:
    return _parse(text, normalise) is not None


def _part(name: str, place: int) -> None:
    """One of the numbers, as 64 bits with a sign."""
    method(name, Semver)(lambda value: (value.numbers[place] - MIN_INT64) % (MAX_UINT + 1) + MIN_INT64)


_part("major", 0)
_part("minor", 1)
_part("patch", 2)
comparable(Semver)
