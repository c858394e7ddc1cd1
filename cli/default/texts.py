"""The text of a file with its objects changed: everything else in it, other documents and comments too, stays byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dynamo_webhooks.cli.check.objects import objects
from dynamo_webhooks.cli.convert.texts import pieces
from dynamo_webhooks.cli.rewrite.rewritten import rewritten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dynamo_webhooks.policies.review import Fields


class NewText(NamedTuple):
    """A file's new text, and the lines of the old one whose comments it no longer has."""

    text: str
    lost: list[int]


def with_objects(name: str, text: str, wanted: Iterable[Fields | None], *, expands: bool = True) -> NewText:
    """The text with its objects of our kinds replaced, in the order in which they stand; None keeps one as it is.

    Without `expands` no alias is written out.

    Raises: NotWrittenError for values that no text says.
    """
    coming = iter(wanted)
    parts, lost = [], []
    for piece in pieces(name, text):
        swaps = _swaps(piece.documents, coming)
        if not swaps:
            parts.append(piece.text)
            continue
        new = rewritten(piece.text, [swapped(document.data, swaps) for document in piece.documents], expands=expands)
        parts.append(new.text)
        lost += [comment.line + piece.line - 1 for comment in new.lost]
    return NewText("".join(parts), lost)


def _swaps(documents: list[Any], coming: Iterator[Fields | None]) -> dict[int, Fields]:
    """What objects of these documents become, by the identity of their data."""
    pairs = [(id(one.data), next(coming)) for one in objects(documents)]
    return {at: value for at, value in pairs if value is not None}


def swapped(value: Any, swaps: dict[int, Fields]) -> Any:
    """A document with its objects replaced, by the identity of their data."""
    if id(value) in swaps:
        return swaps[id(value)]
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return {**value, "items": [swapped(item, swaps) for item in value["items"]]}
    return value
