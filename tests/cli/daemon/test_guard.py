"""Metrics of provisioner and reconciler over TLS: a pair of their own, made anew in time, and no reader whom nobody let.

The garbage collector, which is kept away while all is listed, and no longer. The metrics that dashboards of the Go operator read, name by
name and label by label, and the reasons of Events that the page lists. Those tables were written by hand from the Go operator 1.2. What
isn't there has its reason here.
"""

import asyncio
import gc
import re
import ssl
from collections import Counter
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast
from unittest.mock import AsyncMock

import pytest
from cryptography import x509
from prometheus_client.parser import text_string_to_metric_families

from dynamo_webhooks.certs.context import Change, ReloadingContext
from dynamo_webhooks.certs.files import judge
from dynamo_webhooks.cli.daemon import run
from dynamo_webhooks.cli.daemon.run import (
    PAIR_LIFETIME,
    PAIR_RENEWAL_AGE,
    PROCESS_METRICS,
    MetricsGuard,
    ProcessState,
    SelfSignedPair,
    read_process_metrics,
)
from dynamo_webhooks.kube.connection import NO_ANSWER
from dynamo_webhooks.kube.lease import Election
from dynamo_webhooks.kube.metrics import COUNTER, GAUGE, HISTOGRAM, MetricSpec
from dynamo_webhooks.kube.protocol import Cluster, RequestLabels
from dynamo_webhooks.kube.resources import TOKEN_REVIEWS, Resource
from dynamo_webhooks.webhooks.metrics import DECLARED
from tests.certs.test_context import NOW
from tests.kube.memory import MemoryCluster
from tests.rows import run_each
from tests.webhooks.test_probes import READY, listening, said
from tools.manual.parts import PROVISIONER, RECONCILER

GOOD: Final = "of-prometheus"


def test_the_pair_is_kept_and_made_anew_long_before_its_end() -> None:
    clock = SimpleNamespace(now=NOW)
    pair = SelfSignedPair(("localhost",), lambda: clock.now)
    first = pair.offer()
    assert judge(first.certificate, first.key, clock.now).not_after == NOW + PAIR_LIFETIME
    clock.now = NOW + PAIR_RENEWAL_AGE - timedelta(seconds=1)
    assert pair.offer() is first
    clock.now = NOW + PAIR_RENEWAL_AGE
    second = pair.offer()
    assert second.certificate != first.certificate
    clock.now = NOW
    assert pair.offer() is not second, "made in what is now the future, it may not be valid yet"
    context = ReloadingContext(pair, lambda: clock.now)
    assert (context.refresh(), context.refresh()) == (Change.LOADED, Change.SAME)
    clock.now += PAIR_RENEWAL_AGE
    assert context.refresh() is Change.LOADED
    assert context.served is not None
    assert context.served.source == "own"


class Judge:
    """An API server that knows one token."""

    async def create(self, resource: Resource, obj: Any, _namespace: str = "") -> Any:
        if resource is TOKEN_REVIEWS:
            return {"status": {"authenticated": obj["spec"]["token"] == GOOD, "user": {"username": "prometheus"}}}
        return {"status": {"allowed": obj["spec"]["user"] == "prometheus"}}


async def test_only_whom_the_api_server_lets_reads_and_nobody_before_it_can_be_asked() -> None:
    guard = MetricsGuard()
    async with listening(READY, guard.context, guard.gate) as port:
        served = guard.context.served
        assert served is not None
        context = ssl.create_default_context(cadata=served.bundle.decode())

        async def asked(token: str) -> tuple[int, str]:
            status, _, body = await said(port, "GET /metrics", f"Authorization: Bearer {token}\r\n" if token else "", context)
            return status, body

        assert (await asked(GOOD))[0] == 503
        guard.use(cast("Cluster", Judge()))
        assert await asked(GOOD) == (200, "metrics\n")
        assert [(await asked(token))[0] for token in ("", "bad")] == [401, 403]
        assert guard.refused == 3
        [issuer] = x509.load_pem_x509_certificates(served.bundle)
        assert issuer.subject.rfc4514_string() == "CN=dynamo-webhook-ca-1"


