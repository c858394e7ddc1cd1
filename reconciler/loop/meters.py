"""The reconciler's metrics, with the names of the Go operator's dashboards."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dynamo_webhooks.reconciler.loop import controller_runtime_metrics
from dynamo_webhooks.reconciler.loop.series import Declared, Label, filled, observe, spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dynamo_webhooks.reconciler.loop.queue_statistics import QueueStatistics
    from dynamo_webhooks.reconciler.loop.series import Series

_REFERENCE: Final = "dynamo_operator_"
_OURS: Final = "dynamo_webhooks_reconciler_"
NAMESPACE: Final = "namespace"
# name -> (labels, help); the namespace is the last label if configured, because it multiplies series
DURATION: Final[Declared] = (f"{_REFERENCE}reconcile_duration_seconds", ("resource_type", "result"), "Time of a pass")
COUNTERS: Final = {
    f"{_REFERENCE}reconcile": (("resource_type", "result"), "Passes; `requeue` without a change"),
    f"{_REFERENCE}reconcile_errors": (("resource_type", "error_type"), "Failed passes, by class of the error"),
    f"{_OURS}stood_down": ((), "Passes given up after leadership or the namespace was lost"),
}
GAUGES: Final = {
    f"{_REFERENCE}resources_total": (("resource_type", "status"), "Objects by state"),
    f"{_OURS}leading": ((), "1 if this reconciler holds the Lease"),
    f"{_OURS}queue_depth": ((), "Waiting objects"),
    f"{_OURS}excluded_namespaces": ((), "Namespaces that other operators have claimed"),
    f"{_OURS}unreadable_kinds": ((), "Kinds that may not be read, and missing definitions"),
}


class Gauges(NamedTuple):
    """The gauges of a scrape."""

    leading: bool
    queued: Mapping[str, int]  # by kind, all kinds
    turns: QueueStatistics  # of the queue
    workers: int
    excluded_namespaces: int
    unreadable_kinds: int


@dataclass(slots=True)
class Meters:
    """Counts of one process."""

    namespaces: bool = False  # whether a namespace is a label
    passes: dict[Label, list[float]] = field(default_factory=dict)  # seconds, then one count a bucket
    errors: Counter[Label] = field(default_factory=Counter)
    stood_down: int = 0
    terminal: Counter[str] = field(default_factory=Counter)  # by kind: passes that ended in a permanent error
    panics: Counter[str] = field(default_factory=Counter)  # by kind: passes that ended in an internal error

    def label(self, kind: str, result: str, namespace: str) -> Label:
        """The labels of an object's series."""
        return Label(kind, result, namespace if self.namespaces else "")

    def passed(self, label: Label, seconds: float) -> None:
        """Counts one pass."""
        observe(self.passes, label, seconds)

    def text(self, objects: Mapping[Label, int], standing: Gauges) -> bytes:
        """All metrics in Prometheus text format, with counts of objects."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Export(self, objects, standing))
        return generate_latest(registry)


class _Export(Collector):
    """One scrape."""

    def __init__(self, meters: Meters, objects: Mapping[Label, int], standing: Gauges) -> None:
        self._meters, self._objects, self._standing = meters, objects, standing

    def collect(self) -> Iterator[Metric]:
        passes, standing = self._meters.passes, self._standing
        totals = {label: sum(series[1:]) for label, series in passes.items()}
        name, names, text = DURATION
        yield spread((name, self._told(names), text), passes)
        counted: list[Series] = [totals.items(), self._meters.errors.items(), [((), self._meters.stood_down)]]
        for (called, (names, text)), values in zip(COUNTERS.items(), counted, strict=True):
            yield filled(CounterMetricFamily(called, text, labels=self._told(names)), self._told(names), values)
        depth = sum(standing.queued.values())
        bare = (standing.leading, depth, standing.excluded_namespaces, standing.unreadable_kinds)
        measured: list[Series] = [self._objects.items(), *([((), float(value))] for value in bare)]
        for (called, (names, text)), values in zip(GAUGES.items(), measured, strict=True):
            yield filled(GaugeMetricFamily(called, text, labels=self._told(names)), self._told(names), values)
        yield from controller_runtime_metrics.passes(passes, self._meters.terminal, self._meters.panics, standing.queued)
        yield from controller_runtime_metrics.queue(standing.queued, standing.turns, standing.workers)

    def _told(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The labels of a metric, with the namespace if configured."""
        return (*names, NAMESPACE) if names and self._meters.namespaces else names
