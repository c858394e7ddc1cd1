"""The text of a file with its objects changed: everything else in it, other documents and comments too, stays byte for byte."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ...api.paths import Path
from ...policies.review import Fields
from ..rewrite.align import Origin
from ..rewrite.rewrite import rewrite
from ..yaml.load import split_documents
from .manifest import find_manifests


class NewText(NamedTuple):
    """A file's new text, and the lines of the old one whose comments it no longer has."""

    text: str
    lost_lines: list[int]


class ObjectOrigins:
    """The origins of the values of changed objects, in one piece of text: each object by its document and its place in lists."""

    def __init__(self) -> None:
        self._origins: dict[tuple[int, Path], Origin] = {}

    def add(self, document: int, path: Path, origin: Origin) -> None:
        """Record an object; `path` is empty for one that is a document."""
        self._origins[document, path] = origin

    def origin(self, document: int, path: Path) -> Path | None:
        """The old path of a path in a new document; paths around objects are unchanged."""
        for length in range(0, len(path) + 1, 2):  # lists in lists: items, index, items, index
            if (origin := self._origins.get((document, path[:length]))) is not None:
                old = origin(path[length:])
                return None if old is None else (*path[:length], *old)
        return path


def replace_objects(
    name: str, text: str, wanted: Iterable[Fields | None], *, expands: bool = True, origins: Mapping[int, Origin] | None = None
) -> NewText:
    """Replaces the Dynamo objects of a text, in order; None keeps an object. Without `expands`, aliases stay aliases.

    `origins` are those of objects whose values moved, by their number. Raises: NotWrittenError for values that can't be written.
    """
    coming = enumerate(wanted)
    parts, lost = [], []
    for piece in split_documents(name, text):
        moves = ObjectOrigins()
        swaps = _swaps(piece.documents, coming, origins or {}, moves)
        if not swaps:
            parts.append(piece.text)
            continue
        values = [replace_in_document(document.data, swaps) for document in piece.documents]
        new = rewrite(piece.text, values, moves.origin, expands=expands)
        parts.append(new.text)
        lost += [comment.line + piece.line - 1 for comment in new.lost_comments]
    return NewText("".join(parts), lost)


def _swaps(
    documents: list[Any], coming: Iterator[tuple[int, Fields | None]], origins: Mapping[int, Origin], moves: ObjectOrigins
) -> dict[int, Fields]:
    """New values of these documents' objects, by the identity of their data; adds their origins to the moves."""
    swaps: dict[int, Fields] = {}
    places = (
        {at: (index, path) for index, document in enumerate(documents) for at, path in _object_paths(document.data, ())} if origins else {}
    )
    for manifest in find_manifests(documents):
        number, value = next(coming)
        if value is not None:
            swaps[id(manifest.data)] = value
        if number in origins:
            moves.add(*places[id(manifest.data)], origins[number])
    return swaps


def _object_paths(value: Any, path: Path) -> Iterator[tuple[int, Path]]:
    """Objects of a document and of its lists, by the identity of their data."""
    if isinstance(value, dict):
        yield id(value), path
        items = value.get("items")
        for index, item in enumerate(items if isinstance(items, list) else ()):
            yield from _object_paths(item, (*path, "items", index))


def replace_in_document(value: Any, swaps: dict[int, Fields]) -> Any:
    """A document with its objects replaced, by the identity of their data."""
    if id(value) in swaps:
        return swaps[id(value)]
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return {**value, "items": [replace_in_document(item, swaps) for item in value["items"]]}
    return value
