"""Metrics that provisioner and reconciler share: memory and CPU, the Lease, requests to the API server, refused scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import ProcessCollector

from ...kube.metrics import COUNTER, GAUGE, Declared, export
from ...webhooks.metrics import CLIENT, DECLARED, OWN

if TYPE_CHECKING:
    from ...kube.lease import Election
    from ...kube.metrics import Values
    from ...kube.protocol import Traffic

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


def process_metrics(election: Election | None, refused: int, traffic: Traffic) -> bytes:
    """These metrics in the Prometheus text format; without an `election` there is no Lease."""
    metrics: list[tuple[Declared, Values]] = [(REFUSED, {(): refused}), (REQUESTS, traffic)]
    if election is not None:
        metrics.insert(0, (LEADING, {(election.name,): election.leading}))
    return export(metrics, ProcessCollector(registry=None))
