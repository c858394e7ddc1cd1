"""Metrics as Prometheus reads them: the names of the Go operator for dashboards that exist, and ours. Counting lives in meters.py."""

from __future__ import annotations

from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from webhooks.meters import BUCKETS, Meter
from webhooks.routes import ROUTES, Purpose
from webhooks.tally import FAULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# what the Go operator counts: its validating handlers, once they have decoded the object
_JUDGED: Final = {"allowed": "allowed", "denied": "denied"}
_REFERENCE_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE"})

_COUNTS: Final = {
    "connections": "Connections accepted",
    "connections_refused": "Connections closed at once because too many were open",
    "log_lines_dropped": "Log lines dropped because nobody read them",
    "certificate_reloads": "Certificate pairs taken into use",
    "certificate_refusals": "Certificate pairs refused; the last good one is still served",
    "conversion_damaged_annotations": "Preservation annotations whose text could not be used; they were set aside",
    "workers_replaced": "Workers that ended unexpectedly and were replaced",
}


class _Export(Collector):
    """One scrape: reads a meter, and gauges that the caller took."""

    def __init__(self, meter: Meter, gauges: Mapping[str, tuple[str, float]], certificate: Mapping[str, str]) -> None:
        self._meter = meter
        self._gauges = gauges
        self._certificate = certificate

    def collect(self) -> Iterator[Metric]:
        yield from _reference(self._meter)
        yield from _framework(self._meter)
        yield from _ours(self._meter)
        yield from _conversions(self._meter)
        for name, (text, value) in self._gauges.items():
            yield GaugeMetricFamily(f"dynamo_webhooks_{name}", text, value=value)
        if self._certificate:
            served = GaugeMetricFamily("dynamo_webhooks_certificate_info", "The served certificate; always 1", labels=[*self._certificate])
            served.add_metric([*self._certificate.values()], 1)
            yield served


def export(meter: Meter, gauges: Mapping[str, tuple[str, float]], certificate: Mapping[str, str] = MappingProxyType({})) -> bytes:
    """Prints all metrics in the Prometheus text format; `gauges` maps names (without our prefix) to their help and value.

    `certificate` is what `Served.facts` says of the pair that is served; empty when there is none.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Export(meter, gauges, certificate))
    return generate_latest(registry)


def _histogram(values: Iterable[list[float]]) -> tuple[list[tuple[str, float]], float]:
    """Adds up series into cumulative buckets and the sum of seconds."""
    total = [0.0] * (len(BUCKETS) + 3)
    for series in values:
        total = [a + b for a, b in zip(total, series, strict=True)]
    bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
    return list(zip(bounds, accumulate(total[2:]), strict=True)), total[0]


def _grouped(meter: Meter, judged_only: bool) -> dict[tuple[str, str], list[list[float]]]:
    groups: dict[tuple[str, str], list[list[float]]] = {}
    for (path, operation, outcome, _), series in meter.requests.items():
        route = ROUTES.get(path)
        if judged_only:
            if route is None or route.purpose is not Purpose.VALIDATE or outcome not in _JUDGED or operation not in _REFERENCE_OPERATIONS:
                continue
            groups.setdefault((route.kind, operation), []).append(series)
        elif route is not None:
            groups.setdefault((path, ""), []).append(series)
    return groups


def _reference(meter: Meter) -> Iterator[Metric]:
    """The Go operator's own metrics: validating requests that could be decoded."""
    prefix = "dynamo_operator_webhook"
    duration = HistogramMetricFamily(f"{prefix}_duration_seconds", "Time to judge a request", labels=("resource_type", "operation"))
    for (kind, operation), series in _grouped(meter, judged_only=True).items():
        buckets, seconds = _histogram(series)
        duration.add_metric((kind, operation), buckets, seconds)
    yield duration
    requests = CounterMetricFamily(f"{prefix}_requests", "Requests judged", labels=("resource_type", "operation", "result"))
    totals: dict[tuple[str, str, str], float] = {}
    for (path, operation, outcome, _), values in meter.requests.items():
        route = ROUTES.get(path)
        if route is not None and route.purpose is Purpose.VALIDATE and outcome in _JUDGED and operation in _REFERENCE_OPERATIONS:
            label = (route.kind, operation, _JUDGED[outcome])
            totals[label] = totals.get(label, 0) + sum(values[2:])
    for label, total in totals.items():
        requests.add_metric(label, total)
    yield requests
    labels = ("resource_type", "operation", "reason")
    denials = CounterMetricFamily(f"{prefix}_denials", "Requests denied, by the first rule that refused", labels=labels)
    for (path, operation, rule), count in meter.denials.items():
        denials.add_metric((ROUTES[path].kind, operation, rule), count)
    yield denials


