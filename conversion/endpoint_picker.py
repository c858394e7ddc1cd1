"""The lens of the endpoint picker's configuration: copied, with the one value that the Go operator always writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..api.paths import Path
from .lens.protocol import Context, Fields, Row
from .reading import object_member

_MEMBER: Final = "eppConfig"
_STALENESS: Final = "metricsStalenessThreshold"
_NONE: Final = "0s"  # the picker's default


class EndpointPicker:
    """The same on both sides; a saturation detector without a staleness threshold gets zero, the default.

    The engine saves that it was absent.
    """

    left: tuple[str, ...] = (_MEMBER,)
    right: tuple[str, ...] = (_MEMBER,)

    def forward(self, left: Fields, right: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Copies."""
        _copied(left, right)

    def backward(self, right: Fields, left: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Copies."""
        _copied(right, left)

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """The same."""
        return path

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The same."""
        return path

    def rows(self) -> Iterator[Row]:
        """One row."""
        yield Row(_MEMBER, _MEMBER, "copied; a saturation detector always has a staleness threshold")


def _copied(source: Fields, target: Fields) -> None:
    value = source.get(_MEMBER)
    if value is not None:
        target[_MEMBER] = _told(value)


def _told(picker: Any) -> Any:
    if type(picker) is not dict:
        return picker
    config = object_member(picker, "config")
    detector = config.get("saturationDetector")
    if type(detector) is not dict or detector.get(_STALENESS) is not None:
        return picker
    return {**picker, "config": {**config, "saturationDetector": {**detector, _STALENESS: _NONE}}}