async def test_vitals_are_what_they_are_declared_to_be() -> None:
    election = Election(MemoryCluster("x"), "lock", "ns", "me")
    traffic = Counter({RequestLabels(NO_ANSWER, "GET", "api:6443"): 4})
    families = {family.name: family for family in text_string_to_metric_families(read_process_metrics(election, 2, traffic).decode())}
    assert families.keys() == {each.name for each in PROCESS_METRICS}
    for each in PROCESS_METRICS:
        assert families[each.name].type == each.type
        assert [sample.name for sample in families[each.name].samples] == list(each.samples)
        assert {label for sample in families[each.name].samples for label in sample.labels} == set(each.labels)
    [requested] = families["rest_client_requests"].samples
    assert (requested.labels, requested.value) == ({"code": "<error>", "method": "GET", "host": "api:6443"}, 4)
    [leading] = families["leader_election_master_status"].samples
    assert (leading.labels, leading.value) == ({"name": "lock"}, 0)
    assert [sample.value for sample in families["dynamo_webhooks_metrics_access_denied"].samples] == [2]
    assert await election.attempt()
    assert 'leader_election_master_status{name="lock"} 1.0' in read_process_metrics(election, 0, Counter()).decode()
    assert b"leader_election" not in read_process_metrics(None, 1, Counter())


