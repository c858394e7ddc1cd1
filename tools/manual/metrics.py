"""The page of metrics (docs/metrics.md), made of what the processes declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.certs import meters as provisioner
from dynamo_webhooks.cli.vitals import VITALS
from dynamo_webhooks.reconciler.loop import controller_runtime_metrics
from dynamo_webhooks.reconciler.loop import meters as reconciler
from dynamo_webhooks.reconciler.loop.series import BUCKETS
from dynamo_webhooks.webhooks.cluster.feed import STALE_SECONDS
from dynamo_webhooks.webhooks.cluster.watcher import REPORT_SECONDS
from dynamo_webhooks.webhooks.limits import Limits
from dynamo_webhooks.webhooks.metrics_access import ALLOW_SECONDS, DENY_SECONDS, STALE_ALLOW_SECONDS
from dynamo_webhooks.webhooks.metrics_table import COUNTER, DECLARED, GAUGE, HISTOGRAM, Declared

if TYPE_CHECKING:
    from collections.abc import Iterator

# reasons of Events, as certs/step.py, certs/report.py and the say() of the loop have them; a test compares
PROVISIONER_EVENTS: Final = (
    "CARotationStarted",
    "CATrustPublished",
    "LeafIssued",
    "CARotationStuck",
    "CARotationCompleted",
    "TrustDriftRepaired",
    "TrustMismatch",
    "ClockSkew",
    "WebhookConfigMissing",
)
RECONCILER_EVENTS: Final = (
    "RollingUpdateStarted",
    "RollingUpdateCompleted",
    "RestartSuperseded",
    "WorkerHashMigrated",
    "Scaled",
    "UpdateFailed",
    "ReconcileError",
    "ValidationFailed",
    "DriftRepaired",
    "PlannerRights",
)
_HEAD: Final = """\
<!-- written by `make docs` (tools/pages.py) from webhooks/metrics_table.py and the meters.py of each room; edit those, not this file -->

# Metrics, probes and logs

Each process serves `/metrics` on port 8080 (`server.metrics`), and `/healthz` and `/readyz` on port 8081. `manifests/monitoring` holds
alert rules and a Grafana dashboard as a Kustomize component; `overlays/service-monitor` lets the Prometheus operator scrape all three.

- A server of several worker processes prints their sums, those of replaced ones included: a counter never goes back while the pod
  lives.
- No label takes its value from a request: kinds, versions, paths, operations, rules and bounds are our own names, what is none of them
  is `other` or empty. A namespace is no label, unless the configuration says so, and then of the reconciler alone; who refused what to
  whom is in the log.
- `dynamo_operator_webhook_*` bear the Go operator's names, labels and buckets, and count as it does: validation alone, requests that
  could be decoded, excluded namespaces as allowed. `reason` is the rule that refused ([rules.md](rules.md)), where the Go operator says
  `internal`.
- `controller_runtime_*` are those of the framework that its dashboards read, for every path; the latency has plain buckets.

## Who may read metrics

`server.metrics.secure: false` (what the manifests set): plain HTTP, for a pod network that a NetworkPolicy guards.

`server.metrics.secure: true` (the default without our manifests): TLS, with the webhook certificate at the server, and with one that is
made in memory and that nobody can verify at provisioner and reconciler. A bearer token is asked for: the API server says whose it is
(TokenReview), and whether that user may `get` the non-resource URL `/metrics` (SubjectAccessReview). An answer is kept, a yes for
{allow:g} s, a no for {deny:g} s. While the API server can't be asked, who was allowed within the last {stale:g} minutes still is; others
get 503. Neither liveness nor readiness depends on it. The processes then need `manifests/monitoring/protected`
(`metricsService.secure=true` of the chart does it all), and Prometheus a token. A server that watches no cluster asks for no token.

## Probes

`/healthz` says that the process answers, and needs nothing else. `/readyz` names what keeps requests away; `?verbose` lists the checks
(`server`, `facts`, `handshake`), the certificate that is served, and lines that begin with `degraded:` for what is wrong though
requests are served: facts older than {facts:g} s, a Secret that isn't seen, a pair that was refused or waits for its issuer to be
trusted. `?exclude=NAME` leaves a check out.

A provisioner or reconciler serves nobody; it is ready when it leads and sees the cluster, or stands by and knows who leads, so that a
roll-out waits for the new one before the old one goes.

## Logs

