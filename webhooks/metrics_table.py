"""The table of the server's metrics: name, type, labels, buckets and help. metrics.py prints them; docs/metrics.md lists them.

No label takes its value from a request: unknown paths, kinds, operations and versions are `other` or empty, and no namespace is a label.
`host` is the API server as configured.
"""

from typing import Final

from ..kube.metrics import COUNTER, GAUGE, HISTOGRAM, Declared
from .limits import Bound
from .meters import BUCKETS, SPREADS

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
_RULED: Final = ("path", "operation", "rule")
_CONVERTED: Final = ("kind", "from_version", "to_version", "outcome")
_CERTIFICATE: Final = ("serial", "issuer_key_id", "not_after", "source", "bundle")

_OPERATOR: Final = (
    Declared(f"{OPERATOR}duration_seconds", HISTOGRAM, "Time of a validation", ("resource_type", "operation"), BUCKETS),
    Declared(f"{OPERATOR}requests", COUNTER, "Validations", ("resource_type", "operation", "result")),
    Declared(f"{OPERATOR}denials", COUNTER, "Denials, by the first rule that refused", ("resource_type", "operation", "reason")),
)
_FRAMEWORK: Final = (
    Declared(f"{FRAMEWORK}webhook_latency_seconds", HISTOGRAM, "Time to answer a request", ("webhook",), BUCKETS),
    Declared(f"{FRAMEWORK}webhook_requests", COUNTER, "Requests answered, by HTTP status", ("webhook", "code")),
    Declared(f"{FRAMEWORK}webhook_requests_in_flight", GAUGE, "Requests being answered", ("webhook",)),
    Declared(f"{FRAMEWORK}webhook_panics", COUNTER, "Requests that ended in an internal error"),
    Declared(f"{FRAMEWORK}conversion_webhook_panics", COUNTER, "Objects whose conversion ended in an internal error"),
    Declared(WATCHER, COUNTER, "Certificate pairs loaded"),
    Declared(f"{WATCHER}_errors", COUNTER, "Certificate pairs refused"),
    Declared(CLIENT, COUNTER, "Requests to the API server, by HTTP status or `<error>`", ("code", "method", "host")),
)
_OWN: Final = (
    Declared("requests", COUNTER, "Requests answered, by outcome and the review's code", ("path", "operation", "outcome", "code")),
    Declared("rule_hits", COUNTER, "Requests in which a rule or default fired", _RULED),
    Declared(
        "skipped",
        COUNTER,
        "Requests allowed without rules: `deleting`, `excluded`, or `schema` (the API server refuses the size)",
        ("path", "reason"),
    ),
    Declared("request_size_bytes", HISTOGRAM, "Size of request bodies", ("path",), SPREADS["request_size_bytes"]),
    Declared(
        "conversion_duration_seconds", HISTOGRAM, "Time to answer a conversion review", buckets=SPREADS["conversion_duration_seconds"]
    ),
    Declared("review_objects", HISTOGRAM, "Objects in a conversion review", buckets=SPREADS["review_objects"]),
    Declared("converted_objects", COUNTER, "Converted objects", _CONVERTED),
    Declared("conversion_seconds", COUNTER, "Time of their conversion", _CONVERTED),
    Declared("requests_by_caller", COUNTER, "Requests, `verified` by an allowed client certificate or `unverified`", ("path", "caller")),
    Declared("bounds_met", COUNTER, f"Requests and connections that met a bound: {', '.join(Bound)}", ("bound",)),
    *(Declared(name, COUNTER, text) for name, text in COUNTS.items()),
    Declared("certificate_info", GAUGE, "The served certificate; always 1", _CERTIFICATE),
    Declared("leaf_not_after_seconds", GAUGE, "End of the served certificate, as Unix time"),
    Declared("certificate_refused", GAUGE, "Whether a pair is refused or held back"),
    Declared("open_connections", GAUGE, "Open connections"),
    Declared("ready", GAUGE, "Whether the server is ready"),
    Declared("scope_watch_stale_seconds", GAUGE, "Age of the known namespace claims"),
    Declared("topology_watch_stale_seconds", GAUGE, "Age of the known ClusterTopologies"),
    Declared("api_groups_stale_seconds", GAUGE, "Age of the known API groups"),
    Declared("excluded_namespaces", GAUGE, "Namespaces that other operators have claimed"),
    Declared("cluster_watch_restarts", GAUGE, "Restarts of the process that watches the cluster"),
)

DECLARED: Final = {each.name: each for each in (*_OPERATOR, *_FRAMEWORK, *(each._replace(name=OWN + each.name) for each in _OWN))}
