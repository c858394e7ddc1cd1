"""Admission in the version that the policies don't read: the same verdict, in the author's fields and words, with the smallest patch."""

import base64
import re
from typing import Any

import orjson
import pytest

from dynamo_webhooks.admission.judging import VersionView, diff_to_patch
from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.policies.catalogue import find_rule
from dynamo_webhooks.policies.checks import KEPT_VALUE
from dynamo_webhooks.policies.facts import facts_from
from dynamo_webhooks.policies.review import Review
from dynamo_webhooks.policies.rule import DCD_V1ALPHA1, DGD_V1ALPHA1
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.envelope import Answer
from dynamo_webhooks.webhooks.routes import ROUTES, Route, route_path
from tests.golden.corpus import admissions, facts_of
from tests.laws.conftest import SEED, WHOLE
from tests.laws.dice import Dice
from tests.laws.strategies import PAIRS, edit, make_object
from tests.webhooks.requests import graph, review
from tests.webhooks.test_admission import FACTS, ask, refusal, response

GRAPH, COMPONENT, REQUEST = "DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentRequest"


def beta_graph(*components: dict[str, Any], **spec: Any) -> dict[str, Any]:
    meta = {"name": "g", "namespace": "llm"}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": GRAPH, "metadata": meta, "spec": {"components": list(components), **spec}}


def causes(obj: dict[str, Any], kind: str = GRAPH, version: str = "v1beta1", **more: Any) -> list[tuple[str, str]]:
    """Field and message of each cause of a refusal."""
    status = refusal(ask(review(obj, **more), route_path(kind, version, Purpose.VALIDATE)), 422)
    return [(cause["field"], cause["message"].rpartition(" [")[0]) for cause in status["details"]["causes"]]


def patch(obj: dict[str, Any], kind: str, version: str, **more: Any) -> list[dict[str, Any]]:
    result = response(ask(review(obj, **more), route_path(kind, version, Purpose.MUTATE)))
    assert result["allowed"] is True
    operations: list[dict[str, Any]] = orjson.loads(base64.b64decode(result.get("patch", "W10=")))
    return operations


WORKER = {"name": "w", "type": "worker", "podTemplate": {"spec": {"containers": [{"name": "main"}]}}}


def test_paths_and_words_are_the_authors() -> None:
    obj = beta_graph(
        {"name": "z", "type": "frontend", "replicas": -1},
        {**WORKER, "name": "a", "experimental": {"gpuMemoryService": {"mode": "InterPod"}, "failover": {"mode": "IntraPod"}}},
        backendFramework="sglang",
    )
    messages = dict(causes(obj))
    assert messages["spec.components[0].replicas"] == "must be 0 or more, got -1"
    assert messages["spec.components[1].experimental.failover"].startswith("must")
    text = " ".join(messages.values())
    assert '"InterPod"' in text
    assert "intraPod" not in text
    assert "interPod" not in text
    assert "experimental.gpuMemoryService.mode" in text
    assert "of the main container" in text


def test_names_that_hold_a_word_of_v1alpha1_stay_names() -> None:
    """`service` becomes `component` in a sentence, but never in the author's own text."""
    name = "embedding-service"
    old = beta_graph({"name": "service"})
    assert causes(beta_graph({"name": name}), operation="UPDATE", old=old) == [
        ("spec.components", f'must keep the components that the graph was created with: added "{name}"; removed "service"')
    ]
    restart = {"id": "a", "strategy": {"order": ["Embedding-Service"]}}
    faults = causes(beta_graph({"name": name, "topologyConstraint": {"packDomain": "rack"}}, {"name": "service"}, restart=restart))
    assert [message for _, message in faults] == [
        f'must name all 2 components, got 1 different names; missing: "{name}", "service"',
        'must be a component of this graph, got "Embedding-Service"',
        f'must be set while components have constraints ("{name}"), got nothing',
    ]


