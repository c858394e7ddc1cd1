"""The types of single values: how each is read, which values are allowed, and how it is written back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, TypeAlias

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from dynamo_webhooks.api.operator import durations


@dataclass(frozen=True, slots=True)
class Allowed:
    """The values that a key accepts. `text` completes "must be ..." in errors and in docs/configuration.md."""

    text: str
    good: Callable[[Any], bool] | None = None
    read: Callable[[str], Any] | None = None  # from a string to a number, None if it is none
    write: Callable[[Any], str] | None = None
    numbers: bool = False  # whether a number is accepted as its text
    whole: bool = False  # whether `good` checks the type too; errors inside are then reported for the whole value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make the pydantic schema; errors quote `text`."""
        if self.whole:
            return core_schema.no_info_plain_validator_function(self._check)
        if self.read is None or self.write is None:
            return core_schema.no_info_after_validator_function(self._check, handler(source))
        written = core_schema.plain_serializer_function_ser_schema(self.write, when_used="unless-none")
        return core_schema.no_info_plain_validator_function(self._take, serialization=written)

    def _take(self, value: object) -> Any:
        text = str(value) if self.numbers and type(value) is int else value
        found = self.read(text) if self.read is not None and isinstance(text, str) else None
        if found is None:
            raise ValueError(self.text)
        return self._check(found)

    def _check(self, value: Any) -> Any:
        if self.good is not None and not self.good(value):
            raise ValueError(self.text)
        return value


def span_of(low: float = 0, high: float = durations.LONGEST, *, above: bool = False) -> Allowed:
    """A duration in seconds within bounds; `above` excludes the lower bound."""
    least = "more than 0s" if above else f"at least {durations.span(low)}"
    most = "" if high == durations.LONGEST else f" and at most {durations.span(high)}"
    return Allowed(
        f"a duration such as 30s, 15m or 4h, {least}{most}",
        lambda value: (value > low if above else value >= low) and value <= high,
        durations.seconds,
        durations.span,
    )


def one_of(*words: str) -> Allowed:
    """One of a few words."""
    return Allowed(f"one of {', '.join(words)}", lambda value: value in words)


def whole(low: int, high: int) -> Allowed:
    """An integer within bounds."""
    return Allowed(f"an integer from {low} to {high}", lambda value: low <= value <= high)


_LABEL: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


def _named(pattern: str, length: int) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda value: not value or (len(value) <= length and compiled.fullmatch(value) is not None)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value)


def _labels(value: list[str]) -> bool:
    label = _named(_LABEL, 63)
    return all(label(each) for each in value) and len({*value}) == len(value)


Text: TypeAlias = Annotated[str, Allowed("a string")]
Texts: TypeAlias = Annotated[list[str], Allowed("a list of non-empty strings", good=_texts, whole=True)]
Switch: TypeAlias = Annotated[bool, Allowed("true or false")]
Automatic: TypeAlias = Annotated[bool | None, Allowed("true, false, or absent for automatic detection")]
Labels: TypeAlias = Annotated[
    list[str], Allowed("a list of DNS labels, each once", good=lambda value: _texts(value) and _labels(value), whole=True)
]
Port: TypeAlias = Annotated[int, whole(0, 65535)]
Label: TypeAlias = Annotated[
    str, Allowed("a DNS label of at most 63 lower-case letters, digits and inner hyphens", good=_named(_LABEL, 63))
]
_NAME: Final = Allowed(
    "a DNS name of at most 253 lower-case letters, digits, hyphens and dots", good=_named(rf"{_LABEL}(\.{_LABEL})*", 253)
)
Name: TypeAlias = Annotated[str, _NAME]
TrimmedName: TypeAlias = Annotated[str, replace(_NAME, read=str.strip, write=str)]
Bytes: TypeAlias = Annotated[
    int, Allowed("a size such as 65536, 64Ki, 7Mi or 1Gi", read=durations.size, write=durations.amount, numbers=True)
]
AutomaticBytes: TypeAlias = Annotated[
    int | None, Allowed("a size such as 64Mi or 2Gi, or absent", read=durations.size, write=durations.amount, numbers=True)
]
