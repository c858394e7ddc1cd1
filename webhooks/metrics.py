"""Metrics as Prometheus reads them: a scrape of what meters.py has counted, under the names of metrics_table.py."""

from __future__ import annotations

from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.webhooks.conversion_statistics import FAILURES, FAULT
from dynamo_webhooks.webhooks.limits import Bound
from dynamo_webhooks.webhooks.meters import SPREADS, Meter
from dynamo_webhooks.webhooks.metrics_table import CLIENT, COUNTS, DECLARED, FRAMEWORK, OPERATOR, OWN, WATCHER
from dynamo_webhooks.webhooks.routes import ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dynamo_webhooks.webhooks.meters import TrafficKey

_Label = TypeVar("_Label", bound=tuple[str, ...])
# what the Go operator counts: its validating handlers, once they have decoded the object
_JUDGED: Final = frozenset({"allowed", "denied"})
_REFERENCE_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE"})


class _Export(Collector):
    """One scrape: reads a meter, and gauges that the caller took."""

    def __init__(
        self, meter: Meter, gauges: Mapping[str, float], certificate: Mapping[str, str], traffic: Mapping[TrafficKey, int]
    ) -> None:
        self._meter = meter
        self._gauges = gauges
        self._certificate = certificate
        self._traffic = traffic

    def collect(self) -> Iterator[Metric]:
        yield from _reference(self._meter)
        yield from _framework(self._meter)
        yield from _ours(self._meter)
        yield from _conversions(self._meter)
        yield _counter(CLIENT, self._traffic)
        for name, value in self._gauges.items():
            yield GaugeMetricFamily(OWN + name, DECLARED[OWN + name].text, value=value)
        if self._certificate:
            name = f"{OWN}certificate_info"
            yield _gauge(name, {tuple(self._certificate.get(label, "") for label in DECLARED[name].labels): 1})


def export(
    meter: Meter,
    gauges: Mapping[str, float],
    certificate: Mapping[str, str] = MappingProxyType({}),
    traffic: Mapping[TrafficKey, int] = MappingProxyType({}),
) -> bytes:
    """Prints all metrics in the Prometheus text format; `gauges` maps names (without our prefix) to values.

    `certificate` is what `Served.facts` says of the pair that is served; empty when there is none. `traffic`: requests to the API server.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Export(meter, gauges, certificate, traffic))
    return generate_latest(registry)


def _counter(name: str, totals: Mapping[_Label, float]) -> Metric:
    declared = DECLARED[name]
    family = CounterMetricFamily(name, declared.text, labels=declared.labels)
    for label, total in totals.items():
        family.add_metric(label, total)
    return family


def _gauge(name: str, values: Mapping[_Label, float]) -> Metric:
    declared = DECLARED[name]
    family = GaugeMetricFamily(name, declared.text, labels=declared.labels)
    for label, value in values.items():
        family.add_metric(label, value)
    return family


def _histogram(name: str, groups: Mapping[_Label, Iterable[Sequence[float]]]) -> Metric:
    """Adds up the series of each label (the sum, then a count for each bucket and beyond), and makes buckets cumulative."""
    declared = DECLARED[name]
    family = HistogramMetricFamily(name, declared.text, labels=declared.labels)
    bounds = [*(str(bound) for bound in declared.buckets), "+Inf"]
    for label, series in groups.items():
        total, *counts = (sum(values) for values in zip(*series, strict=True))
        family.add_metric(label, list(zip(bounds, accumulate(counts), strict=True)), total)
    return family


def _count(series: Sequence[float]) -> float:
    return sum(series[1:])


def _reference(meter: Meter) -> Iterator[Metric]:
    """The Go operator's own metrics: validating requests that could be decoded."""
    durations: dict[tuple[str, ...], list[list[float]]] = {}
    totals: dict[tuple[str, ...], float] = {}
    for (path, operation, outcome, _), series in meter.requests.items():
        route = ROUTES.get(path)
        if route is not None and route.purpose is Purpose.VALIDATE and outcome in _JUDGED and operation in _REFERENCE_OPERATIONS:
            durations.setdefault((route.kind, operation), []).append(series)
            label = (route.kind, operation, outcome)
            totals[label] = totals.get(label, 0) + _count(series)
    yield _histogram(f"{OPERATOR}duration_seconds", durations)
    yield _counter(f"{OPERATOR}requests", totals)
    denials: dict[tuple[str, ...], float] = {}
    for (path, operation, rule), count in meter.denials.items():
        label = (ROUTES[path].kind, operation, rule)
        denials[label] = denials.get(label, 0) + count  # a kind may be validated at the paths of two versions
    yield _counter(f"{OPERATOR}denials", denials)


def _framework(meter: Meter) -> Iterator[Metric]:
    """The metrics that the Go operator's framework adds on the same endpoint."""
    # the framework's code is that of HTTP, which is 200 for every review, and 4xx where no review could be answered
    totals: dict[tuple[str, ...], float] = {(path, code): 0.0 for path in ROUTES for code in ("200", "500")}
    durations: dict[tuple[str, ...], list[list[float]]] = {}
    faults = 0.0
    for (path, _, outcome, code), series in meter.requests.items():
        count = _count(series)
        faults += count if outcome == "fault" else 0
        if path:
            durations.setdefault((path,), []).append(series)
            label = (path, str(code) if outcome == "rejected" else "200")
            totals[label] = totals.get(label, 0) + count
    yield _histogram(f"{FRAMEWORK}webhook_latency_seconds", durations)
    yield _counter(f"{FRAMEWORK}webhook_requests", totals)
    yield _gauge(f"{FRAMEWORK}webhook_requests_in_flight", {(path,): meter.reading.get(path, 0) for path in ROUTES})
    yield _counter(f"{FRAMEWORK}webhook_panics", {(): faults})
    broken = sum(objects for (*_, outcome), (objects, _) in meter.conversions.items() if outcome == FAULT)
    yield _counter(f"{FRAMEWORK}conversion_webhook_panics", {(): broken})
    yield _counter(WATCHER, {(): meter.counts.get("certificate_reloads", 0)})
    yield _counter(f"{WATCHER}_errors", {(): meter.counts.get("certificate_refusals", 0)})


def _ours(meter: Meter) -> Iterator[Metric]:
    answered = {(path, operation, outcome, str(code)): _count(each) for (path, operation, outcome, code), each in meter.requests.items()}
    yield _counter(f"{OWN}requests", answered)
    yield _counter(f"{OWN}rule_hits", meter.spoke)
    yield _counter(f"{OWN}skipped", meter.skipped)
    yield _counter(f"{OWN}requests_by_caller", meter.callers)
    yield _counter(f"{OWN}bounds_met", {(bound.value,): meter.bounds.get(bound.value, 0) for bound in Bound})
    for name in SPREADS:
        labelled = bool(DECLARED[OWN + name].labels)
        groups = {(label,) if labelled else (): [each] for (spread, label), each in meter.spreads.items() if spread == name}
        yield _histogram(OWN + name, groups)
    for name in COUNTS:
        yield _counter(OWN + name, {(): meter.counts.get(name, 0)})


def _conversions(meter: Meter) -> Iterator[Metric]:
    counted = {key: objects for key, (objects, _) in meter.conversions.items()}
    yield _counter(f"{OWN}converted_objects", dict.fromkeys(FAILURES, 0.0) | counted)
    yield _counter(f"{OWN}conversion_seconds", {key: seconds for key, (_, seconds) in meter.conversions.items()})
