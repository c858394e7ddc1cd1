"""Keeps a remainder within what Kubernetes admits: packed where it is long, and left out where even that doesn't fit.

An object whose annotations are too long can't be read in the other version, and breaks every list that it is in. So a stored object is
shown without its remainder and with a label, and what carries the label is refused on its way back: nothing is lost silently. That holds
for deleting it there, too, since an API server converts what it is about to delete. On the way to the stored version a remainder that is
too long stays, since the API server then refuses the write.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.conversion.kind import PREFIX
from dynamo_webhooks.conversion.lens.protocol import ConversionError

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields

    Keys = tuple[str, ...]

MOST: Final = 256 * 1024  # bytes of all annotations of an object, names included: Kubernetes' limit
PACKED: Final = "packed"  # the member of an envelope that holds the whole of it, compressed
TOO_LONG: Final = PREFIX + "dynamo-webhooks-remainder"
_VALUE: Final = "too-long"
_TIMES: Final = 16  # a text is at most so many times as long as what it was packed into: a short one must not cost as much as a long one


def size(annotations: Fields) -> int:
    """The bytes that Kubernetes counts."""
    return sum(len(key.encode()) + len(text.encode("utf-8", "surrogatepass")) for key, text in annotations.items() if type(text) is str)


def fits(annotations: Fields) -> bool:
    """Whether Kubernetes admits the annotations; few are so long that their bytes must be counted."""
    characters = sum(len(key) + len(text) for key, text in annotations.items() if type(text) is str)
    return characters * 4 <= MOST or size(annotations) <= MOST


def bounded(annotations: Fields, written: dict[str, str], long: Keys, *, storing: bool, dispensable: bool) -> tuple[Fields, bool]:
    """The annotations with those that conversion has `written` made to fit, and whether all are still there, as always when `storing`;
    a remainder that says nothing is `dispensable`. `long` are the keys whose texts may be packed."""
    if not written or fits(annotations):
        return annotations, True
    rest = {key: text for key, text in annotations.items() if key not in written}
    if dispensable:
        return rest, True
    annotations = {**annotations, **{key: packed(written[key]) for key in long if key in written}}
    return (annotations, True) if storing or fits(annotations) else (rest, False)


def least(annotations: Fields, long: Keys) -> int:
    """The bytes of the annotations once those that may be long have been packed, where that makes them fewer."""
    texts = {key: text for key in long if type(text := annotations.get(key)) is str and not text.startswith(f'{{"{PACKED}":')}
    whole = size(annotations)
    return min(whole, whole - size(texts) + size({key: packed(text) for key, text in texts.items()}))


def packed(text: str) -> str:
    """An envelope that holds another one."""
    content = base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 6)).decode()
    return f'{{"{PACKED}":"{content}","spec":{{}},"version":1}}'.ljust(len(text.encode("utf-8", "surrogatepass")) // _TIMES + 1)


def unpacked(content: Any, length: int) -> str | None:
    """The text that was packed into so many characters; None for what is none, or is longer than `packed` makes it."""
    if type(content) is not str:
        return None
    try:
        reader = zlib.decompressobj()
        found = reader.decompress(base64.b64decode(content, validate=True), _TIMES * length)
        return found.decode("utf-8", "surrogatepass") if reader.eof and not reader.unused_data else None
    except (ValueError, zlib.error):
        return None


def labelled(metadata: Fields) -> None:
    """Marks the metadata of an object that is shown without its remainder."""
    labels = metadata.get("labels")
    metadata["labels"] = {**(labels if type(labels) is dict else {}), TOO_LONG: _VALUE}


def require_whole(metadata: Fields, stored: str) -> None:
    """Refuses to store what was shown without its remainder; `stored` is the version that is stored.

    An object on its way out is stored: it has nothing to keep, and its finalizers must be able to go.

    Raises: ConversionError naming the label.
    """
    labels = metadata.get("labels")
    if type(labels) is dict and labels.get(TOO_LONG) == _VALUE and metadata.get("deletionTimestamp") is None:
        reason = f"must not be written or deleted in this version, which can't hold all that the object says: use {stored}"
        raise ConversionError(("metadata", "labels", TOO_LONG), reason)
