"""Writes docs/metrics.md from the metrics that the processes declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.certs import meters as provisioner
from dynamo_webhooks.cli.daemon.metrics import PROCESS_METRICS
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
    "LoRAUnloaded",
    "LoRAUnloadFailed",
    "CleanupFailed",
    "ConfigMapCreationFailed",
    "PullSecretUnreadable",
    "NotActedOn",
    "ImagePullFailed",
    "NoController",
    "Forbidden",
)
# of models, beside the reasons of the condition EndpointsReady
MODEL_EVENTS: Final = ("NoEndpointsFound", "EndpointsDiscovered", "EndpointsReady", "PartialEndpointFailure", "NotReady")
# of checkpoints, beside the reasons of the conditions JobCreated and Restore
CHECKPOINT_EVENTS: Final = ("CreateJob", "CheckpointReady", "CheckpointFailed", "TemplateChanged")
# of requests
REQUEST_EVENTS: Final = (
    "Initialized",
    "ProfilingJobCreated",
    "ProfilingJobFailed",
    "ProfilingCheckFailed",
    "SpecGenerated",
    "GenerationFailed",
    "ResourceIgnored",
    "SpecChangeRejected",
    "CopierImageUnknown",
    "DeploymentCreated",
    "DeploymentCreationFailed",
    "DeploymentReady",
    "DeploymentDegraded",
    "DeploymentDeleted",
)
_HEAD: Final = """\
<!-- written by `make docs` (tools/pages.py) from webhooks/metrics_table.py and the meters.py of each room; edit those, not this file -->

# Metrics, probes and logs

This page lists the metrics, probes, logs and Events of each process. Each serves `/metrics` on port 8080 (`server.metrics`), `/healthz` and
`/readyz` on port 8081. `manifests/monitoring` holds alert rules and a Grafana dashboard as a Kustomize component;
`overlays/service-monitor` lets the Prometheus operator scrape all three.

- A server with several worker processes prints their sums, including replaced ones.
- No label takes its value from a request: unknown kinds, versions, paths, operations, rules and bounds are `other` or empty.
- `dynamo_operator_webhook_*` have the Go operator's names, labels, buckets and scope: only validation, only decodable requests, excluded
  namespaces as allowed. `reason` is the [rule](rules.md) that refused, instead of `internal`.
- `controller_runtime_*` have the names of the Go operator's framework, with plain buckets for the latency.

## Access to metrics

- `server.metrics.secure: false` (in the manifests): plain HTTP, for a pod network that a NetworkPolicy guards.
- `server.metrics.secure: true` (the default without the manifests): TLS and a bearer token. The server uses the webhook certificate,
  provisioner and reconciler a self-signed one. A server that watches no cluster requires no token.

The API server authenticates the token (TokenReview) and must allow its user to `get` the non-resource URL `/metrics` (SubjectAccessReview).
A positive review is cached for {allow:g} s, a negative one for {deny:g} s. While the API server is unreachable, users allowed within the
last {stale:g} minutes still are; others get 503. Probes don't depend on it. The processes need `manifests/monitoring/protected` (included
in `metricsService.secure=true` of the chart), and Prometheus a token.

## Probes

`/healthz` succeeds while the process responds. `/readyz` names what prevents serving. `?verbose` lists the checks (`server`, `facts`,
`handshake`), the served certificate, and problems that don't prevent serving, as lines beginning with `degraded:`: facts older than
{facts:g} s, an unreadable Secret, a pair that was refused or waits for its issuer to be trusted. `?exclude=NAME` skips a check.

A provisioner or reconciler is ready if it leads and sees the cluster, or if it stands by and knows the leader.

## Logs

One JSON line for each request (level info) and for each other event, never with values of objects. `traceparent` is logged if the request
has one. A change of `logging.level` in the ConfigMap takes effect in all processes {poll:g} s after the kubelet wrote it, within about a
minute. Other keys need a restart, as a log line says.

## Events

The server writes none: the client has already received the error.

The provisioner writes Events on the serving Secret and the servers' Deployment, once for each step or problem: {certificates}.

The reconciler writes Events on the object concerned, for transitions and with a count if they repeat: {objects}, and
the reason of each other cause of the condition `Ready`.
"""
_RECONCILER: Final = """
Except for `dynamo_webhooks_*`, names are the Go operator's. With `server.metrics.namespaceLabel: true`, `dynamo_operator_*` have its
label `namespace`, which Prometheus renames `exported_namespace` if it adds its own. One queue serves all kinds: its metrics are labelled by
kind, and `controller_runtime_max_concurrent_reconciles` is the same number for each kind and in total.
"""
_TAIL: Final = """
`rest_client_requests_total` names the API server as configured, and counts a watch once and a list once a page. A server's are those
of the process that watches the cluster, reported at least every {report:g} s.

## Not exported

Unlike the Go operator, no process exports `go_*`, and a server, which is several processes, exports no `process_*`: use the kubelet's
metrics for their memory and CPU time.
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
        objects=_listed((*RECONCILER_EVENTS, *MODEL_EVENTS, *CHECKPOINT_EVENTS, *REQUEST_EVENTS, "Deleted<Kind>")),
    )
    lines = [head, "## Metrics of the server", "", *_table(iter(DECLARED.values()))]
    lines += ["", "## Metrics of the provisioner", "", *_table(provisioner_metrics())]
    lines += ["", "`generation` is the name of an authority, `address` the address of an endpoint."]
    lines += ["", "## Metrics of the reconciler", "", *_table(reconciler_metrics())]
    lines += [_RECONCILER]
    lines += ["## Metrics of both provisioner and reconciler", "", *_table(iter(PROCESS_METRICS))]
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
    yield "| name | type | labels | meaning |"
    yield "| --- | --- | --- | --- |"
    for each in metrics:
        name = each.samples[0] if each.type == COUNTER else each.name
        text = each.text
        if each.buckets:
            text += f"; buckets {' '.join(f'{bound:g}' if bound < 100_000 else f'{bound:.0f}' for bound in each.buckets)}"
        yield f"| `{name}` | {each.type} | {' '.join(f'`{label}`' for label in each.labels)} | {text} |"
