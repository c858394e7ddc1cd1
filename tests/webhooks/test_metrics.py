"""Metrics: the names, labels and buckets that dashboards of the Go operator read, and no label from a client."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from dynamo_webhooks.kube.metrics import COUNTER
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.cluster.feed import STALE_SECONDS, Feed
from dynamo_webhooks.webhooks.cluster.watcher import REPORT_SECONDS
from dynamo_webhooks.webhooks.envelope import FAULT, REFUSED, ConversionStatistics
from dynamo_webhooks.webhooks.meters import BUCKETS, Meter
from dynamo_webhooks.webhooks.metrics import DECLARED, OWN, export
from dynamo_webhooks.webhooks.policies import PolicySet
from dynamo_webhooks.webhooks.probes import ALLOW_SECONDS, DENY_SECONDS, STALE_ALLOW_SECONDS
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.rows import run_each
from tests.webhooks.requests import GRAPHS, conversion, graph, review
from tests.webhooks.serving import served
from tests.webhooks.test_admission import SETTINGS
from tools.manual.parts import PROVISIONER
from tools.pages import DOCS

REFERENCE = {
    "controller_runtime_webhook_latency_seconds": ("histogram", {"webhook"}),
    "controller_runtime_webhook_requests": ("counter", {"webhook", "code"}),
    "controller_runtime_webhook_requests_in_flight": ("gauge", {"webhook"}),
    "controller_runtime_webhook_panics": ("counter", set()),
    "controller_runtime_conversion_webhook_panics": ("counter", set()),
}
DENIED = graph()
DENIED["spec"]["services"]["frontend"]["replicas"] = -1
LEASED = {**graph(), "metadata": {"name": "g", "namespace": "leased"}}
KIND = "DynamoGraphDeployment"


def metered(*requests: tuple[str, bytes], seconds: float = 0.002) -> Meter:
    meter = Meter()
    for path, body in requests:
        meter.answered(ROUTES.get(path), answer(ROUTES[path], body, SETTINGS).verdict, seconds, len(body))
    return meter


def samples(meter: Meter) -> dict[tuple[str, frozenset[str]], float]:
    """Every sample by its name and label values."""
    text = export(meter, {}).decode()
    return {(s.name, frozenset(s.labels.values())): s.value for family in text_string_to_metric_families(text) for s in family.samples}


def test_names_types_and_labels() -> None:
    text = export(metered((GRAPHS, review(graph())), (GRAPHS, review(DENIED))), {}).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    for name, (kind, labels) in REFERENCE.items():
        family = families[name]
        assert family.type == kind
        assert family.samples
        assert {label for sample in family.samples for label in sample.labels} - {"le"} == labels


def test_what_is_counted() -> None:
    """Validators alone, decoded requests alone, skipped ones as allowed."""
    mutate = GRAPHS.replace("validate", "mutate")
    requests = [
        (GRAPHS, review(graph())),
        (GRAPHS, review(LEASED)),
        (GRAPHS, review(DENIED)),
        (GRAPHS, review(graph(), "UPDATE", graph())),
        (GRAPHS, review(None, "DELETE", graph())),
        (GRAPHS, review(5)),
        (GRAPHS, review(None, "CONNECT")),
        (GRAPHS, b"no JSON"),
        (mutate, review(graph())),
    ]
    values = samples(metered(*requests))
    name = "dynamo_operator_webhook_requests_total"
    assert values[name, frozenset({KIND, "CREATE", "allowed"})] == 2
    assert values[name, frozenset({KIND, "CREATE", "denied"})] == 1
    assert values[name, frozenset({KIND, "UPDATE", "allowed"})] == 1
    assert values[name, frozenset({KIND, "DELETE", "allowed"})] == 1
    assert sum(value for (sample, _), value in values.items() if sample == name) == 5
    assert values["dynamo_operator_webhook_denials_total", frozenset({KIND, "CREATE", "replicas-non-negative"})] == 1
    assert values["controller_runtime_webhook_requests_total", frozenset({GRAPHS, "200"})] == 7
    assert values["controller_runtime_webhook_requests_total", frozenset({GRAPHS, "400"})] == 1
    assert values["controller_runtime_webhook_requests_total", frozenset({"/convert", "500"})] == 0
    assert values["dynamo_webhooks_rule_hits_total", frozenset({mutate, "CREATE", "mut-dgd-origin-version"})] == 1
    assert values["dynamo_webhooks_requests_total", frozenset({GRAPHS, "CREATE", "refused", "400"})] == 1


@run_each(("seconds", "bound"), [(0.001, "0.001"), (0.0011, "0.005"), (5.0, "5.0"), (6.0, "+Inf")])
def test_buckets(seconds: float, bound: str) -> None:
    """A value equal to a bound belongs to it; buckets are cumulative."""
    values = samples(metered((GRAPHS, review(graph())), seconds=seconds))
    counts = {
        next(label for label in labels if label not in (KIND, "CREATE")): value
        for (name, labels), value in values.items()
        if name == "dynamo_operator_webhook_duration_seconds_bucket"
    }
    bounds = [*(str(number) for number in BUCKETS), "+Inf"]
    assert [counts[word] for word in bounds] == [float(bounds.index(word) >= bounds.index(bound)) for word in bounds]
    assert values["dynamo_operator_webhook_duration_seconds_sum", frozenset({KIND, "CREATE"})] == pytest.approx(seconds)


def test_failures_of_conversion_are_shown_before_the_first_one() -> None:
    """An alert on their increase hears of the first: a series that begins at 1 is no increase for Prometheus."""
    shown = {tuple(labels[name] for name in ("kind", "from_version", "to_version")): value for labels, value in _failures(Meter())}
    assert (KIND, "v1alpha1", "v1beta1") in shown
    assert (KIND, "v1beta1", "v1alpha1") in shown
    assert ("other", "other", "other") in shown
    assert ("DynamoModel", "v1alpha1", "v1alpha1") not in shown
    assert set(shown.values()) == {0.0}
    meter = Meter()
    statistics = ConversionStatistics()
    statistics.add({"kind": KIND, "apiVersion": "nvidia.com/v1alpha1"}, "v1beta1", REFUSED, 0.1)
    meter.conversions.update(statistics.counts)
    assert [labels["kind"] for labels, value in _failures(meter) if value] == [KIND]


def _failures(meter: Meter) -> list[tuple[dict[str, str], float]]:
    families = text_string_to_metric_families(export(meter, {}).decode())
    matches = [sample for family in families for sample in family.samples if sample.name == "dynamo_webhooks_converted_objects_total"]
    return [(sample.labels, sample.value) for sample in matches if sample.labels["outcome"] in (REFUSED, FAULT)]


# the spec's table of the Go operator's webhook metrics, as an exposition: T32
GOLDEN: Final = """\
# TYPE dynamo_operator_webhook_duration_seconds histogram
dynamo_operator_webhook_duration_seconds_bucket{le="0.001",operation="CREATE",resource_type="DynamoGraphDeployment"} 0.0
dynamo_operator_webhook_duration_seconds_bucket{le="0.005",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="0.01",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="0.025",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="0.05",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="0.1",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="0.25",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="0.5",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="1.0",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="2.5",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="5.0",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_bucket{le="+Inf",operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_count{operation="CREATE",resource_type="DynamoGraphDeployment"} 2.0
dynamo_operator_webhook_duration_seconds_sum{operation="CREATE",resource_type="DynamoGraphDeployment"} 0.004
# TYPE dynamo_operator_webhook_requests_total counter
dynamo_operator_webhook_requests_total{operation="CREATE",resource_type="DynamoGraphDeployment",result="allowed"} 1.0
dynamo_operator_webhook_requests_total{operation="CREATE",resource_type="DynamoGraphDeployment",result="denied"} 1.0
# TYPE dynamo_operator_webhook_denials_total counter
dynamo_operator_webhook_denials_total{operation="CREATE",reason="replicas-non-negative",resource_type="DynamoGraphDeployment"} 1.0
"""


def test_the_go_operators_metrics_to_the_letter() -> None:
    text = export(metered((GRAPHS, review(graph())), (GRAPHS, review(DENIED))), {}).decode()
    ours = [line for line in text.splitlines() if line.startswith(("dynamo_operator_webhook", "# TYPE dynamo_operator_webhook"))]
    assert sorted(normal(line) for line in ours) == sorted(GOLDEN.splitlines())


def normal(line: str) -> str:
    """A line with its labels in order."""
    if line.startswith("#") or "{" not in line:
        return line
    name, _, rest = line.partition("{")
    labels, _, value = rest.rpartition("} ")
    return f"{name}{{{','.join(sorted(labels.split(',')))}}} {value}"


def full() -> Meter:
    """A meter that has something of everything."""
    meter = metered((GRAPHS, review(graph())), (GRAPHS, review(DENIED)), (GRAPHS, review(LEASED)), ("/convert", conversion([graph()])))
    meter.count_bound("depth")
    meter.callers[GRAPHS, "verified"] += 1
    return meter


async def everything(tmp_path: Path) -> list[Metric]:
    """What a server with a feed prints."""
    async with served(tmp_path) as running:
        gauges = {**running.server.gauges(), "ready": 1.0, **Feed({}, lambda _facts: None).gauges(), **PolicySet().gauges()}
        certificate = running.server.certificate.report()["certificate"]
    traffic = {("200", "GET", "api:6443"): 2}
    return list(text_string_to_metric_families(export(full(), gauges, certificate, traffic).decode()))


async def test_all_that_is_declared_is_printed_and_nothing_else(tmp_path: Path) -> None:
    families = {family.name: family for family in await everything(tmp_path)}
    assert families.keys() == DECLARED.keys()
    for name, family in families.items():
        declared = DECLARED[name]
        assert (family.type, family.documentation) == (declared.type, declared.text)
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        assert labels == set(declared.labels), name
        assert {sample.name for sample in family.samples} <= set(declared.samples)
        bounds = [sample.labels["le"] for sample in family.samples if sample.name.endswith("_bucket")]
        assert bounds[: len(declared.buckets) + 1] == [*(str(bound) for bound in declared.buckets), "+Inf"][: len(bounds)]


def test_names_are_ours_and_no_metric_is_declared_twice() -> None:
    names = [each.name for each in (*DECLARED.values(), *PROVISIONER)]
    assert {name for name in names if names.count(name) > 1} == {"dynamo_webhooks_leaf_not_after_seconds"}, "of pods of different kinds"
    assert all(name.startswith(("dynamo_operator_webhook_", "controller_runtime_", "certwatcher_", "rest_client_", OWN)) for name in names)
    assert not any("namespace" in each.labels for each in DECLARED.values())


def test_the_page_names_every_metric_and_the_times() -> None:
    page = (DOCS / "metrics.md").read_text()
    times = [
        *(f"cached for {ALLOW_SECONDS:g} s, a negative one for {DENY_SECONDS:g} s", f"last {STALE_ALLOW_SECONDS / 60:g} minutes"),
        *(f"older than {STALE_SECONDS:g} s", f"every {REPORT_SECONDS:g} s"),
    ]
    assert [words for words in times if words not in " ".join(page.split())] == []
    for each in (*DECLARED.values(), *PROVISIONER):
        assert f"`{each.samples[0] if each.type == COUNTER else each.name}`" in page


def hostile() -> Iterator[tuple[str, bytes]]:
    """Requests whose every text is another one."""
    for number in range(40):
        word = f"word-{number}"
        obj = {**graph(), "kind": word, "apiVersion": f"{word}/v1"}
        yield GRAPHS, review(obj, word, kind={"kind": word}, namespace=word, name=word, uid=word)
        yield "/convert", conversion([obj, {"kind": KIND, "apiVersion": word}, word, None], f"nvidia.com/{word}")


def test_hostile_words_make_no_series() -> None:
    """Kinds, versions and operations that are none of ours are folded; series are as many as after the first."""
    few, many = Meter(), Meter()
    for number, (path, body) in enumerate(hostile()):
        verdict = answer(ROUTES[path], body, SETTINGS).verdict
        for meter in (few, many) if number < 2 else (many,):
            meter.answered(ROUTES[path], verdict, 0.002, len(body))
    text = export(many, {}).decode()
    assert "word" not in text
    assert len(text.splitlines()) == len(export(few, {}).decode().splitlines())
