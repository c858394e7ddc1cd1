"""How long each part of a rotation takes, and how long certificates live. Reading them from a file is the command's matter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Timings:
    """Durations of the protocol; docs/configuration.md lists the defaults. Tests may go below the bounds, a configuration may not."""

    resync: timedelta = 10 * MINUTE  # everything is read again at least this often, watches or not
    settle: timedelta = 120 * timedelta(seconds=1)  # nobody acknowledges a bundle: the time we grant each API server to see it
    min_roll: timedelta = 180 * timedelta(seconds=1)  # a pod that just started may read files 90 s old; doubled
    roll_warn: timedelta = 15 * MINUTE
    drain: timedelta = DAY  # rollbacks of the Deployment and restored Secrets bring the old leaf back
    authority_life: timedelta = 3650 * DAY
    leaf_life: timedelta = 365 * DAY
    backdate: timedelta = HOUR  # clocks differ, and a certificate must be valid at once everywhere


BOUNDS: Final[dict[str, tuple[timedelta, timedelta]]] = {
    "resync": (MINUTE, HOUR),
    "settle": (timedelta(seconds=15), HOUR),
    "min_roll": (timedelta(0), HOUR),
    "roll_warn": (MINUTE, DAY),
    "drain": (10 * MINUTE, 30 * DAY),
    "authority_life": (30 * DAY, 36500 * DAY),
    "leaf_life": (DAY, 36500 * DAY),
    "backdate": (timedelta(0), DAY),
}
SHORT_SETTLE: Final = timedelta(seconds=15)  # when an authority is compromised, waiting costs more than a lagging API server
ROUNDS: Final = 2  # consecutive rounds of probes that must agree before an old authority is let go
ROUND_APART: Final = timedelta(seconds=10)  # between two rounds that count
LEAF_GUARD: Final = 5 * MINUTE  # at most one leaf in this time unless the present one can't be used
AUTHORITY_GUARD: Final = DAY  # at most one automatic new authority in this time
SKEW_WARN: Final = 5 * MINUTE
SKEW_STOP: Final = HOUR  # beyond it nothing is signed: such a certificate might not be valid yet, or too short


def violations(timings: Timings) -> tuple[str, ...]:
    """One sentence for each duration outside its bounds, and for a leaf that would outlive its authority."""
    wrong = [
        f"{name} must be between {low} and {high}, and is {getattr(timings, name)}"
        for name, (low, high) in BOUNDS.items()
        if not low <= getattr(timings, name) <= high
    ]
    if timings.leaf_life > timings.authority_life:
        wrong.append(f"leaf_life must be at most authority_life ({timings.authority_life}), and is {timings.leaf_life}")
    return tuple(wrong)
