"""Alert rules and the dashboard: well-formed, and about metrics, labels and label values that our processes have.

That each alert fires, and that manifests hold all of this, is tested in tests/cluster.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, TypeAlias

import yaml

from dynamo_webhooks.api.kinds import BY_NAME
from dynamo_webhooks.certs.state import SKEW_WARN
from dynamo_webhooks.cli.daemon.run import PROCESS_METRICS
from dynamo_webhooks.kube.metrics import COUNTER, HISTOGRAM, MetricSpec
from dynamo_webhooks.reconciler.checkpoint.phases import CREATING, PENDING
from dynamo_webhooks.reconciler.metrics.meters import FAILED
from dynamo_webhooks.reconciler.request.phases import DEPLOYING, PROFILING
from dynamo_webhooks.webhooks.envelope import CONVERTED, FAULT, REFUSED, SAME
from dynamo_webhooks.webhooks.limits import Bound, Limits
from dynamo_webhooks.webhooks.metrics import DECLARED
from tests.manifests.environment import ROOT
from tests.rows import run_each
from tools.manual.parts import PROVISIONER, RECONCILER

Node: TypeAlias = dict[str, Any]
HOME: Final = ROOT / "manifests" / "chart" / "monitoring"
COMPONENT: Final = ROOT / "manifests" / "monitoring"
SCRAPED: Final = {"namespace", "pod"}  # labels that Prometheus adds to everything it scrapes from pods
FUNCTIONS: Final = {"abs", "absent", "count", "delta", "histogram_quantile", "increase", "max", "min", "rate", "sum", "time", "topk"}
WORDS: Final = {"by", "or"}
VALUES: Final = {
    "resource_type": set(BY_NAME),
    "status": {FAILED, "ready", "not_ready", CREATING, PENDING, PROFILING, DEPLOYING},
    "bound": {each.value for each in Bound},
    "outcome": {CONVERTED, FAULT, REFUSED, SAME},
    "webhook": {"/convert"},
}


@cache
def known() -> dict[str, tuple[MetricSpec, ...]]:
    """By the name of a sample the metrics that have it: server and provisioner share one."""
    metrics: dict[str, tuple[MetricSpec, ...]] = {}
    for each in (*DECLARED.values(), *PROVISIONER, *RECONCILER, *PROCESS_METRICS):
        for sample in each.samples:
            metrics[sample] = (*metrics.get(sample, ()), each)
    return metrics


def rules() -> list[Node]:
    document = yaml.safe_load((HOME / "rules.yaml").read_text())
    assert (document["apiVersion"], document["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    return [rule for group in document["spec"]["groups"] for rule in group["rules"]]


def dashboard() -> Node:
    board: Node = json.loads((HOME / "dashboard.json").read_text())
    return board


def targets() -> Iterator[tuple[str, Node]]:
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield f"{panel['title']}-{target['refId']}", target


RULES: Final = {rule["alert"]: rule for rule in rules()}
TARGETS: Final = dict(targets())
QUERIES: Final = {name: rule["expr"] for name, rule in RULES.items()} | {name: target["expr"] for name, target in TARGETS.items()}


def bare(query: str) -> str:
    """A query without the contents of its quotes; fails when one is open."""
    assert query.count('"') % 2 == 0
    return re.sub(r'"[^"]*"', '""', query)


def names(query: str) -> set[str]:
    """Metrics of a query: words that are neither functions nor keywords, nor labels in braces or behind `by`."""
    rest = re.sub(r"\{[^}]*\}|\bby \([^)]*\)|\[[^]]*\]", " ", bare(query))
    return set(re.findall(r"[a-z_]{2,}", re.sub(r"\b[a-z_]+(?=\()", " ", rest))) - WORDS - FUNCTIONS


@run_each("query", QUERIES.values(), ids=list(QUERIES))
def test_queries_are_balanced_and_use_known_functions(query: str) -> None:
    opened: list[str] = []
    for sign in bare(query):
        if sign in "([{":
            opened.append(sign)
        elif sign in ")]}":
            assert opened
            assert opened.pop() + sign in ("()", "[]", "{}")
    assert opened == []
    assert set(re.findall(r"\b([a-z_]+)\(", bare(query))) <= FUNCTIONS
    assert not re.search(r"[,(]\s*[,)]", bare(query).replace("time()", "")), "an empty argument or selector"


def grouped(query: str) -> set[str]:
    return {label.strip() for labels in re.findall(r"\bby \(([^)]*)\)", query) for label in labels.split(",")}


@run_each("query", QUERIES.values(), ids=list(QUERIES))
def test_every_metric_and_label_is_one_of_ours_and_counters_are_read_as_rates(query: str) -> None:
    metrics = names(query)
    assert metrics
    assert metrics <= known().keys()
    for name, selector in re.findall(r"([a-z_]+)\{([^}]*)\}", query):
        for each in known()[name]:
            for label, value in re.findall(r'([a-z_]+)\s*(?:=~|!=|!~|=)\s*"([^"]*)"', selector):
                assert label in {*each.labels, *SCRAPED}
                assert label in SCRAPED or set(value.split("|")) <= VALUES[label]
    flat = re.sub(r"\{[^}]*\}", "", bare(query))
    rated = set(re.findall(r"\b(?:rate|increase)\(\s*([a-z_]+)\[", flat))
    for name in metrics:
        allowed = {label for each in known()[name] for label in each.labels} | SCRAPED
        assert grouped(query) <= allowed | ({"le"} if name.endswith("_bucket") else set())
        # by the declared type: the Go operator called a gauge resources_total
        assert (name in rated) == (name.endswith("_bucket") or all(each.type == COUNTER for each in known()[name]))
    assert ("histogram_quantile" in query) == any(name.endswith("_bucket") for name in metrics)


@run_each("rule", RULES.values(), ids=list(RULES))
def test_alerts_say_what_they_mean(rule: Node) -> None:
    assert rule["alert"].startswith("DynamoWebhooks")
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert re.fullmatch(r"\d+[mh]", rule.get("for", "0m"))
    assert rule["annotations"].keys() == {"summary", "description"}
    kept = grouped(rule["expr"])
    for label in re.findall(r"\$labels\.([a-z_]+)", rule["annotations"]["description"]):
        assert label in (kept or SCRAPED), f"{label} is not there when the alert is sent"


def number(alert: str) -> float:
    """The bound behind the last comparison of an alert."""
    return float(re.split(r"[<>]=?|==", RULES[alert]["expr"])[-1])


def test_bounds_fit_what_they_are_about() -> None:
    given_up = Limits().conversion_seconds
    assert number("DynamoWebhooksConversionSlow") < number("DynamoWebhooksConversionTooSlow") < given_up
    buckets = DECLARED["dynamo_webhooks_conversion_duration_seconds"].buckets
    assert {number("DynamoWebhooksConversionSlow"), number("DynamoWebhooksConversionTooSlow"), given_up} <= {*buckets}, "else it's a guess"
    assert number("DynamoWebhooksAdmissionSlow") in DECLARED["controller_runtime_webhook_latency_seconds"].buckets
    assert number("DynamoWebhooksClockSkew") == SKEW_WARN.total_seconds()


def test_panels_lie_beside_each_other() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{panel['title']} lies on {taken.get((x, y))}"
                taken[x, y] = panel["title"]
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])


def test_the_dashboard_names_no_data_source_shows_the_chosen_namespace_and_labels_that_are_kept() -> None:
    variables = {each["name"] for each in dashboard()["templating"]["list"]}
    assert variables == {"datasource", "namespace"}
    for target in TARGETS.values():
        assert set(re.findall(r"\{\{([a-z_]+)\}\}", target["legendFormat"])) <= grouped(target["expr"])
        assert target["datasource"]["uid"] == "${datasource}"
        assert set(re.findall(r"\$\{?([a-z]+)", target["expr"])) <= variables
        for name in names(target["expr"]):
            assert re.search(rf'{name}\{{[^}}]*namespace=~"\$namespace"', target["expr"])


def test_every_metric_of_ours_is_shown() -> None:
    """A metric that nobody looks at is one too many; how often connections were accepted is the exception, for rates by hand."""
    shown = {name for query in QUERIES.values() for name in names(query)}
    ours = {each.name: each for samples in known().values() for each in samples if each.name.startswith("dynamo_")}
    assert {name for name, each in ours.items() if not shown & set(each.samples)} == {
        "dynamo_webhooks_requests_by_caller",  # of interest only while client certificates are introduced
        "dynamo_webhooks_connections",
        "dynamo_webhooks_policies",  # by whose digest replicas are compared after a change
        "dynamo_webhooks_connections_refused",  # in bounds_met too
        "dynamo_webhooks_trust_mismatch",  # the opposite of trust_in_sync, for objects that are there
        "dynamo_webhooks_secret_conflicts",
        "dynamo_webhooks_reconciler_queue_depth",
    }


def test_histograms_have_buckets_in_order() -> None:
    for each in DECLARED.values():
        assert bool(each.buckets) == (each.type == HISTOGRAM)
        assert list(each.buckets) == sorted(set(each.buckets))
