"""The table of the server's metrics, which docs/metrics.md lists, and a scrape of what meters.py has counted.

No label takes its value from a request: unknown paths, kinds, operations and versions are `other` or empty, and no namespace is a label.
`host` is the API server as configured.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from ..admission.registration import Purpose
from ..kube import metrics
from ..kube.metrics import COUNTER, GAUGE, HISTOGRAM, MetricSpec, Values, add_series, count_of
from .envelope import FAILURES, FAULT
from .limits import Bound
from .meters import BUCKETS, SPREADS, Meter, TrafficKey
from .routes import ROUTES

Named = Iterator[tuple[str, Values]]

# what the Go operator counts: its validating handlers, once they have decoded the object
_JUDGED: Final = frozenset({"allowed", "denied"})
_REFERENCE_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE"})
OPERATOR: Final = "dynamo_operator_webhook_"
FRAMEWORK: Final = "controller_runtime_"
WATCHER: Final = "certwatcher_read_certificate"  # of the same framework
CLIENT: Final = "rest_client_requests"  # of the Kubernetes client that it is built on
OWN: Final = "dynamo_webhooks_"

# what Meter.counts holds, and what has no label
COUNTS: Final = {
    "connections": "Connections accepted",
    "connections_refused": "Connections closed at once because too many were open",
    "log_lines_dropped": "Log lines dropped because nothing read them",
    "certificate_reloads": "Certificate pairs loaded",
    "certificate_refusals": "Certificate pairs refused; the last valid one is still served",
    "conversion_damaged_annotations": "Damaged conversion annotations that were set aside",
    "metrics_access_denied": "Scrapes refused, or undecided because the API server was unreachable",
}
_CONVERTED: Final = ("kind", "from_version", "to_version", "outcome")
_CERTIFICATE: Final = ("serial", "issuer_key_id", "not_after", "source", "bundle")

_OPERATOR: Final = (
    MetricSpec(f"{OPERATOR}duration_seconds", HISTOGRAM, "Time of a validation", ("resource_type", "operation"), BUCKETS),
    MetricSpec(f"{OPERATOR}requests", COUNTER, "Validations", ("resource_type", "operation", "result")),
    MetricSpec(f"{OPERATOR}denials", COUNTER, "Denials, by the first rule that refused", ("resource_type", "operation", "reason")),
)
_FRAMEWORK: Final = (
    MetricSpec(f"{FRAMEWORK}webhook_latency_seconds", HISTOGRAM, "Time to answer a request", ("webhook",), BUCKETS),
    MetricSpec(f"{FRAMEWORK}webhook_requests", COUNTER, "Requests answered, by HTTP status", ("webhook", "code")),
    MetricSpec(f"{FRAMEWORK}webhook_requests_in_flight", GAUGE, "Requests being answered", ("webhook",)),
    MetricSpec(f"{FRAMEWORK}webhook_panics", COUNTER, "Requests that ended in an internal error"),
    MetricSpec(f"{FRAMEWORK}conversion_webhook_panics", COUNTER, "Objects whose conversion ended in an internal error"),
    MetricSpec(WATCHER, COUNTER, "Certificate pairs loaded"),
    MetricSpec(f"{WATCHER}_errors", COUNTER, "Certificate pairs refused"),
    MetricSpec(CLIENT, COUNTER, "Requests to the API server, by HTTP status or `<error>`", ("code", "method", "host")),
)
_OWN: Final = (
    MetricSpec("requests", COUNTER, "Requests answered, by outcome and the review's code", ("path", "operation", "outcome", "code")),
    MetricSpec("rule_hits", COUNTER, "Requests in which a rule or default fired", ("path", "operation", "rule")),
    MetricSpec(
        "skipped",
        COUNTER,
        "Requests allowed without rules: `deleting`, `excluded`, or `schema` (the API server refuses the size)",
        ("path", "reason"),
    ),
    MetricSpec("request_size_bytes", HISTOGRAM, "Size of request bodies", ("path",), SPREADS["request_size_bytes"]),
    MetricSpec(
        "conversion_duration_seconds", HISTOGRAM, "Time to answer a conversion review", buckets=SPREADS["conversion_duration_seconds"]
    ),
    MetricSpec("review_objects", HISTOGRAM, "Objects in a conversion review", buckets=SPREADS["review_objects"]),
    MetricSpec("converted_objects", COUNTER, "Converted objects", _CONVERTED),
    MetricSpec("conversion_seconds", COUNTER, "Time of their conversion", _CONVERTED),
    MetricSpec("requests_by_caller", COUNTER, "Requests, `verified` by an allowed client certificate or `unverified`", ("path", "caller")),
    MetricSpec("bounds_met", COUNTER, f"Requests and connections that met a bound: {', '.join(Bound)}", ("bound",)),
    *(MetricSpec(name, COUNTER, text) for name, text in COUNTS.items()),
    MetricSpec("certificate_info", GAUGE, "The served certificate; always 1", _CERTIFICATE),
    MetricSpec("leaf_not_after_seconds", GAUGE, "End of the served certificate, as Unix time"),
    MetricSpec("certificate_refused", GAUGE, "Whether a pair is refused or held back"),
    MetricSpec("open_connections", GAUGE, "Open connections"),
    MetricSpec("ready", GAUGE, "Whether the server is ready"),
    MetricSpec("scope_watch_stale_seconds", GAUGE, "Age of the known namespace claims"),
    MetricSpec("topology_watch_stale_seconds", GAUGE, "Age of the known ClusterTopologies"),
    MetricSpec("api_groups_stale_seconds", GAUGE, "Age of the known API groups"),
    MetricSpec("excluded_namespaces", GAUGE, "Namespaces that other operators have claimed"),
    MetricSpec("policies", GAUGE, "Policies of your own in force, with a digest of their documents", ("digest",)),
    MetricSpec("policy_problems", GAUGE, "What can't be used in the folder of your own policies"),
    MetricSpec("cluster_watch_restarts", GAUGE, "Restarts of the process that watches the cluster"),
)

DECLARED: Final = {each.name: each for each in (*_OPERATOR, *_FRAMEWORK, *(each._replace(name=OWN + each.name) for each in _OWN))}


def export(
    meter: Meter,
    gauges: Mapping[str, float | Values],
    certificate: Mapping[str, str] = MappingProxyType({}),
    traffic: Mapping[TrafficKey, int] = MappingProxyType({}),
) -> bytes:
    """Prints all metrics in the Prometheus text format; `gauges` maps names (without our prefix) to a value, or to values by their labels.

    `certificate` is what `Served.facts` says of the pair that is served; empty when there is none. `traffic`: requests to the API server.
    """

    def named() -> Named:
        yield from _reference(meter)
        yield from _framework(meter)
        yield from _export_own(meter)
        yield CLIENT, traffic
        for name, value in gauges.items():
            yield OWN + name, {(): value} if isinstance(value, int | float) else value
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


def _export_own(meter: Meter) -> Named:
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
