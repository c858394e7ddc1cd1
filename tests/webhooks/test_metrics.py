"""Metrics: the names, labels and buckets that dashboards of the Go operator read, and no label from a client."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dynamo_webhooks.kube.connection import NO_ANSWER
from dynamo_webhooks.kube.protocol import Sent
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.conversion_statistics import FAULT, REFUSED, ConversionStatistics
from dynamo_webhooks.webhooks.meters import BUCKETS, Meter
from dynamo_webhooks.webhooks.metrics import export
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.webhooks.requests import GRAPHS, PRIVATE, graph, review
from tests.webhooks.test_admission import SETTINGS

REFERENCE = {
    "dynamo_operator_webhook_duration_seconds": ("histogram", {"resource_type", "operation"}),
    "dynamo_operator_webhook_requests": ("counter", {"resource_type", "operation", "result"}),
    "dynamo_operator_webhook_denials": ("counter", {"resource_type", "operation", "reason"}),
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


def metered(*asked: tuple[str, bytes], seconds: float = 0.002) -> Meter:
    meter = Meter()
    for path, body in asked:
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
    bounds = [s.labels["le"] for s in families["dynamo_operator_webhook_duration_seconds"].samples if s.name.endswith("_bucket")]
    assert bounds == [*(str(bound) for bound in BUCKETS), "+Inf"]


def test_what_is_counted() -> None:
    """Validators alone, decoded requests alone, skipped ones as allowed."""
    mutate = GRAPHS.replace("validate", "mutate")
    asked = [
        (GRAPHS, review(graph())),
        (GRAPHS, review(LEASED)),
        (GRAPHS, review(DENIED)),
        (GRAPHS, review(None, "DELETE", graph())),
        (GRAPHS, review(5)),
        (GRAPHS, review(None, "CONNECT")),
        (GRAPHS, b"no JSON"),
        (mutate, review(graph())),
    ]
    found = samples(metered(*asked))
    name = "dynamo_operator_webhook_requests_total"
    assert found[name, frozenset({KIND, "CREATE", "allowed"})] == 2
    assert found[name, frozenset({KIND, "CREATE", "denied"})] == 1
    assert found[name, frozenset({KIND, "DELETE", "allowed"})] == 1
    assert sum(value for (sample, _), value in found.items() if sample == name) == 4
    assert found["dynamo_operator_webhook_denials_total", frozenset({KIND, "CREATE", "replicas-non-negative"})] == 1
    assert found["controller_runtime_webhook_requests_total", frozenset({GRAPHS, "200"})] == 6
    assert found["controller_runtime_webhook_requests_total", frozenset({GRAPHS, "400"})] == 1
    assert found["controller_runtime_webhook_requests_total", frozenset({"/convert", "500"})] == 0
    assert found["dynamo_webhooks_rule_hits_total", frozenset({mutate, "CREATE", "mut-dgd-origin-version"})] == 1
    assert found["dynamo_webhooks_requests_total", frozenset({GRAPHS, "CREATE", "refused", "400"})] == 1


@pytest.mark.parametrize(("seconds", "bound"), [(0.001, "0.001"), (0.0011, "0.005"), (5.0, "5.0"), (6.0, "+Inf")])
def test_buckets(seconds: float, bound: str) -> None:
    """A value equal to a bound belongs to it; buckets are cumulative."""
    found = samples(metered((GRAPHS, review(graph())), seconds=seconds))
    counts = {
        next(label for label in labels if label not in (KIND, "CREATE")): value
        for (name, labels), value in found.items()
        if name == "dynamo_operator_webhook_duration_seconds_bucket"
    }
    bounds = [*(str(number) for number in BUCKETS), "+Inf"]
    assert [counts[word] for word in bounds] == [float(bounds.index(word) >= bounds.index(bound)) for word in bounds]
    assert found["dynamo_operator_webhook_duration_seconds_sum", frozenset({KIND, "CREATE"})] == pytest.approx(seconds)


def test_no_client_makes_series() -> None:
    """Whatever names, operations and paths are sent, labels come from our own tables."""
    meter = metered(*((GRAPHS, review(graph(), f"{PRIVATE}-{number}", name=f"{PRIVATE}-{number}")) for number in range(50)))
    assert len(meter.requests) == 1
    assert PRIVATE not in export(meter, {}).decode()


def test_requests_to_the_api_server_are_printed() -> None:
    text = export(Meter(), {}, traffic={Sent("200", "GET", "api:6443"): 2, Sent(NO_ANSWER, "PATCH", "api:6443"): 1}).decode()
    [found] = [family for family in text_string_to_metric_families(text) if family.name == "rest_client_requests"]
    assert [(sample.name, sample.labels, sample.value) for sample in found.samples] == [
        ("rest_client_requests_total", {"code": "200", "method": "GET", "host": "api:6443"}, 2),
        ("rest_client_requests_total", {"code": "<error>", "method": "PATCH", "host": "api:6443"}, 1),
    ]


def test_gauges_are_printed() -> None:
    assert b"dynamo_webhooks_open_connections 3.0\n" in export(Meter(), {"open_connections": 3.0})


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
    found = [sample for family in families for sample in family.samples if sample.name == "dynamo_webhooks_converted_objects_total"]
    return [(sample.labels, sample.value) for sample in found if sample.labels["outcome"] in (REFUSED, FAULT)]
