"""Metrics over TLS of a process that serves no webhooks: a certificate of its own, and who may read. Answers are kept by metrics_access.py.

Nobody published an authority for these processes, so the pair is made in memory, as the Go operator's is: it keeps a token from those who
listen on the way, and proves nothing about the server. A scraper has to skip verification.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.certs.authority import issue_leaf, make_authority
from dynamo_webhooks.certs.context import Offer, ReloadingContext
from dynamo_webhooks.certs.files import local_names
from dynamo_webhooks.kube.identity import instance
from dynamo_webhooks.webhooks.cluster.reviews import AccessReviewer
from dynamo_webhooks.webhooks.metrics_access import MetricsAccess

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.kube.protocol import Cluster

LIFE: Final = timedelta(days=365)
AGAIN: Final = timedelta(days=240)  # after so long another pair is made


def _now() -> datetime:
    return datetime.now(UTC)


class OwnPair:
    """A source of pairs that makes them itself; no key is ever written to a file that stays."""

    def __init__(self, names: tuple[str, ...], clock: Callable[[], datetime] = _now) -> None:
        """Makes nothing yet."""
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
    """What stands before the metrics of one process."""

    def __init__(self) -> None:
        """Lets nobody in before there is a cluster to ask."""
        self._desk = AccessReviewer(lambda _report: None)
        self.refused = 0
        self.context = ReloadingContext(OwnPair(local_names(instance())))
        self.gate = MetricsAccess(self._desk.ask, self._count)

    def use(self, cluster: Cluster) -> None:
        """From now on `cluster` is asked."""
        self._desk.cluster = cluster

    def _count(self) -> None:
        self.refused += 1