def test_advice_is_what_the_authors_version_allows() -> None:
    """The schema of v1beta1 knows one standby engine; only a graph can have pods of several layouts."""
    gms = {"experimental": {"gpuMemoryService": {"mode": "IntraPod"}, "failover": {"mode": "IntraPod", "numShadows": 2}}}
    assert [message for _, message in causes(beta_graph({**WORKER, **gms})) if "fixed pair" in message] == [
        "must be 1 in mode IntraPod, where a pod holds a fixed pair of engines, got 2; only v1alpha1 allows more, in pods of their own"
    ]
    spec = {"gpuMemoryService": {"enabled": True, "mode": "interPod"}, "failover": {"enabled": True, "mode": "intraPod"}}
    for kind, obj in ((DGD_V1ALPHA1, {"spec": {"services": {"w": spec}}}), (DCD_V1ALPHA1, {"spec": spec})):
        fixes = [finding.fix for finding in evaluate(Review(kind, "CREATE", obj, facts=FACTS)) if "mode-mismatch" in finding.rule.name]
        assert fixes == ["set both modes to intraPod" + (" or both to interPod" if kind == DGD_V1ALPHA1 else "")]


def test_what_v1alpha1_alone_can_say_is_judged_where_it_was_written() -> None:
    bad = graph()
    bad["spec"]["pvcs"] = [{"name": "x", "create": True}]
    assert [field.rpartition(".")[0] for field, _ in causes(bad, version="v1alpha1")] == ["spec.pvcs[0]"] * 3
    there = convert(KINDS[GRAPH], bad, "v1beta1").object
    assert {field for field, _ in causes(there)} == {"metadata.annotations[nvidia.com/dgd-spec]"}


def test_what_the_authors_version_cannot_say_is_named_with_its_version() -> None:
    """The value lies in the annotation that conversion left there, so that is where the author must look."""
    bad = beta_graph({**WORKER, "experimental": {"grove": {"forceScalingGroup": True}}})
    bad["metadata"]["annotations"] = {"nvidia.com/enable-grove": "false"}
    there = convert(KINDS[GRAPH], bad, "v1alpha1").object
    facts = facts_from({"operatorVersion": "1.5.0", "grove": True})
    refused = refusal(ask(review(there), route_path(GRAPH, "v1alpha1", Purpose.VALIDATE), Settings(facts)), 422)
    messages = {cause["field"]: cause["message"] for cause in refused["details"]["causes"]}
    assert re.match(r"spec\.components\[0\]\.experimental\S+ of v1beta1 must be ", messages["metadata.annotations[nvidia.com/dgd-spec]"])


def test_defaults_are_patched_into_the_authors_version() -> None:
    stamp = "/metadata/annotations"
    assert patch(beta_graph({"name": "a"}, {"name": "b", "replicas": 0}), GRAPH, "v1beta1") == [
        {"op": "add", "path": "/spec/components/0/replicas", "value": 1},
        {"op": "add", "path": stamp, "value": {"nvidia.com/dynamo-operator-origin-version": "1.2.0"}},
    ]
    meta = {"metadata": {"name": "c", "namespace": "llm"}}
    component = {"apiVersion": "nvidia.com/v1alpha1", "kind": COMPONENT, **meta, "spec": {}}
    assert patch(component, COMPONENT, "v1alpha1") == []  # converted, it has the object's name already
    request = {"apiVersion": "nvidia.com/v1alpha1", "kind": REQUEST, **meta, "spec": {"model": "m"}}
    [image] = patch(request, REQUEST, "v1alpha1")
    assert image["path"] == "/spec/profilingConfig"
    assert image["value"]["profilerImage"].endswith(":1.2.0")


def test_what_stands_beside_a_default_stays_as_it_is() -> None:
    """Empty values that the other version does not have are no part of the patch."""
    meta = {"metadata": {"name": "r", "namespace": "llm"}}
    spec = {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "", "tolerations": []}}
    request = {"apiVersion": "nvidia.com/v1alpha1", "kind": REQUEST, **meta, "spec": spec}
    [image] = patch(request, REQUEST, "v1alpha1")
    assert (image["op"], image["path"]) == ("replace", "/spec/profilingConfig/profilerImage")


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize("metadata", [{}, {"metadata": None}])
def test_an_object_without_metadata_is_given_some(version: str, metadata: dict[str, Any]) -> None:
    """A patch can only be applied where its parents are: conversion makes metadata, the author wrote none."""
    [operation] = patch({"apiVersion": f"nvidia.com/{version}", "kind": GRAPH, **metadata}, GRAPH, version)
    assert (operation["op"], operation["path"]) == ("add", "/metadata")
    assert operation["value"]["annotations"]


