"""The metrics that dashboards of the Go operator read, name by name and label by label, and the reasons of Events that the page lists.

The tables were written by hand from the Go operator 1.2. What isn't there has its reason here.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from dynamo_webhooks.cli.daemon.run import PROCESS_METRICS
from dynamo_webhooks.kube.metrics import COUNTER, GAUGE, HISTOGRAM, Declared
from dynamo_webhooks.webhooks.metrics import DECLARED
from tools.manual.parts import PROVISIONER, RECONCILER

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs" / "metrics.md").read_text()
FIRST: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SECOND: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Row(NamedTuple):
    """One row of the table of expected metrics."""

    sample: str  # as a query names it, without the endings of histograms
    type: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] | None = None  # None: the table doesn't say


# a namespace is a label there, and here where server.metrics.namespaceLabel says so (tests/reconciler/engine/test_process.py)
OPERATOR: Final = (
    Row("dynamo_operator_reconcile_duration_seconds", HISTOGRAM, ("resource_type", "result"), FIRST),
    Row("dynamo_operator_reconcile_total", COUNTER, ("resource_type", "result")),
    Row("dynamo_operator_reconcile_errors_total", COUNTER, ("resource_type", "error_type")),
    Row("dynamo_operator_resources_total", GAUGE, ("resource_type", "status")),
    Row("dynamo_operator_webhook_duration_seconds", HISTOGRAM, ("resource_type", "operation"), SECOND),
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


def found(row: Row) -> Declared:
    [each] = {each._replace(text="") for each in ALL if (each.samples[0] if each.type == COUNTER else each.name) == row.sample}
    return each


@pytest.mark.parametrize("row", [*OPERATOR, *FRAMEWORK], ids=lambda row: row.sample)
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
    """Words in quotes that begin with a capital and have another in them, in sources that tell people things."""
    texts = [path.read_text() for pattern in patterns for path in ROOT.glob(pattern)]
    return {word for text in texts for word in re.findall(r'"((?:[A-Z]+[a-z]+){2,}|Scaled|Forbidden)"', text)}


def test_every_event_of_the_page_is_one_that_is_written_and_the_specifications_are_among_them() -> None:
    told = PAGE.partition("## Events")[2].partition("## ")[0]
    of_provisioner, _, of_reconciler = told.partition("The reconciler writes")
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
    said = re.compile(r'\bsay\([^)]*?"(?:Normal|Warning)"[^")]*?, "(\w+)"', re.DOTALL)
    written = {reason for path in (ROOT / "reconciler").rglob("*.py") for reason in said.findall(path.read_text())} - {"Warning"}
    assert len(written) >= 6
    assert written <= reconciled
    assert reconciled - {"Initialized", "Ready"} <= literals("reconciler/**/*.py")
