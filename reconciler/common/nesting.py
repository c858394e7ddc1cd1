"""Objects that are nested too deeply to be worked with: they are kept without their spec, and refused. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...kube.protocol import Node

LEVELS: Final = 200  # of maps and lists; what is rendered adds a few, and JSON is written down to 254
_MARK: Final = "tooDeep"


def cut_nested(obj: Node) -> None:
    """Takes the spec from an object that is nested deeper than that. Linear in the size of the object."""
    level = _nested([obj.get("spec")])
    for _ in range(LEVELS + 1):
        if not level:
            return
        level = _nested(inner for one in level for inner in (one.values() if isinstance(one, dict) else one))
    obj["spec"], obj[_MARK] = {}, True


def explain_cut(obj: Node) -> str:
    """Why nothing is done for an object that was cut; empty for any other."""
    return f"spec: must be nested at most {LEVELS} levels deep; flatten the deepest part" if _MARK in obj else ""


def _nested(values: Iterable[Any]) -> list[Any]:
    return [one for one in values if one and isinstance(one, dict | list)]
