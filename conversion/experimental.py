"""The lens of the experimental features: blocks with a switch in v1alpha1, members of `experimental` in v1beta1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.conversion.lens.protocol import Context, Fields, Row
from dynamo_webhooks.conversion.pod_template.content import present
from dynamo_webhooks.conversion.reading import object_of

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path

_MODES: Final = {"intraPod": "IntraPod", "interPod": "InterPod"}
_BACK: Final = {right: left for left, right in _MODES.items()}
_WITH_MODES: Final = ("gpuMemoryService", "failover")


class Experimental:
    """An enabled feature is a block in v1beta1; a disabled one is saved, and restored if v1beta1 still lacks it."""

    left: tuple[str, ...] = ("gpuMemoryService", "failover", "checkpoint")
    right: tuple[str, ...] = ("experimental",)

    def forward(self, left: Fields, right: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Move enabled features down, save the others."""
        block: Fields = {}
        for name in self.left:
            value = left.get(name)
            if value is None:
                continue
            if type(value) is dict and value.get("enabled") is True:
                block[name] = _respelled(name, {key: item for key, item in value.items() if key != "enabled"}, _MODES)
                if not context.travelled:
                    save[name] = {"enabled": True}  # distinguishes a block that server-side apply emptied from an absent one
            else:
                save[name] = {"enabled": False, **present(value)} if name in _WITH_MODES and type(value) is dict else value
        empty = kept.get("experimental")
        if block:
            right["experimental"] = block
        elif type(empty) is dict and not any(empty.get(name) is not None for name in self.left):
            right["experimental"] = empty

    def backward(self, right: Fields, left: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Move features up with their switch on, and restore disabled ones.

        In a stored object, null is from server-side apply: a block with only schema defaults.
        """
        block, nothing = right.get("experimental"), True
        found = block if type(block) is dict else {}
        for name in self.left:
            value, was = found.get(name), kept.get(name)
            known = context.travelled and not context.both  # the remainder names the features of v1alpha1
            if value is None and name in found and context.stored and (object_of(was).get("enabled") is True or not known):
                value = {}
            nothing = nothing and value is None
            if type(value) is dict:
                left[name] = {"enabled": True, **_respelled(name, {key: item for key, item in value.items() if key != "enabled"}, _BACK)}
            elif type(was) is dict and was.get("enabled") is not True:
                left[name] = was
        if block is not None and nothing:
            save["experimental"] = block

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """One level up."""
        return path[1:] if len(path) > 1 and path[1] in self.left else None

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """One level down; the switch is the block itself."""
        return ("experimental", path[0]) if path[1:2] == ("enabled",) else ("experimental", *path)

    def rows(self) -> Iterator[Row]:
        """A row a feature."""
        for name in self.left:
            yield Row(
                name,
                f"experimental.{name}",
                "present while enabled; modes are capitalised" if name in _WITH_MODES else "present while enabled",
            )


def _respelled(name: str, feature: Fields, modes: dict[str, str]) -> Fields:
    mode = feature.get("mode")
    if name in _WITH_MODES and type(mode) is str and mode in modes:
        return {**feature, "mode": modes[mode]}
    return feature
