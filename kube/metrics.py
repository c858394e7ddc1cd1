"""Metrics of every process: how they are declared, counted and printed as Prometheus reads them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import add
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

# by labels: a number, or what `observe` keeps of a histogram
Values: TypeAlias = Mapping[Any, float | Sequence[float]]

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
HISTOGRAM: Final = "histogram"
_Labels = TypeVar("_Labels")


class MetricSpec(NamedTuple):
    """One metric. Names of counters are printed with the suffix `_total`."""

    name: str
    type: str
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def samples(self) -> tuple[str, ...]:
        """The names that a query may use."""
        if self.type == COUNTER:
            return (f"{self.name}_total",)
        return tuple(f"{self.name}_{part}" for part in ("bucket", "count", "sum")) if self.type == HISTOGRAM else (self.name,)


def observe(groups: dict[_Labels, list[float]], labels: _Labels, buckets: tuple[float, ...], value: float) -> None:
    """Count one value of a histogram: a series is the sum, then one count for each bucket and one beyond."""
    try:  # the usual case costs least
        series = groups[labels]
    except KeyError:
        series = groups[labels] = [0.0] * (len(buckets) + 2)
    series[0] += value
    series[1 + bisect_left(buckets, value)] += 1


def add_series(groups: dict[_Labels, list[float]], labels: _Labels, series: Sequence[float]) -> None:
    """Add a series to the one of these labels."""
    known = groups.get(labels)
    groups[labels] = [*series] if known is None else [*map(add, known, series)]


def count_of(series: Sequence[float]) -> int:
    """The number of observed values."""
    return int(sum(series[1:]))


def export(metrics: Iterable[tuple[MetricSpec, Values]], *others: Collector) -> bytes:
    """Print metrics, and those of the collectors, in the Prometheus text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Scrape(metrics))
    for each in others:
        registry.register(each)
    return generate_latest(registry)


class _Scrape(Collector):
    def __init__(self, metrics: Iterable[tuple[MetricSpec, Values]]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        for declared, values in self._metrics:
            yield _family(declared, values)


def _family(declared: MetricSpec, values: Mapping[Any, Any]) -> Metric:
    name, kind, text, labels, buckets = declared
    if kind != HISTOGRAM:
        family = (CounterMetricFamily if kind == COUNTER else GaugeMetricFamily)(name, text, labels=labels)
        for label, value in values.items():
            family.add_metric(label, value)
        return family
    histogram = HistogramMetricFamily(name, text, labels=labels)
    bounds = [*map(str, buckets), "+Inf"]
    for label, (total, *counts) in values.items():
        histogram.add_metric(label, list(zip(bounds, accumulate(counts), strict=True)), total)
    return histogram
