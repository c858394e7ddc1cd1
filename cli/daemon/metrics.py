"""Metrics that provisioner and reconciler share: memory and CPU, the Lease, requests to the API server, refused scrapes.

Over TLS they are served with a pair made in memory, as the Go operator's is, since no authority is published for these processes: it
encrypts a token, and proves nothing about the server. A scraper has to skip verification.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from prometheus_client import ProcessCollector

from ...certs.authority import issue_leaf, make_authority
from ...certs.context import Offer, ReloadingContext
from ...certs.files import local_names
from ...kube.identity import replica_name
from ...kube.metrics import COUNTER, GAUGE, Declared, export
from ...kube.protocol import Cluster
from ...webhooks.cluster.reviews import AccessReviewer
from ...webhooks.metrics_access import MetricsAccess
from ...webhooks.metrics_table import CLIENT, DECLARED, OWN

if TYPE_CHECKING:
    from ...kube.lease import Election
    from ...kube.metrics import Values
    from ...kube.traffic import Traffic

LEADING: Final = Declared("leader_election_master_status", GAUGE, "1 if this process holds the Lease of that name", ("name",))
REFUSED: Final = DECLARED[f"{OWN}metrics_access_denied"]
REQUESTS: Final = DECLARED[CLIENT]
# `process_*` come from the client library, only on Linux
PROCESS_METRICS: Final = (
    LEADING,
    REFUSED,
    REQUESTS,
    Declared("process_cpu_seconds", COUNTER, "CPU time"),
    Declared("process_resident_memory_bytes", GAUGE, "Resident memory"),
    Declared("process_virtual_memory_bytes", GAUGE, "Virtual memory"),
    Declared("process_start_time_seconds", GAUGE, "Start of the process, as Unix time"),
    Declared("process_open_fds", GAUGE, "Open file descriptors"),
    Declared("process_max_fds", GAUGE, "Maximum of open file descriptors"),
)
LIFE: Final = timedelta(days=365)
AGAIN: Final = timedelta(days=240)  # after so long another pair is made


def process_metrics(election: Election | None, refused: int, traffic: Traffic) -> bytes:
    """These metrics in the Prometheus text format; without an `election` there is no Lease."""
    metrics: list[tuple[Declared, Values]] = [(REFUSED, {(): refused}), (REQUESTS, traffic)]
    if election is not None:
        metrics.insert(0, (LEADING, {(election.name,): election.leading}))
    return export(metrics, ProcessCollector(registry=None))


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
