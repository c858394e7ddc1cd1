"""Every metric of the server, as one table: name, type, labels, buckets and help. Printing: metrics.py; the page: docs/metrics.md.

No label takes a value from a request: paths, kinds, operations, versions, outcomes, rules and bounds come from our own tables, and what is
none of ours is `other` or empty. In particular a namespace is never a label. `host` is the API server as configured.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dynamo_webhooks.webhooks.limits import Bound
from dynamo_webhooks.webhooks.meters import BUCKETS, SPREADS

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
HISTOGRAM: Final = "histogram"
OPERATOR: Final = "dynamo_operator_webhook_"
FRAMEWORK: Final = "controller_runtime_"
WATCHER: Final = "certwatcher_read_certificate"  # of the same framework
CLIENT: Final = "rest_client_requests"  # of the Kubernetes client that it is built on
OWN: Final = "dynamo_webhooks_"


class Declared(NamedTuple):
    """One metric. Counters are printed with `_total` behind the name, histograms as Prometheus has them."""

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


# what Meter.counts holds, and what has no label
COUNTS: Final = {
    "connections": "Connections accepted",
    "connections_refused": "Connections closed at once because too many were open",
    "log_lines_dropped": "Log lines dropped because nobody read them",
    "certificate_reloads": "Certificate pairs taken into use",
    "certificate_refusals": "Certificate pairs refused; the last good one is still served",
    "conversion_damaged_annotations": "Preservation annotations whose text could not be used; they were set aside",
    "workers_replaced": "Workers that ended unexpectedly and were replaced",
    "metrics_access_denied": "Scrapes refused, or not decided because nobody could be asked",
}
_RULED: Final = ("path", "operation", "rule")
_CONVERTED: Final = ("kind", "from_version", "to_version", "outcome")
_CERTIFICATE: Final = ("serial", "issuer_key_id", "not_after", "source", "bundle")

_OPERATOR: Final = (
    Declared(
        f"{OPERATOR}duration_seconds", HISTOGRAM, "Time to judge a request, validation alone", ("resource_type", "operation"), BUCKETS
    ),
    Declared(f"{OPERATOR}requests", COUNTER, "Requests judged, validation alone", ("resource_type", "operation", "result")),
    Declared(f"{OPERATOR}denials", COUNTER, "Requests denied, by the first rule that refused", ("resource_type", "operation", "reason")),
)
_FRAMEWORK: Final = (
    Declared(f"{FRAMEWORK}webhook_latency_seconds", HISTOGRAM, "Time to answer a request", ("webhook",), BUCKETS),
    Declared(f"{FRAMEWORK}webhook_requests", COUNTER, "Requests answered, by HTTP status", ("webhook", "code")),
    Declared(f"{FRAMEWORK}webhook_requests_in_flight", GAUGE, "Requests being answered", ("webhook",)),
    Declared(f"{FRAMEWORK}webhook_panics", COUNTER, "Requests that ended in a fault of ours"),
    Declared(f"{FRAMEWORK}conversion_webhook_panics", COUNTER, "Objects whose conversion ended in a fault of ours"),
    Declared(WATCHER, COUNTER, "Certificate pairs taken into use, under the framework's name"),
    Declared(f"{WATCHER}_errors", COUNTER, "Certificate pairs refused, under the framework's name"),
    Declared(CLIENT, COUNTER, "Requests to the API server, by HTTP status or `<error>` where none came", ("code", "method", "host")),
)
_OWN: Final = (
    Declared("requests", COUNTER, "Requests answered, by outcome and the review's code", ("path", "operation", "outcome", "code")),
    Declared("rule_hits", COUNTER, "Requests in which a rule or default spoke", _RULED),
    Declared(
        "skipped",
        COUNTER,
        "Requests allowed without asking rules: `deleting`, `excluded`, or `schema` (the API server refuses the size)",
        ("path", "reason"),
    ),
    Declared("request_size_bytes", HISTOGRAM, "Size of request bodies", ("path",), SPREADS["request_size_bytes"]),
    Declared(
        "conversion_duration_seconds", HISTOGRAM, "Time to answer a conversion review", buckets=SPREADS["conversion_duration_seconds"]
    ),
    Declared("review_objects", HISTOGRAM, "Objects in a conversion review", buckets=SPREADS["review_objects"]),
    Declared("converted_objects", COUNTER, "Objects of conversion reviews", _CONVERTED),
    Declared("conversion_seconds", COUNTER, "Time that the conversion of objects took", _CONVERTED),
    Declared(
        "requests_by_caller", COUNTER, "Requests to webhooks: `verified` by an allowed client certificate, `unverified`", ("path", "caller")
    ),
    Declared("bounds_met", COUNTER, f"How often a bound was met: {', '.join(Bound)}", ("bound",)),
    *(Declared(name, COUNTER, text) for name, text in COUNTS.items()),
    Declared("certificate_info", GAUGE, "The served certificate; always 1", _CERTIFICATE),
    Declared("leaf_not_after_seconds", GAUGE, "When the served certificate ends, in seconds since 1970"),
    Declared("certificate_refused", GAUGE, "Whether there is a pair that was refused or is held back"),
    Declared("open_connections", GAUGE, "Connections open now"),
    Declared("workers", GAUGE, "Serving processes; there when there are several"),
    Declared("ready", GAUGE, "Whether requests may be sent here"),
    Declared("scope_watch_stale_seconds", GAUGE, "Seconds since the claims of namespaces were last known to be complete"),
    Declared(
        "topology_watch_stale_seconds", GAUGE, "Seconds since the ClusterTopologies were last known to be complete, or not to be served"
    ),
    Declared("api_groups_stale_seconds", GAUGE, "Seconds since the served API groups were last read"),
    Declared("excluded_namespaces", GAUGE, "Namespaces that other operators have claimed"),
    Declared("cluster_watch_restarts", GAUGE, "How often the process that watches the cluster had to be started again"),
)

DECLARED: Final = {each.name: each for each in (*_OPERATOR, *_FRAMEWORK, *(each._replace(name=OWN + each.name) for each in _OWN))}
