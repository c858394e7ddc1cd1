"""The lens of the experimental features: blocks with a switch in v1alpha1, members of `experimental` in v1beta1."""

from collections.abc import Iterator
from typing import Final

from ..api.line import Line
from ..api.paths import Path
from .lens.protocol import Context, Fields, Lens, Row
from .lens.structs import object_member, object_of, present

_MODES: Final = {"intraPod": "IntraPod", "interPod": "InterPod"}
_BACK: Final = {right: left for left, right in _MODES.items()}
_SWITCHED: Final = "checkpoint"
_RIGHT_ONLY: Final = "grove"
_WITH_MODES: Final = ("gpuMemoryService", "failover")


class Experimental(Lens):
    """An enabled feature is a block in v1beta1; a disabled one is saved, and restored if v1beta1 still lacks it.

    Since line 1.3 a checkpoint has a switch in v1beta1, too; a block without it, which only older writers leave, is on.
    """

    left: tuple[str, ...] = ("gpuMemoryService", "failover", "checkpoint")
    right: tuple[str, ...] = ("experimental",)

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Move enabled features down, save the others."""
        block: Fields = {}
        empty = remainder.get("experimental")
        aside = object_of(empty)
        for name in self.left:
            value = left.get(name)
            if value is None:
                continue
            if name == _SWITCHED and type(value) is dict and has_switch(remainder, context):
                block[name] = {**value, "enabled": value.get("enabled") or False}
            elif type(value) is dict and value.get("enabled") is True:
                block[name] = _respelled(name, {key: item for key, item in value.items() if key != "enabled"}, _MODES)
            else:
                save[name] = {"enabled": False, **present(value)} if name in _WITH_MODES and type(value) is dict else value
                continue
            on = value.get("enabled")
            if (on is False) if _in_file(context) and on is not True else not context.has_remainder:
                save[name] = {"enabled": True}  # distinguishes a block that server-side apply emptied from an absent one
        if block:
            if aside.get(_RIGHT_ONLY) is not None:
                block[_RIGHT_ONLY] = aside[_RIGHT_ONLY]
            right["experimental"] = block
        elif type(empty) is dict and not any(empty.get(name) is not None for name in self.left):
            right["experimental"] = empty

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Move features up with their switch on, and restore disabled ones.

        In a stored object, null is from server-side apply: a block with only schema defaults.
        """
        block, nothing = right.get("experimental"), True
        features = block if type(block) is dict else {}
        for name in self.left:
            value, was = features.get(name), remainder.get(name)
            # the remainder names the features of v1alpha1; of an object that is stored in v1beta1, those of the day when it was written
            known = context.has_remainder and not context.both and context.line < Line.V1_5
            if value is None and name in features and context.stored and (object_of(was).get("enabled") is True or not known):
                value = {}
            nothing = nothing and value is None
            if type(value) is dict:
                kept_switch = name == _SWITCHED and type(value.get("enabled")) is bool
                rest = value if kept_switch else {key: item for key, item in value.items() if key != "enabled"}
                left[name] = {"enabled": True, **_respelled(name, rest, _BACK)}
                if rest.get("enabled") is False and was is None and _in_file(context):
                    del left[name]["enabled"]
            elif type(was) is dict and was.get("enabled") is not True:
                left[name] = was
        if block is not None and nothing:
            save["experimental"] = block
            return
        aside = {_RIGHT_ONLY: features[_RIGHT_ONLY]} if features.get(_RIGHT_ONLY) is not None else {}
        switch = object_of(features.get(_SWITCHED)).get("enabled")
        if type(switch) is bool and context.line < Line.V1_3:  # its definitions have none, so that it isn't written unless it was there
            aside[_SWITCHED] = {"enabled": switch}
        if aside:
            save["experimental"] = aside

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
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


def _in_file(context: Context) -> bool:
    """Whether v1alpha1's default is left out, as the Go operator does: the API server writes it into stored objects only."""
    return context.line >= Line.V1_3 and bool(context.name) and not context.stored


def has_switch(remainder: Fields, context: Context) -> bool:
    """Whether a checkpoint of v1beta1 has a switch: since line 1.3, and where the component's remainder has it."""
    return context.line >= Line.V1_3 or "enabled" in object_member(object_member(remainder, "experimental"), _SWITCHED)


def _respelled(name: str, feature: Fields, modes: dict[str, str]) -> Fields:
    mode = feature.get("mode")
    if name in _WITH_MODES and type(mode) is str and mode in modes:
        return {**feature, "mode": modes[mode]}
    return feature
