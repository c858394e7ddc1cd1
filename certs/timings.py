"""How long each part of a rotation takes, and how long certificates live."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Timings:
    """Durations of the protocol, with the defaults of the section `certificates`. Tests may go below its bounds."""

    resync: timedelta = 10 * MINUTE  # everything is read again at least this often, watches or not
    settle: timedelta = 120 * timedelta(seconds=1)  # API servers don't acknowledge a bundle: the time for each of them to see it
    min_roll: timedelta = 180 * timedelta(seconds=1)  # a pod that just started may read files 90 s old; doubled
    roll_warn: timedelta = 15 * MINUTE
    drain: timedelta = DAY  # rollbacks of the Deployment and restored Secrets bring the old leaf back
    authority_life: timedelta = 3650 * DAY
    leaf_life: timedelta = 365 * DAY
    backdate: timedelta = HOUR  # clocks differ, and a certificate must be valid at once everywhere


SHORT_SETTLE: Final = timedelta(seconds=15)  # when an authority is compromised, waiting costs more than a lagging API server
ROUNDS: Final = 2  # consecutive rounds of probes that must agree before an old authority is let go
ROUND_APART: Final = timedelta(seconds=10)  # between two rounds that count
LEAF_GUARD: Final = 5 * MINUTE  # at most one leaf in this time unless the present one can't be used
AUTHORITY_GUARD: Final = DAY  # at most one automatic new authority in this time
SKEW_WARN: Final = 5 * MINUTE
SKEW_STOP: Final = HOUR  # beyond it nothing is signed: such a certificate might not be valid yet, or too short