def _framework(meter: Meter) -> Iterator[Metric]:
    """The metrics that the Go operator's framework adds on the same endpoint."""
    prefix = "controller_runtime_webhook"
    latency = HistogramMetricFamily(f"{prefix}_latency_seconds", "Time to answer a request", labels=("webhook",))
    for (path, _), series in _grouped(meter, judged_only=False).items():
        buckets, seconds = _histogram(series)
        latency.add_metric((path,), buckets, seconds)
    yield latency
    # the framework's code is that of HTTP, which is 200 for every review, and 4xx where no review could be answered
    totals: dict[tuple[str, str], float] = {(path, code): 0.0 for path in ROUTES for code in ("200", "500")}
    faults = 0.0
    for (path, _, outcome, code), values in meter.requests.items():
        count = sum(values[2:])
        faults += count if outcome == "fault" else 0
        if path:
            label = (path, str(code) if outcome == "rejected" else "200")
            totals[label] = totals.get(label, 0) + count
    requests = CounterMetricFamily(f"{prefix}_requests", "Requests answered, by HTTP status", labels=("webhook", "code"))
    for label, total in totals.items():
        requests.add_metric(label, total)
    yield requests
    flight = GaugeMetricFamily(f"{prefix}_requests_in_flight", "Requests being answered", labels=("webhook",))
    for path in ROUTES:
        flight.add_metric((path,), meter.reading.get(path, 0))
    yield flight
    yield CounterMetricFamily(f"{prefix}_panics", "Requests that ended in a fault of ours", value=faults)
    broken = sum(objects for (_, _, outcome), (objects, _) in meter.conversions.items() if outcome == FAULT)
    yield CounterMetricFamily("controller_runtime_conversion_webhook_panics", "Conversions that ended in a fault of ours", value=broken)


def _ours(meter: Meter) -> Iterator[Metric]:
    labels = ("path", "operation", "outcome", "code")
    requests = CounterMetricFamily("dynamo_webhooks_requests", "Requests answered, by outcome and the review's code", labels=labels)
    size = CounterMetricFamily("dynamo_webhooks_request_bytes", "Bytes of request bodies", labels=("path",))
    sizes: dict[str, float] = {}
    for (path, operation, outcome, code), series in meter.requests.items():
        requests.add_metric((path, operation, outcome, str(code)), sum(series[2:]))
        sizes[path] = sizes.get(path, 0) + series[1]
    for path, total in sizes.items():
        size.add_metric((path,), total)
    yield requests
    yield size
    rules = CounterMetricFamily(
        "dynamo_webhooks_rule_hits", "Requests in which a rule or default spoke", labels=("path", "operation", "rule")
    )
    for label, count in meter.spoke.items():
        rules.add_metric(label, count)
    yield rules
    for name, text in _COUNTS.items():
        yield CounterMetricFamily(f"dynamo_webhooks_{name}", text, value=meter.counts.get(name, 0))


def _conversions(meter: Meter) -> Iterator[Metric]:
    labels = ("kind", "version", "outcome")
    objects = CounterMetricFamily(
        "dynamo_webhooks_converted_objects", "Objects of conversion reviews, by the version asked for", labels=labels
    )
    seconds = CounterMetricFamily("dynamo_webhooks_conversion_seconds", "Time that the conversion of objects took", labels=labels)
    for key, (count, duration) in meter.conversions.items():
        objects.add_metric(key, count)
        seconds.add_metric(key, duration)
    yield objects
    yield seconds
