"""The text of a file with its objects changed: everything else in it, other documents and comments too, stays byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.check.objects import objects
from cli.convert.texts import pieces, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from policies.review import Fields


def with_objects(name: str, text: str, wanted: Iterable[Fields | None]) -> str:
    """The text with its objects of our kinds replaced, in the order in which they stand; None keeps one as it is."""
    coming = iter(wanted)
    parts = []
    for piece in pieces(name, text):
        swaps = _swaps(piece.documents, coming)
        parts.append(written(piece, [_swapped(document.data, swaps) for document in piece.documents]) if swaps else piece.text)
    return "".join(parts)


def _swaps(documents: list[Any], coming: Iterator[Fields | None]) -> dict[int, Fields]:
    """What objects of these documents become, by the identity of their data."""
    pairs = [(id(one.data), next(coming)) for one in objects(documents)]
    return {at: value for at, value in pairs if value is not None}


def _swapped(value: Any, swaps: dict[int, Fields]) -> Any:
    if id(value) in swaps:
        return swaps[id(value)]
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return {**value, "items": [_swapped(item, swaps) for item in value["items"]]}
    return value