One JSON line a request (level info) and a line for what else happens; never a value of an object. `traceparent` is told where the
request has one. The level follows `logging.level` of the configuration file while a process runs: change the ConfigMap, and within the
kubelet's minute and {poll:g} s more it is in effect, in all of them. Other keys wait for a restart, which one line says.

## Events

The server writes none: who was refused has been told.

Of the provisioner, on the serving Secret and the servers' Deployment, when something was done or stands wrong, once until it changes:
{certificates}.

Of the reconciler, on the object that they are about, on transitions alone and with a count where they repeat: {objects}, and
for each other cause of the condition `Ready` its reason.
"""
_RECONCILER: Final = """
`dynamo_operator_reconcile_*`, `dynamo_operator_resources_total`, `controller_runtime_*` and `workqueue_*` bear the Go operator's
names. Its label `namespace` is there with `server.metrics.namespaceLabel: true`, on `dynamo_operator_*`; Prometheus calls it
`exported_namespace` where it adds one of its own. There is one queue for all kinds, and those who work take any: its metrics are told
apart by kind, and `controller_runtime_max_concurrent_reconciles` is the same number for each and for all of them together.
"""
_TAIL: Final = """
`rest_client_requests_total` names the API server as configured, and counts a watch once and a list once a page. At a server they are those
of the process that watches the cluster, which reports at least every {report:g} s; its earlier lives are among them.

## Left out

Of what the Go operator's endpoint shows, `go_*` is nowhere: it describes the runtime of Go, and none runs here. `process_*` is not there of
a server, which is several processes: the kubelet's own metrics tell of their memory and CPU together.
"""


def metrics_page() -> str:
    """All metrics of the three processes, and how they are read."""
    head = _HEAD.format(
        allow=ALLOW_SECONDS,
        deny=DENY_SECONDS,
        stale=STALE_ALLOW_SECONDS / 60,
        facts=STALE_SECONDS,
        poll=Limits().poll_seconds,
        certificates=_listed(PROVISIONER_EVENTS),
        objects=_listed((*RECONCILER_EVENTS, "Deleted<Kind>")),
    )
    lines = [head, "## Of the server", "", *_table(iter(DECLARED.values()))]
    lines += ["", "## Of the provisioner", "", *_table(provisioner_metrics())]
    lines += ["", "`generation` is the name of an authority, `address` the address of an endpoint; there are as many as there are servers."]
    lines += ["", "## Of the reconciler", "", *_table(reconciler_metrics())]
    lines += [_RECONCILER]
    lines += ["## Of provisioner and reconciler alike", "", *_table(iter(VITALS))]
    return "\n".join(lines) + "\n" + _TAIL.format(report=REPORT_SECONDS)


def provisioner_metrics() -> Iterator[Declared]:
    """What the provisioner declares, in the server's terms."""
    for kind, table in ((GAUGE, provisioner.GAUGES), (COUNTER, provisioner.COUNTERS)):
        for name, (labels, text) in table.items():
            yield Declared(provisioner.PREFIX + name, kind, text, labels)


def reconciler_metrics() -> Iterator[Declared]:
    """What the reconciler declares, in the server's terms."""
    name, labels, text = reconciler.DURATION
    yield Declared(name, HISTOGRAM, text, labels, BUCKETS)
    for kind, table in ((COUNTER, reconciler.COUNTERS), (GAUGE, reconciler.GAUGES)):
        for name, (labels, text) in table.items():
            yield Declared(name, kind, text, labels)
    for kind, singles in (
        (COUNTER, controller_runtime_metrics.COUNTERS),
        (GAUGE, controller_runtime_metrics.GAUGES),
        (HISTOGRAM, controller_runtime_metrics.HISTOGRAMS),
    ):
        for name, labels, text in singles:
            yield Declared(name, kind, text, labels, BUCKETS if kind == HISTOGRAM else ())


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _table(metrics: Iterator[Declared]) -> Iterator[str]:
    yield "| name | type | labels | what it says |"
    yield "| --- | --- | --- | --- |"
    for each in metrics:
        name = each.samples[0] if each.type == COUNTER else each.name
        text = each.text
        if each.buckets:
            text += f"; buckets {' '.join(f'{bound:g}' if bound < 100_000 else f'{bound:.0f}' for bound in each.buckets)}"
        yield f"| `{name}` | {each.type} | {' '.join(f'`{label}`' for label in each.labels)} | {text} |"