@pytest.mark.parametrize("spec", [{}, {"spec": None}])
def test_a_request_whose_spec_is_remembered_alone_is_given_one(spec: dict[str, Any]) -> None:
    """What the annotation remembers brings the default about; the author's object has no spec to add a field to."""
    remembered = {"nvidia.com/dgdr-spec": '{"version":1,"spec":{"model":"m","features":{"mocker":{}}},"both":true}'}
    obj = {"apiVersion": "nvidia.com/v1alpha1", "kind": REQUEST, "metadata": {"name": "x", "annotations": remembered}, **spec}
    [operation] = patch(obj, REQUEST, "v1alpha1")
    assert (operation["op"], operation["path"]) == ("add", "/spec")
    assert operation["value"]["profilingConfig"]["profilerImage"]


def test_a_null_component_is_left_for_the_schema_to_refuse() -> None:
    obj = beta_graph({"name": "a"}, {"name": "b"})
    obj["metadata"]["annotations"] = {"nvidia.com/dynamo-operator-origin-version": "1.1.0"}
    obj["spec"]["components"].insert(1, None)
    replicas = [{"op": "add", "path": f"/spec/components/{index}/replicas", "value": 1} for index in (0, 2)]
    assert patch(obj, GRAPH, "v1beta1") == replicas


def test_the_stored_object_is_read_by_the_defaults() -> None:
    """It keeps the replicas that an adapter wrote; one that can't be decoded is refused."""
    new = beta_graph({"name": "a", "scalingAdapter": {}})
    old = beta_graph({"name": "a", "scalingAdapter": {}, "replicas": 7})
    assert {"op": "add", "path": "/spec/components/0/replicas", "value": 7} in patch(new, GRAPH, "v1beta1", operation="UPDATE", old=old)
    broken = {**old, "spec": 5}
    for version, obj in (("v1beta1", new), ("v1alpha1", convert(KINDS[GRAPH], new, "v1alpha1").object)):
        path = route_path(GRAPH, version, Purpose.MUTATE)
        stored = {**broken, "apiVersion": f"nvidia.com/{version}"}
        assert "request.oldObject" in refusal(ask(review(obj, "UPDATE", stored), path), 400)["message"]


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ({}, {}, []),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, [{"op": "replace", "path": "/a/b/1/c", "value": 3}]),
        ({"a": [1]}, {"a": [1, 2]}, [{"op": "replace", "path": "/a", "value": [1, 2]}]),
        ({"x/y": 1, "~": 2}, {"~": 3}, [{"op": "remove", "path": "/x~1y"}, {"op": "replace", "path": "/~0", "value": 3}]),
        ({"a": None}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
    ],
)
def test_the_smallest_patch(before: Any, after: Any, operations: Any) -> None:
    assert diff_to_patch(before, after) == operations


def _other(route: Route) -> Route:
    return ROUTES[route_path(route.kind, _opposite(route.version), route.purpose)]


def _asked(route: Route, request: dict[str, Any], settings: Settings) -> Answer:
    return answer(route, orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}), settings)


def _converted(request: dict[str, Any], route: Route, version: str) -> dict[str, Any]:
    """The request with its objects in another version."""
    named = {"apiVersion": f"nvidia.com/{route.version}", "kind": route.kind}
    objects = {
        field: convert(KINDS[route.kind], {**request[field], **named}, version).object
        for field in ("object", "oldObject")
        if request.get(field)
    }
    return {**request, **objects}


# names of v1alpha1 that v1beta1 doesn't have; a sentence may hold them only where it says of which version they are
FOREIGN = re.compile(
    r"\b(services|componentType|subComponentType|mountPoint|topologyProfile|extraPodSpec|sharedMemory|intraPod|interPod)\b"
)


