"""The evaluator: everything at once, in a stable order; updates ratchet; a faulty rule costs one finding."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dynamo_webhooks.policies import evaluate as engine
from dynamo_webhooks.policies.answer import refuses
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.catalogue import by_word
from dynamo_webhooks.policies.evaluate import deleting, edits, evaluate
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.review import CREATE, UPDATE, V1_2, Review
from dynamo_webhooks.policies.rule import DCD, DGD, Hits, Rule
from tests.policies.examples import base, merged


def _graph(**services: Any) -> dict[str, Any]:
    return merged(DGD, {"spec": {"services": services}})


def _facts() -> Facts:
    from dynamo_webhooks.policies.facts import facts_from

    return facts_from(base()["facts"])


OWNER = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "1", "controller": True}
BROKEN = {"componentType": "worker", "replicas": -1, "ingress": {"enabled": True}, "sharedMemory": {}}


def _names(review: Review) -> list[tuple[str, str]]:
    return [(finding.rule.name, str(finding.path)) for finding in evaluate(review)]


def test_all_findings_of_all_services_come_at_once() -> None:
    found = evaluate(Review(DGD, CREATE, _graph(a=BROKEN, b=BROKEN), facts=_facts()))
    names = [finding.rule.name for finding in found]
    for wanted in ("replicas-non-negative", "ingress-host-required", "shm-size-required"):
        assert names.count(wanted) == 2


def test_the_order_does_not_depend_on_the_order_of_keys() -> None:
    services = {f"s{i}": BROKEN for i in range(12)}
    wanted = _names(Review(DGD, CREATE, _graph(**services), facts=_facts()))
    shuffled = list(services.items())
    random.Random(1).shuffle(shuffled)  # noqa: S311 - not for secrets
    assert _names(Review(DGD, CREATE, _graph(**dict(shuffled)), facts=_facts())) == wanted


def test_an_update_is_not_refused_for_what_it_did_not_touch() -> None:
    old, new = _graph(a=BROKEN), _graph(a={**BROKEN, "labels": {"x": "y"}})
    assert not refuses(evaluate(Review(DGD, UPDATE, new, old, facts=_facts())))


def test_an_update_is_refused_for_another_wrong_value_at_the_same_place() -> None:
    old, new = _graph(a=BROKEN), _graph(a={**BROKEN, "replicas": -2})
    found = evaluate(Review(DGD, UPDATE, new, old, facts=_facts()))
    assert [finding.rule.name for finding in found if finding.level is Level.ERROR] == ["replicas-non-negative"]


def test_an_update_is_refused_for_a_new_violation_beside_an_old_one() -> None:
    old, new = _graph(a={"replicas": -1}, b={}), _graph(a={"replicas": -1}, b={"replicas": -1})
    found = evaluate(Review(DGD, UPDATE, new, old, facts=_facts()))
    assert [finding.path for finding in found] == [("spec", "services", "b", "replicas")]


def test_the_components_of_an_older_graph_are_not_held_to_newer_rules() -> None:
    spec = {"resources": {"limits": {"cpu": "two"}}, "replicas": -1}
    alone = merged(DCD, {"spec": spec})
    owned = merged(DCD, {"metadata": {"ownerReferences": [OWNER]}, "spec": spec})
    assert {name for name, _ in _names(Review(DCD, CREATE, alone, facts=_facts()))} == {
        "resources-quantity-invalid",
        "replicas-non-negative",
    }
    assert {name for name, _ in _names(Review(DCD, CREATE, owned, facts=_facts()))} == {"replicas-non-negative"}


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"multinode": {"nodeCount": 1_500}}, "node-count-limit"),
        ({"componentType": "epp", "eppConfig": {"configMapRef": {"name": "c", "key": "k"}}}, "epp-inferencepool-unavailable"),
        ({"failover": {"enabled": True}}, "failover-intrapod-requires-gms"),
    ],
)
def test_nor_are_they_held_to_what_1_2_does_not_ask_of_a_component(spec: dict[str, Any], rule: str) -> None:
    facts = _facts()._replace(inferencePool=False)
    alone, owned = merged(DCD, {"spec": spec}), merged(DCD, {"metadata": {"ownerReferences": [OWNER]}, "spec": spec})
    assert [name for name, _ in _names(Review(DCD, CREATE, alone, facts=facts))] == [rule]
    assert _names(Review(DCD, CREATE, owned, facts=facts)) == []


def test_what_must_stay_stays_in_the_component_of_a_graph_too() -> None:
    old = merged(DCD, {"metadata": {"ownerReferences": [OWNER]}, "spec": {"multinode": {"nodeCount": 2}}})
    new = {**old, "spec": {**old["spec"], "multinode": None}}
    assert [name for name, _ in _names(Review(DCD, UPDATE, new, old, facts=_facts()))] == ["dgd-node-layout-immutable"]


def test_a_rule_of_the_whole_graph_that_services_wake_speaks_once() -> None:
    picker = {"componentType": "epp", "eppConfig": {"configMapRef": {"name": "c", "key": "k"}}}
    found = evaluate(Review(DGD, CREATE, _graph(a=picker, b=picker, c={"componentType": "worker"}), facts=_facts()))
    assert [(finding.rule.name, finding.path[2]) for finding in found] == [("epp-single-per-graph", "b")]
    asked = [finding.rule.name for finding in evaluate(Review(DGD, CREATE, _graph(a={"topologyConstraint": {"packDomain": "rack"}})))]
    assert asked.count("topology-spec-required") == 1


def test_profile_1_2_does_not_ratchet() -> None:
    old = _graph(a={"replicas": -1})
    assert refuses(evaluate(Review(DGD, UPDATE, old, old, facts=_facts(), profile=V1_2)))


def test_immutability_holds_although_nothing_else_is_wrong() -> None:
    old, new = _graph(a={}), _graph(b={})
    found = evaluate(Review(DGD, UPDATE, new, old, facts=_facts()))
    assert "dgd-service-set-immutable" in {finding.rule.name for finding in found}


def test_an_object_on_its_way_out_may_be_written_whatever_it_says() -> None:
    new = merged(DGD, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"services": {}}})
    assert deleting(Review(DGD, UPDATE, new, new))
    assert evaluate(Review(DGD, UPDATE, new, _graph(a={}), facts=_facts())) == []
    assert evaluate(Review(DGD, CREATE, new, facts=_facts())) != []


def test_an_unknown_fact_is_said_and_not_guessed() -> None:
    graph = merged(DGD, {"spec": {"priorityClassName": "high"}})
    found = evaluate(Review(DGD, CREATE, graph))
    assert [(finding.rule.name, finding.level, finding.fact) for finding in found] == [
        ("priority-class-requires-grove", Level.NOT_EVALUATED, "grove")
    ]


def test_a_rule_that_raises_is_one_finding_and_the_others_still_speak(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:

    def broken(at: At) -> Hits:
        raise KeyError("secret-value-of-the-object")
        yield

    real = by_word("ingress-host-required")
    assert isinstance(real, Rule)
    faulty = real.replaced(code="DYN999", name="faulty", check=broken)
    monkeypatch.setattr(engine, "rules", lambda profile, line: (faulty, by_word("replicas-non-negative")))
    engine._plan.cache_clear()
    try:
        found = evaluate(Review(DGD, CREATE, _graph(a=BROKEN), facts=_facts()))
    finally:
        engine._plan.cache_clear()
    assert {(finding.rule.name, finding.level) for finding in found} == {("faulty", Level.FAULT), ("replicas-non-negative", Level.ERROR)}
    assert "secret" not in " ".join(finding.text for finding in found)
    assert "faulty" in caplog.text


def test_defaults_leave_what_the_author_said() -> None:
    graph = _graph(a={"replicas": 0}, b={})
    assert [edit.path for edit in edits(Review(DGD, CREATE, graph, facts=_facts())) if edit.rule.name == "mut-dgd-replicas"] == [
        ("spec", "services", "b", "replicas")
    ]
