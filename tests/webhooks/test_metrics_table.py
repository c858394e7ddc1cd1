"""What is printed is what is declared, what is declared is printed, and the Go operator's metrics are so to the letter."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from dynamo_webhooks.kube.metrics import COUNTER
from dynamo_webhooks.policies.catalogue import list_declared as rules
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.cluster.feed import STALE_SECONDS, Feed
from dynamo_webhooks.webhooks.cluster.watcher import REPORT_SECONDS
from dynamo_webhooks.webhooks.limits import Limits
from dynamo_webhooks.webhooks.meters import Meter
from dynamo_webhooks.webhooks.metrics import DECLARED, OWN, export
from dynamo_webhooks.webhooks.probes import ALLOW_SECONDS, DENY_SECONDS, STALE_ALLOW_SECONDS
from dynamo_webhooks.webhooks.routes import ROUTES
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import served
from tests.webhooks.test_admission import SETTINGS
from tests.webhooks.test_convert import review as conversion
from tests.webhooks.test_metrics import DENIED, KIND, LEASED, metered
from tools.manual.parts import PROVISIONER
from tools.pages import DOCS

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
    meter.met("depth")
    meter.called(GRAPHS, "verified")
    return meter


async def everything(tmp_path: Path) -> list[Metric]:
    """What a server with a feed prints."""
    async with served(tmp_path) as running:
        gauges = {**running.server.gauges(), "ready": 1.0, **Feed({}, lambda _facts: None).gauges()}
        certificate = running.server.certificate.report()["certificate"]
    traffic = {("200", "GET", "api:6443"): 2}
    return list(text_string_to_metric_families(export(full(), gauges, certificate, traffic).decode()))


async def test_all_that_is_declared_is_printed_and_nothing_else(tmp_path: Path) -> None:
    found = {family.name: family for family in await everything(tmp_path)}
    assert found.keys() == DECLARED.keys()
    for name, family in found.items():
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
        *(f"older than {STALE_SECONDS:g} s", f"processes {Limits().poll_seconds:g} s after", f"every {REPORT_SECONDS:g} s"),
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


def test_a_reason_is_a_rule() -> None:
    [key] = metered((GRAPHS, review(DENIED))).denials
    assert key[2] in {rule.name for rule in rules()}
