"""The replica status of one service or component: its names in the singular and the plural."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conversion.lens.simple import View, same
from conversion.lens.struct import Struct

if TYPE_CHECKING:
    from conversion.lens.protocol import Fields


def _plural(left: Fields) -> Fields:
    names, name = left.get("componentNames"), left.get("componentName")
    if names:
        return {"componentNames": names}
    return {"componentNames": [name]} if name else {}


def _both(right: Fields) -> Fields:
    names = right.get("componentNames")
    if type(names) is not list or not names:
        return {}
    return {"componentNames": names, **({"componentName": names[-1]} if names[-1] else {})}


REPLICAS: Final = Struct(
    *same("componentKind", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
    View(("componentName", "componentNames"), ("componentNames",), _plural, _both, "the last name is the singular one"),
)