async def test_the_collector_comes_back_when_all_is_listed_or_can_not_be_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[bool] = []  # whether it was off whenever something was kept from it
    monkeypatch.setattr(run, "_POLL_SECONDS", 0.001)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(not gc.isenabled()))
    state, part = ProcessState("x", None), AsyncMock(**{"reasons.return_value": ["not listed"]})
    task = asyncio.ensure_future(run._uncollected(state))
    await asyncio.sleep(0.01)
    state.part = part
    await asyncio.sleep(0.01)
    assert (gc.isenabled(), frozen) == (False, [])
    part.reasons.return_value = []
    await task
    assert (gc.isenabled(), frozen) == (True, [True])
    task = asyncio.ensure_future(run._uncollected(ProcessState("x", None)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert gc.isenabled()
    monkeypatch.setattr(run, "MAX_LISTING_SECONDS", 0.01)
    await asyncio.wait_for(run._uncollected(ProcessState("x", None)), 5)
    assert gc.isenabled()


ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs" / "metrics.md").read_text()
PASSES: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
WEBHOOKS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Row(NamedTuple):
    """One row of the table of expected metrics."""

    sample: str  # as a query names it, without the endings of histograms
    type: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] | None = None  # None: the table doesn't say


# a namespace is a label there, and here where server.metrics.namespaceLabel says so (tests/reconciler/engine/test_process.py)
OPERATOR: Final = (
    Row("dynamo_operator_reconcile_duration_seconds", HISTOGRAM, ("resource_type", "result"), PASSES),
    Row("dynamo_operator_reconcile_total", COUNTER, ("resource_type", "result")),
    Row("dynamo_operator_reconcile_errors_total", COUNTER, ("resource_type", "error_type")),
    Row("dynamo_operator_resources_total", GAUGE, ("resource_type", "status")),
    Row("dynamo_operator_webhook_duration_seconds", HISTOGRAM, ("resource_type", "operation"), WEBHOOKS),
    Row("dynamo_operator_webhook_requests_total", COUNTER, ("resource_type", "operation", "result")),
    Row("dynamo_operator_webhook_denials_total", COUNTER, ("resource_type", "operation", "reason")),
)
FRAMEWORK: Final = (
    Row("controller_runtime_webhook_latency_seconds", HISTOGRAM, ("webhook",)),
    Row("controller_runtime_webhook_requests_total", COUNTER, ("webhook", "code")),
    Row("controller_runtime_webhook_requests_in_flight", GAUGE, ("webhook",)),
    Row("controller_runtime_webhook_panics_total", COUNTER, ()),
    Row("controller_runtime_conversion_webhook_panics_total", COUNTER, ()),
    Row("controller_runtime_reconcile_total", COUNTER, ("controller", "result")),
    Row("controller_runtime_reconcile_errors_total", COUNTER, ("controller",)),
    Row("controller_runtime_reconcile_time_seconds", HISTOGRAM, ("controller",)),
    Row("controller_runtime_reconcile_panics_total", COUNTER, ("controller",)),
    Row("controller_runtime_terminal_reconcile_errors_total", COUNTER, ("controller",)),
    Row("controller_runtime_max_concurrent_reconciles", GAUGE, ("controller",)),
    Row("controller_runtime_active_workers", GAUGE, ("controller",)),
    Row("certwatcher_read_certificate_total", COUNTER, ()),
    Row("certwatcher_read_certificate_errors_total", COUNTER, ()),
    Row("workqueue_depth", GAUGE, ("name", "controller")),
    Row("workqueue_adds_total", COUNTER, ("name", "controller")),
    Row("workqueue_retries_total", COUNTER, ("name", "controller")),
    Row("workqueue_queue_duration_seconds", HISTOGRAM, ("name", "controller")),
    Row("workqueue_work_duration_seconds", HISTOGRAM, ("name", "controller")),
    Row("workqueue_unfinished_work_seconds", GAUGE, ("name", "controller")),
    Row("workqueue_longest_running_processor_seconds", GAUGE, ("name", "controller")),
    Row("rest_client_requests_total", COUNTER, ("code", "method", "host")),
    Row("leader_election_master_status", GAUGE, ("name",)),
    Row("process_cpu_seconds_total", COUNTER, ()),
    Row("process_resident_memory_bytes", GAUGE, ()),
)
# of a runtime that is not ours
ABSENT: Final = "go_"
ALL: Final = (*DECLARED.values(), *PROVISIONER, *RECONCILER, *PROCESS_METRICS)
SAMPLES: Final = {sample for each in ALL for sample in each.samples}


def found(row: Row) -> MetricSpec:
    [each] = {each._replace(text="") for each in ALL if (each.samples[0] if each.type == COUNTER else each.name) == row.sample}
    return each


@run_each("row", [*OPERATOR, *FRAMEWORK])
def test_it_has_that_name_type_labels_and_buckets(row: Row) -> None:
    each = found(row)
    assert each.type == row.type
    assert set(each.labels) == set(row.labels)
    if row.buckets is not None:
        assert each.buckets == row.buckets


def test_the_page_says_what_is_not_there_and_no_metric_has_a_namespace_for_a_label_unasked() -> None:
    assert not [sample for sample in SAMPLES if sample.startswith(ABSENT)]
    assert f"`{ABSENT}*`" in PAGE.partition("## Not exported")[2]
    assert not [each.name for each in ALL if "namespace" in each.labels]


def literals(*patterns: str) -> set[str]:
    """Words in quotes that name Events, in sources that write them."""
    texts = [path.read_text() for pattern in patterns for path in ROOT.glob(pattern)]
    return {word for text in texts for word in re.findall(r'"((?:[A-Z]+[a-z]+){2,}|Scaled|Adopted|Forbidden)"', text)}


def test_every_event_of_the_page_is_one_that_is_written_and_the_specifications_are_among_them() -> None:
    section = PAGE.partition("## Events")[2].partition("## ")[0]
    of_provisioner, _, of_reconciler = section.partition("The reconciler writes")
    provisioned, reconciled = ({*re.findall(r"`(\w+)`", part)} for part in (of_provisioner, of_reconciler))
    assert provisioned <= literals("certs/step.py", "certs/report.py")
    assert {
        "CARotationStarted",
        "CATrustPublished",
        "LeafIssued",
        "CARotationStuck",
        "CARotationCompleted",
        "TrustDriftRepaired",
        "ClockSkew",
        "WebhookConfigMissing",
    } <= provisioned
    pattern = re.compile(r'\brecord_event\([^)]*?"(?:Normal|Warning)"[^")]*?, "(\w+)"', re.DOTALL)
    written = {reason for path in (ROOT / "reconciler").rglob("*.py") for reason in pattern.findall(path.read_text())} - {"Warning"}
    assert len(written) >= 6
    assert written <= reconciled
    assert reconciled - {"Initialized", "Ready"} <= literals("reconciler/**/*.py")
