"""Compares an update with the stored object's uid and resourceVersion, as an API server does before it judges anything else of it."""

from collections.abc import Iterator
from typing import Any, Final

from ...api.wording import shorten
from ...policies.review import Fields

UID: Final = "uid"
VERSION: Final = "resourceVersion"
_MAX_VALUE_CHARACTERS: Final = 80


def find_conflicts(obj: Fields, old: Fields | None) -> Iterator[tuple[str, str]]:
    """The field of metadata and a sentence for each value that is not the stored object's; absent ones agree."""
    new, stored = _metadata(obj), _metadata(old)
    if (uid := new.get(UID)) and stored.get(UID) and uid != stored[UID]:
        yield UID, f'must be that of the stored object or left out, got "{_short_value(uid)}": another object had this name'
    version = new.get(VERSION)
    if stored.get(VERSION) and version is not None and version != stored[VERSION]:
        reason = "an update needs one that is not empty or 0" if version in ("", "0") else "the object has changed since"
        yield (
            VERSION,
            f'must be "{_short_value(stored[VERSION])}", that of the stored object, or left out, got "{_short_value(version)}": {reason}',
        )


def _metadata(obj: Fields | None) -> dict[str, Any]:
    metadata = (obj or {}).get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _short_value(value: object) -> str:
    return shorten(str(value), _MAX_VALUE_CHARACTERS)
