"""Fields of live definitions that no known line has: the cluster is of a later release, and judged as the newest line that fits it."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from .crd import build
from .kinds import BY_NAME
from .line import NEWEST, Line, is_beyond
from .lost_fields import find_lost_fields

# kinds that people write, and in whose definitions each release has had its new fields
WRITTEN: Final = ("DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentRequest")
_MAX_FIELDS: Final = 10  # in a sentence


def describe_later_release(version: str, line: Line, definitions: Iterable[Any]) -> str:
    """The sentence about a cluster of a later release than any that is known, by its operator's version or definitions; else empty."""
    unknown = [field for crd in definitions for field in _list_unknown(crd)]
    if not unknown and not is_beyond(version):
        return ""
    more = f" and {len(unknown) - _MAX_FIELDS} more" if len(unknown) > _MAX_FIELDS else ""
    fields = f", fields unknown: {', '.join(unknown[:_MAX_FIELDS])}{more}" if unknown else ""
    return f"this cluster is newer than operator {line}: judged as {line}{fields}"


def _list_unknown(crd: Any) -> Iterator[str]:
    names = ((crd.get("spec") or {}).get("names") or {}) if isinstance(crd, dict) else {}
    kind = names.get("kind") if isinstance(names, dict) else None
    if isinstance(kind, str) and kind in BY_NAME:
        yield from (f"{kind} {field}" for field in find_lost_fields(crd, build(kind, line=NEWEST)))
