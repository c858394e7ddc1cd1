"""The replica status of one service or component: its names, singular and plural."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..api.paths import Path
from .lens.protocol import Context, Fields, Row
from .lens.simple import same
from .lens.struct import Struct


class Names:
    """The single name is the last of several; another pair is saved, and restored if it matches the live names."""

    left: tuple[str, ...] = ("componentName", "componentNames")
    right: tuple[str, ...] = ("componentNames",)

    def forward(self, left: Fields, right: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Save the pair if the names don't imply it, with the count that the Go operator always writes."""
        names = _names_of(left)
        if names:
            right["componentNames"] = names
        pair = {name: left[name] for name in self.left if left.get(name)}
        if pair != _pair_of(names):
            save.update(pair)
            save["replicas"] = 0

    def backward(self, right: Fields, left: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Restore a saved pair that matches the live names."""
        live = right.get("componentNames") or []
        remembered = {name: kept[name] for name in self.left if kept.get(name)}
        said = remembered if live and _names_of(remembered) == live else _pair_of(live)
        left.update(said)

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """The plural is on both sides."""
        return path

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """Both are in the plural."""
        return self.right + path[1:] if path[0] == "componentNames" else self.right

    def rows(self) -> Iterator[Row]:
        """One row."""
        yield Row("componentName, componentNames", "componentNames", "the last name is the single one")


def _names_of(left: Fields) -> Any:
    return left.get("componentNames") or ([left["componentName"]] if left.get("componentName") else [])


def _pair_of(names: Any) -> Fields:
    if type(names) is not list or not names:
        return {}
    return {"componentNames": names, **({"componentName": names[-1]} if names[-1] else {})}


REPLICAS: Final = Struct(
    *same("componentKind", "replicas", "updatedReplicas", "readyReplicas", "scheduledReplicas", "runtimeNamespace", "availableReplicas"),
    *same("gpusPerEngine", "gpusPerReplica", "gpuPowerLimitWatts", "runtimeComponentName", "servedModelName"),
    Names(),
)
