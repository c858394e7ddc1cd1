"""What one ConversionReview did: objects and seconds by kind, version and outcome. Counting over reviews: meters.py."""

from __future__ import annotations

from typing import Final, TypeAlias

from api.kinds import BY_NAME

CONVERTED: Final = "converted"
SAME: Final = "same"  # the version asked for was the object's own
REFUSED: Final = "refused"
FAULT: Final = "fault"

_OURS: Final = frozenset((name, version.name) for name, kind in BY_NAME.items() for version in kind.versions)
# kind, version that was asked for, outcome; the first two are "other" where they are none of ours
TallyKey: TypeAlias = tuple[str, str, str]


class Tally:
    """Counts of one review; clients can't make labels, so names that aren't ours are `other`."""

    __slots__ = ("counts", "damaged")

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self.counts: dict[TallyKey, list[float]] = {}
        self.damaged = 0  # annotations whose text could not be used

    def add(self, kind: object, version: str, outcome: str, seconds: float) -> None:
        """Counts one object and the time that it took."""
        key = (kind, version, outcome) if type(kind) is str and (kind, version) in _OURS else _strange(kind, outcome)
        counted = self.counts.get(key)
        if counted is None:
            counted = self.counts[key] = [0.0, 0.0]
        counted[0] += 1
        counted[1] += seconds

    @property
    def objects(self) -> int:
        """How many objects the review held."""
        return int(sum(count for count, _ in self.counts.values()))


def _strange(kind: object, outcome: str) -> TallyKey:
    return (kind if type(kind) is str and kind in BY_NAME else "other", "other", outcome)
