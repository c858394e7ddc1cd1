"""What the reconciler counts, under the names that the Go operator's dashboards read, and its gauges. Reads no object itself."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    _Series = Iterable[tuple[tuple[str, ...], float]]

_REFERENCE: Final = "dynamo_operator_"
_OURS: Final = "dynamo_webhooks_reconciler_"
# name -> (labels, help); a namespace is never a label, or a cluster with many would pay for it with every scrape
DURATION: Final = (f"{_REFERENCE}reconcile_duration_seconds", ("resource_type", "result"), "Time of one pass over an object")
COUNTERS: Final = {
    f"{_REFERENCE}reconcile": (("resource_type", "result"), "Passes over objects; `requeue` looks again although nothing changed"),
    f"{_REFERENCE}reconcile_errors": (("resource_type", "error_type"), "Passes that ended in an error, by its class"),
    f"{_OURS}stood_down": ((), "Passes given up because we may not write there any more"),
}
GAUGES: Final = {
    f"{_REFERENCE}resources": (("resource_type", "status"), "Objects by their state"),
    f"{_OURS}leading": ((), "1 when this reconciler holds the Lease"),
    f"{_OURS}queue_depth": ((), "Objects that wait to be passed over"),
    f"{_OURS}excluded_namespaces": ((), "Namespaces that another operator has claimed"),
    f"{_OURS}unreadable_kinds": ((), "Kinds that can't be read"),
}
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds


class Label(NamedTuple):
    """What series are told apart by."""

    kind: str
    result: str  # success, error or requeue; of errors the class; of objects their state


class Standing(NamedTuple):
    """The gauges of a scrape."""

    leading: bool
    queue_depth: int
    excluded_namespaces: int
    unreadable_kinds: int


@dataclass(slots=True)
class Meters:
    """Counts of one process."""

    passes: dict[Label, list[float]] = field(default_factory=dict)  # seconds, then one count a bucket
    errors: Counter[Label] = field(default_factory=Counter)
    stood_down: int = 0

    def passed(self, label: Label, seconds: float) -> None:
        """Counts one pass."""
        series = self.passes.setdefault(label, [0.0] * (len(BUCKETS) + 2))
        series[0] += seconds
        series[1 + bisect_left(BUCKETS, seconds)] += 1

    def text(self, objects: Mapping[Label, int], standing: Standing) -> bytes:
        """All metrics in the Prometheus text format, with how many objects there are."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Export(self, objects, standing))
        return generate_latest(registry)


class _Export(Collector):
    """One scrape."""

    def __init__(self, meters: Meters, objects: Mapping[Label, int], standing: Standing) -> None:
        self._meters, self._objects, self._standing = meters, objects, standing

    def collect(self) -> Iterator[Metric]:
        name, labels, text = DURATION
        duration = HistogramMetricFamily(name, text, labels=labels)
        totals: dict[Label, float] = {}
        for label, series in self._meters.passes.items():
            bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
            duration.add_metric([*label], list(zip(bounds, accumulate(series[1:]), strict=True)), series[0])
            totals[label] = sum(series[1:])
        yield duration
        counted: list[_Series] = [totals.items(), self._meters.errors.items(), [((), self._meters.stood_down)]]
        for (called, (names, help_text)), values in zip(COUNTERS.items(), counted, strict=True):
            counter = CounterMetricFamily(called, help_text, labels=names)
            for told, value in values:
                counter.add_metric([*told], value)
            yield counter
        measured: list[_Series] = [self._objects.items(), *([((), float(value))] for value in self._standing)]
        for (called, (names, help_text)), values in zip(GAUGES.items(), measured, strict=True):
            gauge = GaugeMetricFamily(called, help_text, labels=names)
            for told, value in values:
                gauge.add_metric([*told], value)
            yield gauge
