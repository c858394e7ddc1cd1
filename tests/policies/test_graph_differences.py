"""Where rules of a whole graph decide otherwise than the Go operator 1.2, and what an unknown fact does to them.

What that operator decides is in the recorded answers.
"""

from typing import Any

import pytest

from dynamo_webhooks.admission import judging
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.facts import UNKNOWN, Facts
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from dynamo_webhooks.policies.rule import Level

FACTS = Facts(
    operatorLine=Line.V1_2, grove=True, inferencePool=True, clusterTopologies={"default": ("zone", "rack", "host")}, dra=True, lws=True
)
ORIGIN = "nvidia.com/dynamo-operator-origin-version"
EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"
DISCOVERY = "nvidia.com/dynamo-kube-discovery-mode"


def names(obj: dict[str, Any], old: dict[str, Any] | None = None, facts: Facts = FACTS) -> list[str]:
    """The rules that find something, each once a finding."""
    review = Review("DynamoGraphDeployment/v1alpha1", CREATE if old is None else UPDATE, obj, old, facts=facts)
    findings = judging.judge(review)
    assert not [finding for finding in findings if finding.level is Level.FAULT]
    return [finding.rule.name for finding in findings]


def graph(spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "g", "namespace": "ns", **metadata}, "spec": {"services": {"w": {}}, **spec}}


def topology(profile: str, domain: str | None = None, **services: str) -> dict[str, Any]:
    constrained = {name: {"topologyConstraint": {"packDomain": text}} for name, text in services.items()}
    return {"topologyConstraint": {"topologyProfile": profile, "packDomain": domain}, "services": {"w": {}, **constrained}}


LOOK_UPS = {
    "topology-cluster-not-found": (topology("gone", "rack"), FACTS),
    "topology-cluster-unreadable": (topology("default", "rack"), FACTS._replace(clusterTopologies=None)),
    "topology-domain-unknown": (topology("default", "room"), FACTS),
    "topology-domain-broader": (topology("default", "rack", x="zone"), FACTS),
}


@pytest.mark.parametrize("rule", LOOK_UPS)
def test_a_look_up_belongs_to_the_create_and_not_to_generation_1(rule: str) -> None:
    spec, facts = LOOK_UPS[rule]
    first, later = graph(spec, generation=1), graph(spec, generation=2)
    assert names(first, facts=facts) == names(later, facts=facts) == [rule]
    assert names(graph(spec, generation=1, labels={"a": "b"}), first, facts) == []
    assert names(later, facts=facts._replace(grove=False)) == ["warn-topology-ignored"]


def test_unknown_topologies_are_one_note_and_no_verdict() -> None:
    facts = FACTS._replace(clusterTopologies=UNKNOWN)
    review = Review("DynamoGraphDeployment/v1alpha1", CREATE, graph(topology("default", "room", x="zone")), facts=facts)
    assert [(finding.rule.name, finding.level, finding.fact) for finding in judging.judge(review)] == [
        ("topology-cluster-not-found", Level.NOT_EVALUATED, "clusterTopologies")
    ]


def test_an_unknown_grove_warns_of_nothing() -> None:
    facts = FACTS._replace(grove=UNKNOWN, lws=False)
    assert names(graph(topology("default", "rack")), facts=facts) == []


def test_several_nodes_need_to_know_of_one_orchestrator(subtests: pytest.Subtests) -> None:
    rows: list[tuple[Any, Any, bool, bool]] = [
        (UNKNOWN, False, False, True),
        (False, UNKNOWN, False, True),
        (UNKNOWN, UNKNOWN, False, True),
        (True, UNKNOWN, True, True),
        (UNKNOWN, True, False, False),
        (True, UNKNOWN, False, False),
        (UNKNOWN, True, True, False),
    ]
    for grove, lws, opted_out, idle in rows:
        with subtests.test(f"grove {grove}, lws {lws}, opted out {opted_out}"):
            written = graph({"services": {"w": {"multinode": {"nodeCount": 2}}}})
            if opted_out:
                written["metadata"] = {**written["metadata"], "annotations": {"nvidia.com/enable-grove": "false"}}
            rules = names(written, facts=FACTS._replace(grove=grove, lws=lws))
            assert rules == ["multinode-requires-orchestrator"] * idle


