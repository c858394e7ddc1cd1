"""Metrics that provisioner and reconciler share: memory and CPU, the Lease, requests to the API server, refused scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dynamo_webhooks.webhooks.metrics_table import CLIENT, COUNTER, DECLARED, GAUGE, OWN, Declared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.kube.lease import Election
    from dynamo_webhooks.kube.traffic import Traffic

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
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Export(election, refused, traffic))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Export(Collector):
    """One scrape."""

    def __init__(self, election: Election | None, refused: int, traffic: Traffic) -> None:
        self._election, self._refused, self._traffic = election, refused, traffic

    def collect(self) -> Iterator[Metric]:
        if self._election is not None:
            gauge = GaugeMetricFamily(LEADING.name, LEADING.text, labels=LEADING.labels)
            gauge.add_metric([self._election.name], float(self._election.leading))
            yield gauge
        yield CounterMetricFamily(REFUSED.name, REFUSED.text, value=self._refused)
        requests = CounterMetricFamily(REQUESTS.name, REQUESTS.text, labels=REQUESTS.labels)
        for sent, count in self._traffic.items():
            requests.add_metric(sent, count)
        yield requests
