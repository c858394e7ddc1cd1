"""The evaluator: everything at once, in a stable order; a faulty rule costs one finding; what updates are forgiven, and no more."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies import evaluate as engine
from dynamo_webhooks.policies import ratchet
from dynamo_webhooks.policies.answer import MAX_MESSAGE_CHARACTERS, is_refused
from dynamo_webhooks.policies.at import At, Findings
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.evaluate import compute_edits, is_deletion
from dynamo_webhooks.policies.facts import Facts, facts_from
from dynamo_webhooks.policies.finding import Cause, Finding
from dynamo_webhooks.policies.ratchet import drop_stored_errors
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from dynamo_webhooks.policies.rule import DCD_V1ALPHA1, DGD, DGD_V1ALPHA1, Level, Rule
from tests.policies.examples import base, merged


def _graph(**services: Any) -> dict[str, Any]:
    return merged(DGD_V1ALPHA1, {"spec": {"services": services}})


def _facts() -> Facts:
    return facts_from(base()["facts"])


OWNER = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "1", "controller": True}
BROKEN = {"componentType": "worker", "replicas": -1, "ingress": {"enabled": True}, "sharedMemory": {}}


def _names(review: Review) -> list[tuple[str, str]]:
    return [(finding.rule.name, str(finding.path)) for finding in evaluate(review)]


def test_all_findings_of_all_services_come_at_once_whatever_the_order_of_keys() -> None:
    services = {f"s{i}": BROKEN for i in range(12)}
    wanted = _names(Review(DGD_V1ALPHA1, CREATE, _graph(**services), facts=_facts()))
    names = [name for name, _ in wanted]
    assert all(names.count(rule) == 12 for rule in ("replicas-non-negative", "ingress-host-required", "shm-size-required"))
    shuffled = list(services.items())
    random.Random(1).shuffle(shuffled)  # noqa: S311 - not for secrets
    assert _names(Review(DGD_V1ALPHA1, CREATE, _graph(**dict(shuffled)), facts=_facts())) == wanted


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ({"a": BROKEN}, {"a": {**BROKEN, "labels": {"x": "y"}}}, []),
        ({"a": BROKEN}, {"a": {**BROKEN, "replicas": -2}}, ["a"]),
        ({"a": {"replicas": -1}, "b": {}}, {"a": {"replicas": -1}, "b": {"replicas": -1}}, ["b"]),
    ],
    ids=["what it did not touch", "another wrong value at the same place", "a new violation beside an old one"],
)
def test_an_update_is_refused_for_what_it_touched_alone(old: dict[str, Any], new: dict[str, Any], refused: list[str]) -> None:
    findings = evaluate(Review(DGD_V1ALPHA1, UPDATE, _graph(**new), _graph(**old), facts=_facts()))
    errors = [(finding.rule.name, finding.path[2]) for finding in findings if finding.level is Level.ERROR]
    assert errors == [("replicas-non-negative", name) for name in refused]


def test_the_components_of_an_older_graph_are_not_held_to_newer_rules() -> None:
    spec = {"resources": {"limits": {"cpu": "two"}}, "replicas": -1}
    alone = merged(DCD_V1ALPHA1, {"spec": spec})
    owned = merged(DCD_V1ALPHA1, {"metadata": {"ownerReferences": [OWNER]}, "spec": spec})
    assert {name for name, _ in _names(Review(DCD_V1ALPHA1, CREATE, alone, facts=_facts()))} == {
        "resources-quantity-invalid",
        "replicas-non-negative",
    }
    assert {name for name, _ in _names(Review(DCD_V1ALPHA1, CREATE, owned, facts=_facts()))} == {"replicas-non-negative"}


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
    alone, owned = merged(DCD_V1ALPHA1, {"spec": spec}), merged(DCD_V1ALPHA1, {"metadata": {"ownerReferences": [OWNER]}, "spec": spec})
    assert [name for name, _ in _names(Review(DCD_V1ALPHA1, CREATE, alone, facts=facts))] == [rule]
    assert _names(Review(DCD_V1ALPHA1, CREATE, owned, facts=facts)) == []


def test_what_must_stay_stays_in_the_component_of_a_graph_too() -> None:
    old = merged(DCD_V1ALPHA1, {"metadata": {"ownerReferences": [OWNER]}, "spec": {"multinode": {"nodeCount": 2}}})
    new = {**old, "spec": {**old["spec"], "multinode": None}}
    assert [name for name, _ in _names(Review(DCD_V1ALPHA1, UPDATE, new, old, facts=_facts()))] == ["dgd-node-layout-immutable"]


def test_a_rule_of_the_whole_graph_that_services_wake_speaks_once() -> None:
    picker = {"componentType": "epp", "eppConfig": {"configMapRef": {"name": "c", "key": "k"}}}
    findings = evaluate(Review(DGD_V1ALPHA1, CREATE, _graph(a=picker, b=picker, c={"componentType": "worker"}), facts=_facts()))
    assert [(finding.rule.name, finding.path[2]) for finding in findings] == [("epp-single-per-graph", "b")]
    names = [
        finding.rule.name for finding in evaluate(Review(DGD_V1ALPHA1, CREATE, _graph(a={"topologyConstraint": {"packDomain": "rack"}})))
    ]
    assert names.count("topology-spec-required") == 1


def test_a_default_of_the_whole_graph_that_several_places_wake_edits_once() -> None:
    override = {"apiVersion": "grove.io/v1alpha1", "value": {}}
    graph = merged(DGD, {"spec": {"providerOverride": override, "components": [{"name": "a", "providerOverride": override}]}})
    facts = _facts()._replace(operatorVersion="1.5.0", operatorLine=Line.V1_5, grove=True)
    paths = [edit.path for edit in compute_edits(Review(DGD, CREATE, graph, facts=facts)) if edit.path[-1] == "target"]
    assert len(paths) == len(set(paths)) == 2


def test_an_object_on_its_way_out_may_be_written_whatever_it_says() -> None:
    new = merged(DGD_V1ALPHA1, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"services": {}}})
    assert is_deletion(Review(DGD_V1ALPHA1, UPDATE, new, new))
    assert evaluate(Review(DGD_V1ALPHA1, UPDATE, new, _graph(a={}), facts=_facts())) == []
    assert evaluate(Review(DGD_V1ALPHA1, CREATE, new, facts=_facts())) != []


@pytest.mark.parametrize("kind", [DGD, DGD_V1ALPHA1])
@pytest.mark.parametrize(
    ("version", "names"), [("1.5.0", set()), ("1.6.0", {"dgd-annotation-origin-immutable", "workload-provider-immutable"})]
)
def test_two_annotations_stay_on_1_6_even_of_a_graph_on_its_way_out(kind: str, version: str, names: set[str]) -> None:
    def written(value: str, **more: Any) -> dict[str, Any]:
        annotations = {"nvidia.com/dynamo-operator-origin-version": value, "nvidia.com/workload-provider": value}
        gone = {"metadata": {"annotations": annotations, "deletionTimestamp": "2026-01-01T00:00:00Z", **more}}
        return merged(kind, {**gone, "spec": {"services": {"w": {"replicas": "x"}}, "components": [{"replicas": "x"}]}})

    facts = _facts()._replace(operatorVersion=version)
    judged = evaluate(Review(kind, UPDATE, written("1.6.0"), written("1.5.0"), facts=facts))
    assert {finding.rule.name for finding in judged} == names
    assert evaluate(Review(kind, UPDATE, written("1.5.0"), written("1.5.0", finalizers=["a/b"]), facts=facts)) == []


@pytest.mark.parametrize(("version", "names"), [("1.5.0", ["warn-component-type-unknown"]), ("1.6.0", [])])
def test_lpx_is_a_known_type_of_v1alpha1_on_1_6(version: str, names: list[str]) -> None:
    graph = merged(DGD_V1ALPHA1, {"spec": {"services": {"x": {"componentType": "lpx"}}}})
    judged = evaluate(Review(DGD_V1ALPHA1, CREATE, graph, facts=_facts()._replace(operatorVersion=version)))
    assert [finding.rule.name for finding in judged if finding.path[-1] == "componentType" and finding.rule.code == "DYN907"] == names


def test_an_unknown_fact_is_said_and_not_guessed() -> None:
    graph = merged(DGD_V1ALPHA1, {"spec": {"priorityClassName": "high"}})
    findings = evaluate(Review(DGD_V1ALPHA1, CREATE, graph))
    assert [(finding.rule.name, finding.level, finding.fact) for finding in findings] == [
        ("priority-class-requires-grove", Level.NOT_EVALUATED, "grove")
    ]


def test_a_rule_that_raises_is_one_finding_and_the_others_still_speak(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:

    def broken(at: At) -> Findings:
        raise KeyError("secret-value-of-the-object")
        yield

    real = find_rule("ingress-host-required")
    assert isinstance(real, Rule)
    faulty = Rule(**{**vars(real), "documentation": real.documentation, "code": "DYN999", "name": "faulty", "check": broken})
    monkeypatch.setattr(engine, "rules", lambda line: (faulty, find_rule("replicas-non-negative")))
    engine._group_rules.cache_clear()
    try:
        findings = evaluate(Review(DGD_V1ALPHA1, CREATE, _graph(a=BROKEN), facts=_facts()))
    finally:
        engine._group_rules.cache_clear()
    assert {(finding.rule.name, finding.level) for finding in findings} == {("faulty", Level.FAULT), ("replicas-non-negative", Level.ERROR)}
    assert "secret" not in " ".join(finding.text for finding in findings)
    assert "faulty" in caplog.text


def _finding(index: int, text: str = "t") -> Finding:
    rule = find_rule("replicas-non-negative")
    assert rule is not None
    return Finding(rule, Cause.INVALID, Level.ERROR, ("spec", index), text)


def _review(operation: str, *objects: dict[str, Any]) -> Review:
    return Review(DGD_V1ALPHA1, operation, *objects, facts=Facts(operatorVersion="1.2.0"))


def _mounting(mounts: list[Any]) -> dict[str, Any]:
    return merged(DGD_V1ALPHA1, {"spec": {"services": {"a": {"volumeMounts": mounts}}}})


def test_whatever_the_order_what_was_there_is_forgiven() -> None:
    old = [_finding(index) for index in range(50)]
    assert list(drop_stored_errors(old[::-1], old, {}, {})) == []
    assert list(drop_stored_errors([old[3], old[3], old[1]], old, {}, {})) == []
    assert list(drop_stored_errors([_finding(7), _finding(99), _finding(8, "u")], old, {}, {})) == [_finding(99), _finding(8, "u")]


def test_the_stored_object_is_looked_through_no_further_than_asked() -> None:
    seen: list[int] = []

    def before() -> Iterator[Finding]:
        for index in range(1_000):
            seen.append(index)
            yield _finding(index)

    assert list(drop_stored_errors([_finding(0), _finding(1)], before(), {}, {})) == []
    assert seen == [0, 1]


def test_what_is_forgotten_counts_as_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratchet, "MAX_CACHED", 10)
    old = [_finding(index) for index in range(100)]
    assert list(drop_stored_errors(old, old, {}, {})) == []  # in one order nothing needs to be remembered
    assert list(drop_stored_errors([old[99], old[3], old[50]], old, {}, {})) == [old[50]]


def test_warnings_do_not_hide_an_error_behind_the_bound() -> None:
    obj = _mounting([{"name": "c", "mountPoint": f"/{number}", "useAsCompilationCache": True} for number in range(30)])
    obj["spec"]["services"]["z"] = {"ingress": {"enabled": True}}  # found behind them
    assert is_refused(evaluate(_review(CREATE, obj), 10))


def test_below_its_bound_nothing_is_otherwise_than_without_one() -> None:
    obj = _mounting([{}] * 9)
    assert evaluate(_review(CREATE, obj), 10) == evaluate(_review(CREATE, obj))
    assert len(evaluate(_review(CREATE, _mounting([{}] * 20)), 10)) == 10
    assert len(evaluate(_review(CREATE, _mounting([{}] * 20)))) == 20


def test_sentences_are_bounded_where_findings_are() -> None:
    obj = merged(DGD_V1ALPHA1, {"spec": {"services": {"a": {"resources": {"limits": {"cpu": "x" * 10_000}}}}}})
    [whole], [short] = evaluate(_review(CREATE, obj)), evaluate(_review(CREATE, obj), 10)
    assert (len(whole.text) > 10_000, len(short.text)) == (True, MAX_MESSAGE_CHARACTERS)


def test_findings_below_one_name_share_it_whichever_object_they_are_about() -> None:
    """Or each comparison would read the name, which may be as long as the object."""
    name = "n" * 100
    old = merged(DGD_V1ALPHA1, {"spec": {"services": {name: {"volumeMounts": [{}] * 3}}}})
    review = _review(UPDATE, merged(DGD_V1ALPHA1, {"spec": {"services": {name: {"volumeMounts": [{}] * 3}}}}), old)
    paths = [finding.path for finding in evaluate(_review(CREATE, review.object)) if "volumeMounts" in finding.path]
    assert len(paths) == 3
    assert all(path[2] is paths[0][2] for path in paths)
    assert review.key(name) is review.before(old).key("n" * 100)


def test_the_same_place_is_told_by_its_name() -> None:
    def value(first: int, second: int) -> dict[str, Any]:
        return {"spec": {"services": {"a": {"x": first}, "b": {"x": second}}}}

    findings = [_finding(0)._replace(path=("spec", "services", Key(name), "x")) for name in ("a", "b", "a", "b")]
    assert list(drop_stored_errors(findings, findings, value(1, 2), value(1, 2))) == []
    assert list(drop_stored_errors(findings, findings, value(1, 2), value(1, 1))) == [findings[1], findings[3]]
    assert list(drop_stored_errors(findings, findings, value(1, 2), {"spec": {}})) == findings


CLIENT: dict[str, Any] = {
    "resources": {"claims": [{"name": "intrapod-shared-gpu"}]},
    "volumeMounts": [{"name": "gms-intrapod-control", "mountPath": "/gms-intrapod-control"}],
    "env": [{"name": "GMS_SOCKET_DIR", "value": "/gms-intrapod-control"}],
}


def _found_in_pod(containers: list[dict[str, Any] | None]) -> list[tuple[str, str]]:
    pod = {
        "resourceClaims": [{"name": "intrapod-shared-gpu"}],
        "volumes": [{"name": "gms-intrapod-control"}],
        "initContainers": [{"name": "gms-server", "restartPolicy": "Always", **CLIENT}],
        "containers": containers,
    }
    spec = {"gpuMemoryService": {"enabled": True, "extraClientContainers": [None]}, "job": {"podTemplateSpec": {"spec": pod}}}
    review = Review("DynamoCheckpoint/v1alpha1", CREATE, {"spec": spec}, facts=Facts(allowGmsSnapshot=True, operatorVersion="1.2.0"))
    return [(finding.rule.name, finding.text) for finding in evaluate(review) if finding.rule.name != "ckpt-pod-refused"]


def test_a_null_name_is_the_container_without_a_name_and_told_as_an_empty_one() -> None:
    assert _found_in_pod([{"name": "main", **CLIENT}, CLIENT]) == []
    ((rule, text),) = _found_in_pod([{"name": "main", **CLIENT}])
    assert rule == "ckpt-extra-client-container"
    assert 'names ""' in text


def test_a_frontend_sidecar_must_be_in_the_template_of_each_role() -> None:
    main, side = ({"name": name, "image": "x/vllm:1.6.0"} for name in ("main", "side"))
    roles = [
        {"name": "leader", "podTemplate": {"spec": {"containers": [main]}}},
        {"name": "worker", "podTemplate": {"spec": {"containers": [main, side]}}},
    ]
    worker = {"name": "w", "type": "worker", "frontendSidecar": "side", "multinode": {"nodeCount": 2}, "roles": roles}
    review = Review("DynamoGraphDeployment/v1beta1", CREATE, {"spec": {"components": [worker]}}, facts=Facts(grove=True))
    paths = [finding.path for finding in evaluate(review) if finding.rule.name == "frontend-sidecar-unknown"]
    assert paths == [("spec", "components", 0, "roles", 0, "podTemplate", "spec", "containers")]