def test_a_malformed_domain_is_not_called_unknown_too() -> None:
    assert names(graph(topology("default", "Rack", x="a_b"))) == ["topology-service-domain-format", "topology-spec-domain-format"]


def test_one_service_with_a_constraint_is_enough_for_a_graph_without_a_domain() -> None:
    rule = "topology-service-constraint-required"
    assert names(graph(topology("default", None, x="rack"))) == []
    assert names(graph(topology("default"))) == [rule]


def test_a_null_service_is_refused_and_a_stored_one_forgiven() -> None:
    null, sound = graph({"services": {"w": {}, "x": None}}), graph({"services": {"w": {}}})
    assert names(null) == ["service-null"]
    assert "service-null" not in names(sound, null)


@pytest.mark.parametrize(
    ("key", "rule"),
    [(ORIGIN, "dgd-annotation-origin-version"), (EXECUTOR, "dgd-annotation-vllm-executor"), (DISCOVERY, "dgd-annotation-discovery-mode")],
)
def test_a_null_annotation_is_absent_and_an_empty_one_is_wrong(key: str, rule: str) -> None:
    assert names(graph({}, annotations={key: None})) == []
    assert names(graph({}, annotations={key: ""})) == [rule]
    review = Review("DynamoGraphDeployment/v1alpha1", CREATE, graph({}, annotations={key: "1.2.3.4"}), facts=FACTS)
    assert [finding.text.rpartition(", ")[2] for finding in judging.judge(review)] == ['got "1.2.3.4"']


def test_failover_without_a_mode_is_intrapod_failover() -> None:
    rule = "failover-intrapod-discovery-mode"
    worker = {"componentType": "worker", "resources": {"limits": {"gpu": "1"}}, "gpuMemoryService": {"enabled": True}}
    unset = graph(
        {"services": {"w": {**worker, "failover": {"enabled": True}}, "x": {**worker, "failover": {"enabled": True, "mode": ""}}}}
    )
    assert names(unset).count(rule) == 1
    unset["metadata"]["annotations"] = {DISCOVERY: "container"}
    assert rule not in names(unset)


def test_names_that_stand_in_the_cluster_are_not_refused_by_an_update() -> None:
    old = graph({"services": {"a_b": {}, "A_B": {}}})
    new = graph({"services": {"a_b": {"replicas": 2}, "A_B": {}}})
    assert names(old) == ["service-name-format", "service-name-format", "service-name-collision"]
    assert names(new, old) == []
    assert names(graph({"pvcs": [None]})) == ["pvc-name-required"], "a null entry of a list reads as an empty one"


def test_a_weight_is_compared_as_the_32_bit_float_that_it_is_kept_as(subtests: pytest.Subtests) -> None:
    rows: list[tuple[float, bool]] = [
        (0, True),
        (1, True),
        (1.00000001, True),
        (-1e-50, True),
        (1.001, False),
        (-0.1, False),
        (1e300, False),
    ]
    for weight, fits in rows:
        with subtests.test(weight=weight, fits=fits):
            policy = {"labelKey": "k", "domain": "z", "enforcement": "preferred", "preferredWeight": weight}
            assert names(graph({"experimental": {"kvTransferPolicy": policy}})) == ([] if fits else ["kvt-weight-range"])


def test_a_label_key_is_a_qualified_name(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, bool]] = [
        ("k", True),
        ("a.b/c_D.e", True),
        ("topology.kubernetes.io/zone", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("/a", False),
        ("a/", False),
        ("A/b", False),
        ("a..b/c", False),
        ("-a", False),
        ("a\n", False),
        ("a/b/c", False),
        ("x" * 253 + "/a", True),
        ("x" * 254 + "/a", False),
    ]
    for key, fits in rows:
        with subtests.test(key=key, fits=fits):
            rules = names(graph({"experimental": {"kvTransferPolicy": {"labelKey": key, "domain": "z"}}}))
            assert rules == ([] if fits else ["kvt-label-key-format"])
