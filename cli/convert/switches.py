"""Writes the switch that line 1.5 requires of a checkpoint in v1beta1, where line 1.2 took the block alone for switched on."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.kinds import BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import MISSING, lookup

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.conversion.objects import Target

_CHECKPOINT: Final = ("experimental", "checkpoint")
_SWITCH: Final = "enabled"


def switched(obj: dict[str, Any], wanted: Target) -> tuple[dict[str, Any], list[Path]]:
    """A copy whose checkpoints have a switch, with their places; the very same object where none lacks it, or for line 1.2.

    Costs one look at each component.
    """
    if wanted.line < Line.V1_5 or wanted.version != BETA:
        return obj, []
    listed = lookup(obj, ("spec", "components"))
    parts: list[Path] = [("spec",), *(("spec", "components", index) for index in range(len(listed) if isinstance(listed, list) else 0))]
    places = [(*part, *_CHECKPOINT) for part in parts if _lacks(lookup(obj, (*part, *_CHECKPOINT)))]
    new = copy.deepcopy(obj) if places else obj
    for place in places:
        block: Any = lookup(new, place)
        block[_SWITCH] = True
    return new, places


def _lacks(block: Any) -> bool:
    return block is not MISSING and isinstance(block, dict) and block.get(_SWITCH) is None
