"""The protocol of `/convert`: uid, order, kinds mixed, what fails and how it is named, damaged annotations. No server here."""

import copy
import logging
from typing import Any

import orjson
import pytest

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.api import deep
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.webhooks import convert
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.envelope import Answer
from dynamo_webhooks.webhooks.limits import Bound
from dynamo_webhooks.webhooks.meters import Meter
from dynamo_webhooks.webhooks.metrics import export
from dynamo_webhooks.webhooks.routes import CONVERT
from tests.hostile.deep import deep_object, places
from tests.rows import run_each
from tests.webhooks.requests import PRIVATE, conversion, graph

ALPHA, BETA = "nvidia.com/v1alpha1", "nvidia.com/v1beta1"


def ask(body: bytes) -> tuple[Answer, dict[str, Any]]:
    reply = answer(CONVERT, body, Settings(Facts()))
    return reply, orjson.loads(reply.body)


def converted(objects: Any, desired: Any = BETA) -> list[Any]:
    """The objects of a review that must succeed."""
    reply, review = ask(conversion(objects, desired))
    assert (reply.status, reply.verdict.outcome, reply.verdict.code) == (200, "converted", 200)
    assert review["response"]["uid"] == "c-1"
    assert review["response"]["result"] == {"status": "Success"}
    objects = review["response"]["convertedObjects"]
    assert isinstance(objects, list)
    return objects


def refusal(objects: Any, desired: Any = BETA) -> str:
    """The message of a review that must fail, and hand out nothing."""
    reply, review = ask(conversion(objects, desired))
    result = review["response"]["result"]
    assert (reply.status, review["response"]["uid"], review["response"]["convertedObjects"]) == (200, "c-1", [])
    assert (result["status"], result["code"]) == ("Failure", reply.verdict.code)
    message: str = result["message"]
    return message


