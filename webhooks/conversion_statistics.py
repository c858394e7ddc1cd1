"""Objects and seconds of one ConversionReview by kind, versions and outcome."""

from itertools import permutations
from typing import Final, TypeAlias

from ..api.kinds import BY_NAME, GROUP

CONVERTED: Final = "converted"
SAME: Final = "same"  # the version asked for was the object's own
REFUSED: Final = "refused"
FAULT: Final = "fault"

OTHER: Final = "other"

_VERSIONS: Final = {f"{GROUP}/{version.name}": version.name for kind in BY_NAME.values() for version in kind.versions}
_OURS: Final = frozenset((name, version.name) for name, kind in BY_NAME.items() for version in kind.versions)
# kind, the object's version, the desired version, outcome; "other" if unknown
ConversionKey: TypeAlias = tuple[str, str, str, str]
# failures that can be counted, which metrics show as 0 from the start: a series that begins at 1 is no increase
FAILURES: Final[tuple[ConversionKey, ...]] = tuple(
    (*key, outcome)
    for key in (
        *((name, a.name, b.name) for name, kind in BY_NAME.items() for a, b in permutations(kind.versions, 2)),
        (OTHER, OTHER, OTHER),
    )
    for outcome in (REFUSED, FAULT)
)


class ConversionStatistics:
    """Counts of one review; clients can't make labels, so names that aren't ours are `other`."""

    __slots__ = ("counts", "damaged")

    def __init__(self) -> None:
        self.counts: dict[ConversionKey, list[float]] = {}
        self.damaged = 0  # annotations whose text could not be used

    def add(self, obj: object, version: str, outcome: str, seconds: float) -> None:
        """Count one object, its desired version, and the time."""
        key = _key(obj, version, outcome)
        counted = self.counts.get(key)
        if counted is None:
            counted = self.counts[key] = [0.0, 0.0]
        counted[0] += 1
        counted[1] += seconds

    @property
    def objects(self) -> int:
        """How many objects the review held."""
        return int(sum(count for count, _ in self.counts.values()))


def _key(obj: object, version: str, outcome: str) -> ConversionKey:
    kind, own = (obj.get("kind"), obj.get("apiVersion")) if type(obj) is dict else (None, None)
    if type(kind) is not str or kind not in BY_NAME:
        return (OTHER, OTHER, OTHER, outcome)
    source = _VERSIONS.get(own, OTHER) if type(own) is str else OTHER
    return (kind, source if (kind, source) in _OURS else OTHER, version if (kind, version) in _OURS else OTHER, outcome)
