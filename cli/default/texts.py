"""The text of a file with its objects changed: everything else in it, other documents and comments too, stays byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.check.objects import objects
from cli.convert.texts import pieces, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.default.run import Outcome
    from policies.review import Fields


def new_text(outcome: Outcome) -> str:
    """The text of the outcome's file with the edits in it; the same text where there are none."""
    if not outcome.changes:
        return outcome.source.text
    coming = iter(outcome.objects)
    parts = []
    for piece in pieces(outcome.source.name, outcome.source.text):
        swaps = _swaps(piece.documents, coming)
        before = [document.data for document in piece.documents]
        after = [_swapped(value, swaps) for value in before]
        parts.append(written(piece, after) if swaps else piece.text)
    return "".join(parts)


def _swaps(documents: list[Any], coming: Iterator[Any]) -> dict[int, Fields]:
    """What objects of these documents become, by the identity of their data; both lists have the same order."""
    found = {}
    for one in objects(documents):
        changed = next(coming)
        if changed.edits:
            found[id(one.data)] = changed.object
    return found


def _swapped(value: Any, swaps: dict[int, Fields]) -> Any:
    if id(value) in swaps:
        return swaps[id(value)]
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return {**value, "items": [_swapped(item, swaps) for item in value["items"]]}
    return value