def of_kind(kind: str, version: str = "v1alpha1", name: str = "x", **more: Any) -> dict[str, Any]:
    return {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": {"name": name, "namespace": "llm"}, **more}


MIXED = [
    of_kind("DynamoGraphDeploymentRequest", name="r", spec={"model": "m"}),
    of_kind("DynamoGraphDeploymentScalingAdapter", name="a", spec={"replicas": 2, "dgdRef": {"name": "g", "serviceName": "w"}}),
    of_kind("DynamoComponentDeployment", name="c", spec={"componentType": "worker"}),
    of_kind("DynamoGraphDeployment", name="g", spec={"services": {"w": {"replicas": 2}}}),
    of_kind("DynamoGraphDeploymentRequest", name="r2", spec={"model": "n"}),
]


@run_each("version", ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"])
def test_the_version_of_the_review_is_echoed(version: str) -> None:
    _, review = ask(conversion([graph()], version=version))
    assert (review["apiVersion"], review["kind"]) == (version, "ConversionReview")


def test_kinds_are_mixed_and_keep_their_order() -> None:
    there = converted(MIXED)
    assert [(obj["kind"], obj["metadata"]["name"], obj["apiVersion"]) for obj in there] == [
        (obj["kind"], obj["metadata"]["name"], BETA) for obj in MIXED
    ]
    assert converted(there, ALPHA) == MIXED


@run_each("objects", [[], None])
def test_an_empty_list_is_answered_with_an_empty_list(objects: Any) -> None:
    assert converted(objects) == []


@run_each("obj", MIXED)
def test_the_version_that_it_has_is_given_back(obj: dict[str, Any]) -> None:
    assert converted([obj], ALPHA) == [obj]
    assert converted([of_kind("DynamoModel")], ALPHA) == [of_kind("DynamoModel")]


BAD: list[tuple[Any, str]] = [
    (None, "object 1: must be an object, got nothing"),
    ([], "object 1: must be an object, got a list"),
    ({}, "object 1: apiVersion: must be a non-empty string"),
    ({"apiVersion": ALPHA}, "kind: must be a non-empty string"),
    ({"apiVersion": 5, "kind": "DynamoModel"}, "DynamoModel 1: apiVersion: must be a non-empty string"),
    (of_kind("DynamoNothing"), 'DynamoNothing llm/x: kind: must be a kind of nvidia.com, got "DynamoNothing"'),
    ({**of_kind("Pod"), "apiVersion": "v1"}, "Pod llm/x: kind: must be a kind of nvidia.com"),
    ({**graph(), "apiVersion": "other.example/v1alpha1"}, "kind: must be a kind of nvidia.com"),
    (of_kind("DynamoGraphDeployment", "v2", spec={"a": 1}), "apiVersion: must be nvidia.com/v1alpha1 or nvidia.com/v1beta1"),
    (of_kind("DynamoModel", spec={"a": 1}), "DynamoModel exists as nvidia.com/v1alpha1, not as"),
    (of_kind("DynamoGraphDeploymentList", items=[]), "kind: must be one object, got DynamoGraphDeploymentList"),
    ({**graph(), "metadata": 5}, "DynamoGraphDeployment 1: metadata: must be an object, got a number"),
    ({**graph(), "metadata": {"annotations": "x"}}, "metadata.annotations: must be an object, got a text"),
]


@run_each(("obj", "words"), BAD)
def test_what_cannot_convert_fails_the_review_and_is_named(obj: Any, words: str) -> None:
    message = refusal([graph(), obj])
    assert message.startswith("1 of 2 objects can't be converted to nvidia.com/v1beta1: ")
    assert words in message
    assert PRIVATE not in message


def test_two_components_of_one_name_are_named_with_their_field() -> None:
    twins = of_kind("DynamoGraphDeployment", "v1beta1", "twins", spec={"components": [{"name": "a"}, {"name": "a"}]})
    assert "DynamoGraphDeployment llm/twins: spec.components[1].name: must be" in refusal([twins], ALPHA)


def test_all_failing_objects_are_named_up_to_a_bound() -> None:
    message = refusal([of_kind("DynamoNothing", name=f"n{index}") if index % 2 else graph() for index in range(100)])
    assert message.startswith("50 of 100 objects can't be converted")
    assert all(f"llm/n{index}:" in message for index in range(1, 2 * convert.MAX_LISTED_OBJECTS, 2))
    assert message.endswith("; and 30 more")


@run_each("desired", [None, "", 5, "nvidia.com/v2", "other.example/v1beta1", "v1beta1", "nvidia.com/"])
def test_a_version_that_does_not_exist(desired: Any) -> None:
    refusal([graph()], desired)


@run_each("objects", [{}, "x", 5])
def test_objects_must_be_a_list(objects: Any) -> None:
    assert refusal(objects) == "request.objects must be a list"


@run_each("body", [b"", b"[]", b"{", b"{}", b'{"request":null}', b'{"kind":"AdmissionReview","request":{}}', b'{"request":{"uid":5}}'])
def test_a_body_without_a_review_is_rejected(body: bytes) -> None:
    reply, status = ask(body)
    assert (reply.status, status["kind"], status["status"]) == (400, "Status", "Failure")


@pytest.mark.interpreted
def test_a_fault_of_ours_is_answered_and_its_log_holds_no_value(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError(PRIVATE)

    monkeypatch.setattr("dynamo_webhooks.conversion.objects.convert", fail)
    with caplog.at_level(logging.ERROR):
        reply, review = ask(conversion([graph()]))
    assert (reply.verdict.outcome, review["response"]["result"]["code"]) == ("fault", 500)
    assert "ValueError" in review["response"]["result"]["message"]
    assert PRIVATE not in review["response"]["result"]["message"]


def _damaged(name: str, text: str = PRIVATE) -> dict[str, Any]:
    return {**graph(), "metadata": {"name": name, "namespace": "llm", "annotations": {"nvidia.com/dgd-spec": text}}}


def test_a_damaged_annotation_is_kept_aside_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        reply, review = ask(conversion([_damaged("hurt"), graph()]))
    [line] = [record.getMessage() for record in caplog.records]
    assert line == "the annotation nvidia.com/dgd-spec of DynamoGraphDeployment llm/hurt could not be used and is set aside"
    assert PRIVATE not in line
    assert PRIVATE in review["response"]["convertedObjects"][0]["metadata"]["annotations"].values()
    meter = Meter()
    meter.answered(CONVERT, reply.verdict, 0.1, 10)
    text = export(meter, {}).decode()
    assert "dynamo_webhooks_conversion_damaged_annotations_total 1.0" in text
    labels = 'kind="DynamoGraphDeployment",outcome="converted",version="v1beta1"'
    assert any(line.startswith("dynamo_webhooks_converted_objects_total{") and line.endswith(" 2.0") for line in text.splitlines()), labels


def test_many_damaged_annotations_cost_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        reply, _ = ask(conversion([_damaged(f"g{index}") for index in range(200)]))
    assert len(caplog.records) == convert.MAX_LISTED_OBJECTS + 1
    assert reply.verdict.tally is not None
    assert reply.verdict.tally.damaged == 200


def test_clients_cannot_make_labels() -> None:
    reply, _ = ask(conversion([of_kind("DynamoNothing"), 5, graph()], "nvidia.com/v77"))
    assert reply.verdict.tally is not None
    assert set(reply.verdict.tally.counts) == {
        ("other", "other", "other", "refused"),
        ("DynamoGraphDeployment", "v1alpha1", "other", "refused"),
    }


@run_each("text", ["", "null", "{}", '{"spec":{"services":[]}}', '{"version":7,"spec":{}}'])
def test_annotations_that_can_be_read_and_say_nothing_are_used_up(text: str) -> None:
    there = converted([_damaged("g", text)])
    [home] = converted(there, ALPHA)
    assert home["spec"] == graph()["spec"]
    assert converted(converted([home]), ALPHA) == [home]


# one place each: the encoder's bound, the decoder's, that of a free field in a review of one object, and what an API server sends at most
@pytest.mark.parametrize("levels", [300, 1_016, 1_021, 1_024, 2_000, 9_990])
@pytest.mark.parametrize(("kind", "version", "path"), places())
def test_whatever_depth_an_api_server_sends_converts_and_comes_home(kind: str, version: str, path: tuple[str, ...], levels: int) -> None:
    text = deep_object(kind, version, path, levels)
    there = _sent(text, ALPHA if version == "v1beta1" else BETA)
    assert there.count(b'{"f:a":') + there.count(b'{\\"f:a\\":') > levels - 15
    home = _sent(there, f"nvidia.com/{version}")
    assert home.count(b'{"f:a":') == text.count(b'{"f:a":')


def test_a_deep_object_does_not_keep_a_list_from_being_decoded_in_pieces() -> None:
    """It is sent among others, by an API server that writes all alike."""
    flat = orjson.dumps(graph())
    start = flat.removesuffix(b"}").removeprefix(b'{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment"')
    listed = [b'{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment"' + start + b"}"] * 40
    listed[7] = deep_object(GRAPH, "v1alpha1", ("metadata", "managedFields", "[]", "fieldsV1"), 3_000)
    body = _body(b",".join(listed), BETA)
    assert len(list(convert.steps(body, 2**16, line=Line.V1_2))) == len(listed) + 1
    response = deep.load(answer(CONVERT, body, Settings(Facts())).body)["response"]
    assert response["result"] == {"status": "Success"}
    assert len(response["convertedObjects"]) == len(listed)


def _sent(text: bytes, desired: str) -> bytes:
    """The one object that an API server gets back, as text."""
    reply = answer(CONVERT, _body(text, desired), Settings(Facts()))
    assert reply.verdict.outcome == "converted"
    return reply.body[reply.body.index(b'"convertedObjects":[') + len(b'"convertedObjects":[') :].removesuffix(b"]}}")


def _body(objects: bytes, desired: str) -> bytes:
    head = '{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"c-1","desiredAPIVersion":"'
    return f'{head}{desired}","objects":['.encode() + objects + b"]}}"


OBJECTS = 2_000
PADDING = "x" * 10_000  # of an annotation, whose text conversion has to carry
GRAPH = "DynamoGraphDeployment"

# one field of each kind in both versions: what another manager may own of an object
ONE_FIELD: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    (GRAPH, {"services": {"w": {"replicas": 2}}}, {"components": [{"name": "w", "replicas": 2}]}),
    ("DynamoComponentDeployment", {"replicas": 2}, {"replicas": 2}),
    ("DynamoGraphDeploymentRequest", {"profilingConfig": {"profilerImage": "i"}}, {"image": "i"}),
    ("DynamoGraphDeploymentScalingAdapter", {"replicas": 2}, {"replicas": 2}),
)


def numbered(obj: dict[str, Any], number: int) -> dict[str, Any]:
    metadata = obj.get("metadata", {})
    marks = {"annotations": {"padding": PADDING, "number": str(number)}, "labels": {"of": "a-list"}}
    return {**obj, "metadata": {**metadata, "name": f"g-{number}", "uid": f"u-{number}", "generation": 3, **marks}}


@run_each(("kind", "alpha", "beta"), ONE_FIELD, ids=[kind for kind, *_ in ONE_FIELD])
@run_each("version", ["v1alpha1", "v1beta1"])
def test_fragments_of_every_kind_and_version_get_nothing(kind: str, alpha: dict[str, Any], beta: dict[str, Any], version: str) -> None:
    """Metadata alone, an empty part, one field, a field that nobody knows; a component deployment of v1beta1 says its name in its spec."""
    here, there, desired = (alpha, beta, BETA) if version == "v1alpha1" else (beta, alpha, ALPHA)
    named = kind == "DynamoComponentDeployment" and desired == BETA
    fragments: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({}, {}),
        ({"spec": {}}, {"spec": {}}),
        ({"status": {}}, {"status": {}}),
        ({"spec": here}, {"spec": there}),
        ({"spec": {"ofTomorrow": {"kept": [1, None]}}}, {"spec": {}}),
        ({"ofTomorrow": [1]}, {"ofTomorrow": [1]}),
    )
    objects = [numbered(of_kind(kind, version, **copy.deepcopy(before)), number) for number, (before, _) in enumerate(fragments)]
    results = converted(objects, desired)
    for obj, (_, wanted) in zip(results, fragments, strict=True):
        name = {"name": obj["metadata"]["name"]} if named else {}
        assert {part: obj[part] for part in obj.keys() - {"apiVersion", "kind", "metadata"}} == {
            part: {**name, **value} if part == "spec" else value for part, value in wanted.items()
        }
    assert converted(results, f"nvidia.com/{version}") == objects


def test_a_decoder_that_is_out_of_memory_and_does_not_notice_meets_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """orjson returns a result beside the MemoryError, which Python makes a SystemError of."""

    def loads(_: object) -> object:
        raise SystemError

    monkeypatch.setattr("orjson.loads", loads)
    reply = answer(CONVERT, conversion([]), Settings(Facts()))
    assert (reply.status, reply.verdict.bound) == (413, Bound.REQUEST_MEMORY)
