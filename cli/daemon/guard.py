"""Metrics over TLS of a process that serves no webhooks: its own certificate, and the check of readers.

No authority is published for these processes, so the pair is made in memory, as the Go operator's is: it encrypts a token, and proves
nothing about the server. A scraper has to skip verification.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from ...certs.authority import issue_leaf, make_authority
from ...certs.context import Offer, ReloadingContext
from ...certs.files import local_names
from ...kube.config import replica_name
from ...kube.protocol import Cluster
from ...webhooks.cluster.reviews import AccessReviewer
from ...webhooks.probes import MetricsAccess

LIFE: Final = timedelta(days=365)
AGAIN: Final = timedelta(days=240)  # after so long another pair is made


def _now() -> datetime:
    return datetime.now(UTC)


class OwnPair:
    """A source of pairs that makes them itself; no key is ever written to a file that stays."""

    def __init__(self, names: tuple[str, ...], clock: Callable[[], datetime] = _now) -> None:
        self._names, self._clock = names, clock
        self._made: tuple[datetime, Offer] | None = None

    def offer(self) -> Offer:
        """The pair to serve now."""
        now = self._clock()
        if self._made is None or not timedelta() <= now - self._made[0] < AGAIN:
            authority = make_authority(now, life=LIFE)
            leaf = issue_leaf(authority, self._names, now, life=LIFE)
            self._made = now, Offer(leaf.certificate, leaf.key, authority.certificate, source="own")
        return self._made[1]


class Guard:
    """Guards the metrics of one process."""

    def __init__(self) -> None:
        """Refuses all readers until a cluster can be asked."""
        self._desk = AccessReviewer(lambda _report: None)
        self.refused = 0
        self.context = ReloadingContext(OwnPair(local_names(replica_name())))
        self.gate = MetricsAccess(self._desk.ask, self._count)

    def use(self, cluster: Cluster) -> None:
        """From now on `cluster` is asked."""
        self._desk.cluster = cluster

    def _count(self) -> None:
        self.refused += 1
