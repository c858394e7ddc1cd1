"""What conversion keeps in annotations is judged as its own version says it, whoever wrote it."""

import json
from typing import Any, Final

import pytest

from dynamo_webhooks.admission.judging import judge
from dynamo_webhooks.admission.kept import judge_kept_values
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import format_path
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.validate import validate
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of
from dynamo_webhooks.policies.answer import REFUSING
from dynamo_webhooks.policies.checks import KEPT_VALUE
from dynamo_webhooks.policies.evaluate import evaluate
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from dynamo_webhooks.reconciler.engine.judge import check_admission
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice
from tests.laws.strategies import make_object

GRAPH: Final = "DynamoGraphDeployment"
PLACE: Final = "metadata.annotations[nvidia.com/dgd-spec]"
FACTS: Final = Facts(grove=False, inferencePool=False, dra=False, lws=False, clusterTopologies={}, checkpoint=False, lpx=False)
INGRESS: Final = {"enabled": True, "ingressControllerClassName": "nginx"}
CACHE: Final = {"name": "side", "mountPoint": "/c", "useAsCompilationCache": True}


def _graph(kept: dict[str, Any] | str, *names: str, **metadata: Any) -> dict[str, Any]:
    """A graph whose author wrote the annotation by hand."""
    text = kept if isinstance(kept, str) else json.dumps({"version": 1, "spec": kept})
    pod = {"spec": {"containers": [{"name": "main", "image": "example/frontend:1.2.0"}]}}
    components = [{"name": name, "type": "frontend", "podTemplate": pod} for name in (names or ("front",))]
    annotations = {"nvidia.com/dgd-spec": text} if text else {}
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": GRAPH,
        "metadata": {"name": "g", "namespace": "tenant", "annotations": annotations, **metadata},
        "spec": {"components": components},
    }