def _foreign(cause: dict[str, str]) -> bool:
    text = re.sub(
        r'"[^"]*"', lambda seen: seen[0] if seen[0][1:-1] in ("intraPod", "interPod") else "", cause["message"].rpartition(" [")[0]
    )
    return bool(FOREIGN.search(f"{cause['field']} {text}")) and " of v1alpha1 " not in text


@pytest.mark.slow("asks more than a thousand recorded requests in both versions")
def test_the_verdict_on_an_object_is_the_verdict_on_its_conversion() -> None:
    """Recorded requests of all converting kinds, asked in both versions: the same code, rules and number of causes."""
    compared = 0
    for case in admissions():
        route, settings = ROUTES[case["path"]], Settings(facts_of(case["context"]))
        if route.kind not in KINDS or case["request"]["operation"] not in ("CREATE", "UPDATE"):
            continue
        own = _asked(route, case["request"], settings)
        if own.verdict.code == 400:
            continue
        other = _other(route)
        twin = _asked(other, _converted(case["request"], route, other.version), settings)
        if _apart(own, twin):
            continue
        assert (twin.verdict.outcome, twin.verdict.code) == (own.verdict.outcome, own.verdict.code), case["id"]
        assert sorted(twin.verdict.rules) == sorted(own.verdict.rules), case["id"]
        here, there = (orjson.loads(reply.body)["response"].get("status", {}).get("details", {}).get("causes", []) for reply in (own, twin))
        assert len(here) == len(there), case["id"]
        if other.version == "v1beta1":
            assert not [cause for cause in there if _foreign(cause)], case["id"]
        compared += 1
    assert compared > 1_000


MAX_OBJECTS = 60 if WHOLE else 30  # objects of each test: an object is asked about eight times
# an adapter has no webhooks
JUDGED = [(kind, version) for kind, version in PAIRS if route_path(kind, version, Purpose.VALIDATE) in ROUTES]


def _answered(obj: Any, old: Any, kind: str, version: str, purpose: Purpose) -> Answer:
    request = orjson.loads(review(obj, "CREATE" if old is None else "UPDATE", old))
    body = orjson.dumps(request, option=orjson.OPT_SORT_KEYS)  # as an API server sends it
    return answer(ROUTES[route_path(kind, version, purpose)], body, Settings(FACTS))


def _opposite(version: str) -> str:
    return "v1beta1" if version == "v1alpha1" else "v1alpha1"


def _apart(*answers: Answer) -> bool:
    """Whether a rule spoke that reads only what was written in v1alpha1, or the schema of what an annotation keeps.

    An API server holds the author's own fields to their schema before it asks.
    """
    names = [name for each in answers for name in each.verdict.rules]
    return KEPT_VALUE.name in names or any((rule := find_rule(name)) and ".v1alpha1." in rule.module for name in names)


@pytest.mark.parametrize(("kind", "version"), [pair for pair in JUDGED if ROUTES[route_path(*pair, Purpose.VALIDATE)].converts])
def test_rules_say_of_a_view_what_they_say_of_the_whole(kind: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words, causes and patches, byte for byte, with honest and dishonest annotations: no rule reads what a view leaves out."""
    pairs = []
    for number in range(MAX_OBJECTS):
        dice = Dice(SEED, "views", kind, version, number)
        obj = make_object(dice, kind, version, odd=number % 4 == 2, hostile=number % 4 == 3)
        there = convert(KINDS[kind], make_object(dice, kind, _opposite(version)), version).object
        pairs += [(new, old) for new in (obj, there, edit(dice, there)) for old in (None, obj, there)]

    def answers() -> list[bytes]:
        return [_answered(*each, kind, version, purpose).body for each in pairs for purpose in (Purpose.VALIDATE, Purpose.MUTATE)]

    viewing = answers()
    monkeypatch.setattr(VersionView, "convert_for_rules", lambda across, obj, **_: convert(across.kind, obj, across.rule_version).object)
    assert viewing == answers()
