"""Metrics as Prometheus reads them: a scrape of what meters.py has counted, under the names of metrics_table.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from ..admission.registration import Purpose
from ..kube import metrics
from ..kube.metrics import Values, add_series, count_of
from .conversion_statistics import FAILURES, FAULT
from .limits import Bound
from .meters import Meter, TrafficKey
from .metrics_table import CLIENT, COUNTS, DECLARED, FRAMEWORK, OPERATOR, OWN, WATCHER
from .routes import ROUTES

Named = Iterator[tuple[str, Values]]

# what the Go operator counts: its validating handlers, once they have decoded the object
_JUDGED: Final = frozenset({"allowed", "denied"})
_REFERENCE_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE"})


def export(
    meter: Meter,
    gauges: Mapping[str, float],
    certificate: Mapping[str, str] = MappingProxyType({}),
    traffic: Mapping[TrafficKey, int] = MappingProxyType({}),
) -> bytes:
    """Prints all metrics in the Prometheus text format; `gauges` maps names (without our prefix) to values.

    `certificate` is what `Served.facts` says of the pair that is served; empty when there is none. `traffic`: requests to the API server.
    """

    def named() -> Named:
        yield from _reference(meter)
        yield from _framework(meter)
        yield from _ours(meter)
        yield CLIENT, traffic
        for name, value in gauges.items():
            yield OWN + name, {(): value}
        if certificate:
            name = f"{OWN}certificate_info"
            yield name, {tuple(certificate.get(label, "") for label in DECLARED[name].labels): 1}

    return metrics.export((DECLARED[name], values) for name, values in named())


def _reference(meter: Meter) -> Named:
    """The Go operator's own metrics: validating requests that could be decoded."""
    durations: dict[tuple[str, ...], list[float]] = {}
    totals: Counter[tuple[str, ...]] = Counter()
    for (path, operation, outcome, _), series in meter.requests.items():
        route = ROUTES.get(path)
        if route is not None and route.purpose is Purpose.VALIDATE and outcome in _JUDGED and operation in _REFERENCE_OPERATIONS:
            add_series(durations, (route.kind, operation), series)
            totals[route.kind, operation, outcome] += count_of(series)
    yield f"{OPERATOR}duration_seconds", durations
    yield f"{OPERATOR}requests", totals
    denials: Counter[tuple[str, ...]] = Counter()
    for (path, operation, rule), count in meter.denials.items():
        denials[ROUTES[path].kind, operation, rule] += count  # a kind may be validated at the paths of two versions
    yield f"{OPERATOR}denials", denials


def _framework(meter: Meter) -> Named:
    """The metrics that the Go operator's framework adds on the same endpoint."""
    # the framework's code is that of HTTP, which is 200 for every review, and 4xx where no review could be answered
    totals: Counter[tuple[str, ...]] = Counter({(path, code): 0 for path in ROUTES for code in ("200", "500")})
    durations: dict[tuple[str, ...], list[float]] = {}
    faults = 0
    for (path, _, outcome, code), series in meter.requests.items():
        count = count_of(series)
        faults += count if outcome == "fault" else 0
        if path:
            add_series(durations, (path,), series)
            totals[path, str(code) if outcome == "rejected" else "200"] += count
    yield f"{FRAMEWORK}webhook_latency_seconds", durations
    yield f"{FRAMEWORK}webhook_requests", totals
    yield f"{FRAMEWORK}webhook_requests_in_flight", {(path,): meter.reading.get(path, 0) for path in ROUTES}
    yield f"{FRAMEWORK}webhook_panics", {(): faults}
    broken = sum(objects for (*_, outcome), (objects, _) in meter.conversions.items() if outcome == FAULT)
    yield f"{FRAMEWORK}conversion_webhook_panics", {(): broken}
    yield WATCHER, {(): meter.counts.get("certificate_reloads", 0)}
    yield f"{WATCHER}_errors", {(): meter.counts.get("certificate_refusals", 0)}


def _ours(meter: Meter) -> Named:
    answered = {(*labels, str(code)): count_of(each) for (*labels, code), each in meter.requests.items()}
    converted = {key: objects for key, (objects, _) in meter.conversions.items()}
    own: dict[str, Values] = {
        "requests": answered,
        "rule_hits": meter.spoke,
        "skipped": meter.skipped,
        "requests_by_caller": meter.callers,
        "bounds_met": {(bound.value,): meter.bounds.get(bound.value, 0) for bound in Bound},
        **meter.spreads,
        **{name: {(): meter.counts.get(name, 0)} for name in COUNTS},
        "converted_objects": dict.fromkeys(FAILURES, 0.0) | converted,
        "conversion_seconds": {key: seconds for key, (_, seconds) in meter.conversions.items()},
    }
    for name, values in own.items():
        yield OWN + name, values
