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
    from collections.abc import Iterator, Mapping

PREFIX: Final = "dynamo_operator_"
OURS: Final = "dynamo_webhooks_reconciler_"
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds


class Label(NamedTuple):
    """What series are told apart by; namespaces are as many as a cluster has."""

    kind: str
    namespace: str
    result: str  # success, error or requeue; of errors the category; of objects their state


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

    def text(self, objects: Mapping[Label, int], gauges: Mapping[str, tuple[str, float]]) -> bytes:
        """All metrics in the Prometheus text format, with how many objects there are and gauges: name -> (help, value)."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Export(self, objects, gauges))
        return generate_latest(registry)


class _Export(Collector):
    """One scrape."""

    def __init__(self, meters: Meters, objects: Mapping[Label, int], gauges: Mapping[str, tuple[str, float]]) -> None:
        self._meters, self._objects, self._gauges = meters, objects, gauges

    def collect(self) -> Iterator[Metric]:
        labels = ("resource_type", "namespace", "result")
        duration = HistogramMetricFamily(f"{PREFIX}reconcile_duration_seconds", "Time of one pass over an object", labels=labels)
        total = CounterMetricFamily(f"{PREFIX}reconcile", "Passes over objects", labels=labels)
        for label, series in self._meters.passes.items():
            bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
            duration.add_metric([*label], list(zip(bounds, accumulate(series[1:]), strict=True)), series[0])
            total.add_metric([*label], sum(series[1:]))
        yield duration
        yield total
        errors = CounterMetricFamily(
            f"{PREFIX}reconcile_errors", "Passes that ended in an error, by its class", labels=("resource_type", "namespace", "error_type")
        )
        for label, count in self._meters.errors.items():
            errors.add_metric([*label], count)
        yield errors
        objects = GaugeMetricFamily(f"{PREFIX}resources", "Objects by their state", labels=("resource_type", "namespace", "status"))
        for label, count in self._objects.items():
            objects.add_metric([*label], count)
        yield objects
        yield CounterMetricFamily(
            f"{OURS}stood_down", "Passes given up because we may not write there any more", value=self._meters.stood_down
        )
        for name, (text, value) in self._gauges.items():
            yield GaugeMetricFamily(OURS + name, text, value=value)
