"""Keeps a remainder within Kubernetes' limit: compressed if it is long, and left out if it still doesn't fit.

An object whose annotations are too long can't be read in the other version, and breaks every list that contains it. So a stored object is
read without its remainder and with a label, and writing an object with the label is refused, as is deleting it in that version, because the
API server converts deleted objects. Converted to the stored version, a remainder that is too long stays: the API server refuses the write.
"""

import base64
import zlib
from typing import Any, Final

from .kind import PREFIX
from .lens.protocol import ConversionError, Fields

Keys = tuple[str, ...]

MAX_ANNOTATION_BYTES: Final = 256 * 1024  # of an object, names included: Kubernetes' limit
PACKED: Final = "packed"  # the member of an envelope that holds the compressed envelope
TOO_LONG: Final = PREFIX + "dynamo-webhooks-remainder"
_VALUE: Final = "too-long"
_MAX_COST_RATIO: Final = 16  # of what a compressed text costs to its length: a short text must not cost as much as a long one
_VALUE_BYTES: Final = 16  # that a value counts beside its own: `{}` takes longer to read and convert than a letter


def annotation_size(annotations: Fields) -> int:
    """The size of annotations as Kubernetes counts it."""
    return sum(len(key.encode()) + len(text.encode("utf-8", "surrogatepass")) for key, text in annotations.items() if type(text) is str)


def fits(annotations: Fields) -> bool:
    """Whether Kubernetes admits the annotations; bytes are counted only if they are long."""
    characters = sum(len(key) + len(text) for key, text in annotations.items() if type(text) is str)
    return characters * 4 <= MAX_ANNOTATION_BYTES or annotation_size(annotations) <= MAX_ANNOTATION_BYTES


def fit_annotations(annotations: Fields, written: dict[str, str], long: Keys, *, storing: bool, dispensable: bool) -> tuple[Fields, bool]:
    """The annotations with those that conversion has `written` made to fit, and whether all are kept, as always when `storing`.

    An empty remainder is `dispensable`. `long` are the keys whose texts may be compressed."""
    if not written or fits(annotations):
        return annotations, True
    rest = {key: text for key, text in annotations.items() if key not in written}
    if dispensable:
        return rest, True
    annotations = {**annotations, **{key: compress(written[key]) for key in long if key in written}}
    return (annotations, True) if storing or fits(annotations) else (rest, False)


def least(annotations: Fields, long: Keys) -> int:
    """The size of the annotations with long ones compressed, if that makes them shorter."""
    texts = {key: text for key in long if type(text := annotations.get(key)) is str and not text.startswith(f'{{"{PACKED}":')}
    whole = annotation_size(annotations)
    return min(whole, whole - annotation_size(texts) + annotation_size({key: compress(text) for key, text in texts.items()}))


def compress(text: str) -> str:
    """An envelope that holds another one, compressed, padded to the length that `decompress` wants for its cost."""
    encoded = text.encode("utf-8", "surrogatepass")
    content = base64.b64encode(zlib.compress(encoded, 6)).decode()
    return f'{{"{PACKED}":"{content}","spec":{{}},"version":1}}'.ljust(_cost(encoded) // _MAX_COST_RATIO + 1)


def decompress(content: Any, length: int) -> str | None:
    """The decompressed text; None if it is invalid, or costs more than `compress` can put into a text of this length."""
    if type(content) is not str:
        return None
    try:
        reader = zlib.decompressobj()
        decompressed = reader.decompress(base64.b64decode(content, validate=True), _MAX_COST_RATIO * length)
        if not reader.eof or reader.unused_data or _cost(decompressed) > _MAX_COST_RATIO * length:
            return None
        return decompressed.decode("utf-8", "surrogatepass")
    except (ValueError, zlib.error):
        return None


def _cost(text: bytes) -> int:
    """The length of a JSON text with its values, of which there are at most as many as commas and opening brackets."""
    return len(text) + _VALUE_BYTES * (text.count(b",") + text.count(b"{") + text.count(b"["))


def label_too_long(metadata: Fields) -> None:
    """Label the metadata of an object that is read without its remainder."""
    labels = metadata.get("labels")
    metadata["labels"] = {**(labels if type(labels) is dict else {}), TOO_LONG: _VALUE}


def require_whole(metadata: Fields, stored: str) -> None:
    """Refuse to store an object that was read without its remainder; `stored` is the stored version.

    An object that is being deleted is accepted, so that its finalizers can be removed.

    Raises: ConversionError naming the label.
    """
    labels = metadata.get("labels")
    if type(labels) is dict and labels.get(TOO_LONG) == _VALUE and metadata.get("deletionTimestamp") is None:
        reason = f"must not be written or deleted in this version, which can't hold all that the object says: use {stored}"
        raise ConversionError(("metadata", "labels", TOO_LONG), reason)