def _judged(obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[Finding]:
    version = obj["apiVersion"].partition("/")[2]
    findings = judge(Review(f"{obj['kind']}/{version}", UPDATE if old else CREATE, obj, old, facts=FACTS))
    return [finding for finding in findings if finding.level in REFUSING]


def _codes(findings: list[Finding]) -> set[str]:
    return {finding.rule.code for finding in findings}


def test_a_value_that_only_the_other_version_has_is_judged_by_its_rules_at_the_annotation() -> None:
    findings = _judged(_graph({"services": {"front": {"ingress": {**INGRESS, "host": "https://bank.example.com"}}}}))
    assert [(finding.rule.code, format_path(finding.path)) for finding in findings] == [("DYN207", PLACE)]
    assert findings[0].text.startswith("spec.services[front].ingress.host of v1alpha1 must be a host name")


def test_so_is_a_claim_by_rules_and_by_the_schema() -> None:
    findings = _judged(_graph({"pvcs": [{"name": "data", "create": True}]}))
    assert _codes(findings) == {"DYN122", "DYN123", "DYN124", KEPT_VALUE.code}
    assert {format_path(finding.path) for finding in findings} == {PLACE}


def test_a_value_of_v1beta1_in_an_object_of_v1alpha1_is_held_to_its_schema() -> None:
    obj = {**_graph({"components": [{"name": "front", "podTemplate": {}}]}), "apiVersion": "nvidia.com/v1alpha1"}
    obj["spec"] = {
        "services": {"front": {"componentType": "frontend", "extraPodSpec": {"nodeSelector": {"a": "b"}}, "volumeMounts": [CACHE]}}
    }
    findings = [finding for finding in _judged(obj) if finding.rule is KEPT_VALUE]
    assert [(format_path(finding.path), finding.text) for finding in findings] == [
        (PLACE, "spec.components[0].podTemplate.spec.containers of v1beta1: Required value")
    ]


def test_an_update_is_not_refused_for_what_it_did_not_touch() -> None:
    kept = {"services": {"front": {"ingress": {**INGRESS, "host": "Not A Host"}}, "later": {"ingress": {**INGRESS, "host": "Nor This"}}}}
    stored = _graph(kept)
    assert _codes(_judged(stored)) == {"DYN207"}
    assert _judged(_graph(kept, labels={"a": "b"}), stored) == []
    changed = _graph(kept)
    changed["spec"]["components"][0]["replicas"] = 4
    assert _judged(changed, stored) == []
    # another wrong host, and a component that the annotation had waited for
    assert _codes(_judged(_graph({"services": {"front": {"ingress": {**INGRESS, "host": "Other One"}}}}), stored)) == {"DYN207"}
    errors = _judged(_graph(kept, "front", "later"), stored)
    assert [error.text.partition(" of ")[0] for error in errors if error.rule.code == "DYN207"] == ["spec.services[later].ingress.host"]


def test_many_faults_and_nulls_hide_none_and_are_not_all_looked_for() -> None:
    claims = [{"name": f"c{index}", "create": True} for index in range(60)]  # each without what a new claim needs
    review = Review(f"{GRAPH}/v1beta1", CREATE, _graph({"pvcs": claims}), None, facts=FACTS)
    findings = [finding for finding in judge_kept_values(review, 20) if finding.rule is KEPT_VALUE]
    assert len(findings) == 20
    assert {format_path(finding.path) for finding in findings} == {PLACE}
    nulls = [{"name": "c", "create": False, "size": None, "storageClass": None} for _ in range(60)]
    review = Review(f"{GRAPH}/v1beta1", CREATE, _graph({"pvcs": [*nulls, claims[0]]}), None, facts=FACTS)
    assert {error.text.partition(" of ")[0] for error in judge_kept_values(review, 20) if error.rule is KEPT_VALUE} == {"spec.pvcs[60]"}


def test_the_reconciler_judges_it_too() -> None:
    obj = _graph({"services": {"front": {"ingress": {**INGRESS, "host": "Not A Host"}}}}, uid="u")
    assert f"{PLACE}: spec.services[front].ingress.host of v1alpha1 must be" in check_admission(obj, FACTS)
    assert check_admission(_graph("", uid="u"), FACTS) == ""


@pytest.mark.parametrize("text", ["", "{}", "null", "[]", "{", '{"version":1,"spec":{}}', '{"packed":"eJw="}', '{"spec":{"services":5}}'])
def test_an_annotation_that_says_nothing_or_is_damaged_is_not_judged(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamo_webhooks.admission.kept.convert_for_reading", None)  # nothing is converted
    assert _judged(_graph(text)) == []


def test_an_object_without_such_an_annotation_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamo_webhooks.admission.kept.read_remainder", None)
    obj = _graph("", annotations={"team": "a"})
    assert _judged(obj) == []


def test_an_update_of_labels_is_not_read_again_and_one_that_wakes_a_kept_value_is(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"services": {"later": {"ingress": {**INGRESS, "host": "https://bank.example.com"}}}}
    old = _graph(kept, "front")
    assert "DYN207" in _codes(_judged(_graph(kept, "front", "later"), old))
    monkeypatch.setattr("dynamo_webhooks.admission.kept._OtherVersion", None)
    assert _judged(_graph(kept, "front", labels={"team": "a"}), old) == []


@pytest.mark.parametrize("line", [Line.V1_2, Line.V1_5, Line.V1_6])
@pytest.mark.parametrize("name", [GRAPH, "DynamoComponentDeployment", "DynamoGraphDeploymentRequest"])
@pytest.mark.parametrize(("first", "other"), [("v1alpha1", "v1beta1"), ("v1beta1", "v1alpha1")])
def test_what_conversion_wrote_itself_is_judged_as_its_author_was(name: str, line: Line, first: str, other: str) -> None:
    facts = FACTS._replace(operatorLine=line)
    seen = 0
    for number in range(OBJECTS // 2):
        obj = make_object(Dice(SEED, "kept", name, line, first, number), name, first, line=line)
        own = evaluate(Review(f"{name}/{first}", CREATE, obj, facts=facts)) if first == "v1alpha1" else []
        wanted = {(finding.rule.code, format_path(finding.path)) for finding in own if finding.level in REFUSING}
        findings = judge_kept_values(Review(f"{name}/{other}", CREATE, convert(kind_of(name, line), obj, other).object, facts=facts))
        pairs = {(finding.rule.code, finding.text.partition(f" of {first}")[0]) for finding in findings if finding.rule is not KEPT_VALUE}
        # mounts without a directory and repeated entries are live in both versions, and refused by the schema of v1beta1
        assert {each for each in wanted if each[0] not in ("DYN203", "DYN260")} <= pairs <= wanted, number
        if KEPT_VALUE in {finding.rule for finding in findings}:
            assert validate(obj, load_schema(name, first, line)), number
        seen += len(findings)
    assert seen or name != GRAPH
