"""What reviews are answered: pure, no server. Each row of the protocol's table, and the bad input that must never be a fault."""

import base64
import logging
from typing import Any

import orjson
import pytest

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.deep import MAX_OBJECT_LEVELS
from dynamo_webhooks.api.kinds import GAMMA
from dynamo_webhooks.conversion.bounds import TOO_LONG
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.webhooks import admission
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.envelope import Answer
from dynamo_webhooks.webhooks.routes import ROUTES, route_path
from tests.hostile.deep import deep_object, places
from tests.rows import run_each
from tests.webhooks.requests import GRAPH_DEFAULTS, GRAPHS, PRIVATE, graph, review

FACTS = Facts(
    operatorScope="cluster",
    operatorVersion="1.2.0",
    operatorPrincipal="",
    grove=True,
    inferencePool=True,
    clusterTopologies={},
    gpuDiscovery=True,
    dra=True,
    lws=True,
    istio=False,
    excludedNamespaces=frozenset({"leased"}),
    allowGmsSnapshot=False,
)
SETTINGS = Settings(FACTS)
OTHER_VERSIONS = [route for route in ROUTES.values() if route.purpose is not Purpose.CONVERT and route.converts]
JUDGED = {route.kind for route in ROUTES.values() if route.purpose is Purpose.VALIDATE}


def ask(body: bytes, path: str = GRAPHS, chosen: Settings = SETTINGS) -> Answer:
    return answer(ROUTES[path], body, chosen)


def response(reply: Answer, uid: str = "u-1") -> dict[str, Any]:
    """The response of a review, once its envelope is in order."""
    assert reply.status == 200
    decoded = orjson.loads(reply.body)
    assert (decoded["apiVersion"], decoded["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    result: dict[str, Any] = decoded["response"]
    assert result["uid"] == uid
    assert all(len(warning) <= 120 for warning in result.get("warnings", []))
    return result


def refusal(reply: Answer, code: int) -> dict[str, Any]:
    """The status of a review that refuses."""
    result = response(reply)
    assert result["allowed"] is False
    assert "patch" not in result
    status: dict[str, Any] = result["status"]
    assert (status["status"], status["code"]) == ("Failure", code)
    assert status["message"]
    return status


def test_a_valid_object_is_allowed() -> None:
    assert response(ask(review(graph()))) == {"uid": "u-1", "allowed": True, "status": {"code": 200}}


def test_a_denial_lists_all_causes() -> None:
    """422 Invalid as the API server writes it, so that kubectl prints every field."""
    obj = graph()
    obj["spec"]["services"]["frontend"]["replicas"] = -1
    obj["spec"]["pvcs"].append({"create": False})
    status = refusal(ask(review(obj)), 422)
    assert status["reason"] == "Invalid"
    assert status["details"]["kind"] == "DynamoGraphDeployment"
    assert {cause["field"] for cause in status["details"]["causes"]} >= {"spec.services[frontend].replicas", "spec.pvcs[1].name"}
    assert all(cause["reason"].startswith("FieldValue") and cause["message"] for cause in status["details"]["causes"])


def test_warnings_come_with_denials_too() -> None:
    obj = graph()
    obj["spec"]["services"]["worker"]["dynamoNamespace"] = "x" * 500
    assert len(response(ask(review(obj)))["warnings"]) == 1
    obj["spec"]["services"]["frontend"]["replicas"] = -1
    assert len(response(ask(review(obj)))["warnings"]) == 1


def test_warnings_are_bounded() -> None:
    """One for each of 10,000 services would make an answer of a megabyte."""
    obj = graph()
    obj["spec"]["services"] = {f"s{number}": {"dynamoNamespace": "x"} for number in range(500)}
    stored = {**obj, "spec": {**obj["spec"], "services": {name: {} for name in obj["spec"]["services"]}}}
    warnings = response(ask(review(obj, "UPDATE", stored), chosen=Settings(FACTS)))["warnings"]
    assert len(warnings) == 100
    assert warnings[-1] == "and 401 more warnings"


@pytest.mark.parametrize(
    ("version", "spec", "field", "message"),
    [
        ("v1beta1", {"components": [{"name": f"w{i}"} for i in range(30_000)]}, "spec.components", "must have at most 25 items, got 30000"),
        ("v1alpha1", {"services": {f"w{i}": "x" for i in range(26)}}, "spec.services", "must have at most 25 items, got 26"),
        ("v1alpha1", {"pvcs": [{}] * 101}, "spec.pvcs", "must have at most 100 items, got 101"),
        ("v1beta1", {"components": [{"name": "n" * 64}]}, "spec.components[0].name", "must have at most 63 characters, got 64"),
    ],
)
def test_what_the_schema_refuses_for_its_size_is_not_looked_into(
    version: str, spec: dict[str, Any], field: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API server asks the mutating webhooks before its schema, and the validating ones after it."""
    for name in ("decoder", "Admission"):
        monkeypatch.delattr(admission, name)
    body = review({"metadata": {"name": "g"}, "spec": spec})
    reply = ask(body, route_path("DynamoGraphDeployment", version, Purpose.MUTATE))
    assert response(reply) == {"uid": "u-1", "allowed": True, "status": {"code": 200}}
    assert reply.verdict.skipped == "schema"
    status = refusal(ask(body, route_path("DynamoGraphDeployment", version, Purpose.VALIDATE)), 422)
    reason = "FieldValueTooLong" if "characters" in message else "FieldValueTooMany"
    assert status["details"]["causes"] == [{"reason": reason, "message": message, "field": field}]
    assert status["message"] == f'DynamoGraphDeployment.nvidia.com "g" is invalid: {field}: {message}'
    assert status["details"]["name"] == "g"


def test_what_can_not_be_converted_is_refused_with_the_object_s_name_and_a_rule() -> None:
    """Of an object without a name of its own, with the name that the request gives."""
    body = review({"metadata": {"labels": {TOO_LONG: "too-long"}}, "spec": {"services": {"w": {}}}}, name="g")
    status = refusal(ask(body, route_path("DynamoGraphDeployment", "v1alpha1", Purpose.VALIDATE)), 422)
    text = "must not be written or deleted in this version, which can't hold all that the object says: use v1beta1"
    field = f"metadata.labels.{TOO_LONG}"
    why = f"{field}: {text}, or the object can't be converted to nvidia.com/v1beta1 [unconvertible]"
    assert status["message"] == f'DynamoGraphDeployment.nvidia.com "g" is invalid: {why}'
    assert status["details"]["name"] == "g"
    [cause] = status["details"]["causes"]
    assert (cause["field"], cause["message"]) == (field, f"{text} [unconvertible]")


def test_a_stored_graph_that_was_too_large_before_is_judged_like_any_other() -> None:
    """The API server forgives it what an update leaves as it was, and so it must stay editable, and held to its rules."""
    services = {f"w{i}": {"replicas": 1} for i in range(26)}
    old = {"metadata": {"name": "g"}, "spec": {"services": services}}
    assert response(ask(review({**old, "metadata": {"name": "g", "labels": {}}}, "UPDATE", old)))["allowed"] is True
    new = {**old, "spec": {"services": {**services, "w3": {"replicas": -1}}}}
    assert [cause["field"] for cause in refusal(ask(review(new, "UPDATE", old)), 422)["details"]["causes"]] == [
        "spec.services[w3].replicas"
    ]


@run_each("version", ["v1alpha1", "v1beta1"])
def test_a_bound_hides_no_error(version: str) -> None:
    """Thousands of warnings, and of errors that the stored object had, come before the one that is new."""
    services = {f"w{i:05}": {"replicas": -1, "dynamoNamespace": "x"} for i in range(3_000)}
    old = {"metadata": {"name": "g"}, "spec": {"services": services}}
    new = {"metadata": {"name": "g"}, "spec": {"services": {**services, "w02999": {"replicas": -2}}}}
    if version == "v1beta1":
        old, new = (convert(KINDS["DynamoGraphDeployment"], obj, version).object for obj in (old, new))
    reply = ask(review(new, "UPDATE", old), route_path("DynamoGraphDeployment", version, Purpose.VALIDATE))
    [cause] = refusal(reply, 422)["details"]["causes"]
    assert cause["message"].startswith("must be 0 or more, got -2")
    assert "2999" in cause["field"]


def test_defaults_are_the_smallest_patch() -> None:
    obj = graph()
    del obj["spec"]["services"]["worker"]["replicas"]
    result = response(ask(review(obj), GRAPH_DEFAULTS))
    assert result["patchType"] == "JSONPatch"
    operations = orjson.loads(base64.b64decode(result["patch"]))
    assert {op["path"]: (op["op"], op["value"]) for op in operations} == {
        "/spec/services/worker/replicas": ("add", 1),
        "/metadata/annotations/nvidia.com~1dynamo-operator-origin-version": ("add", "1.2.0"),
    }


def test_a_v1beta1_review_is_answered_as_such() -> None:
    body = review(graph()).replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1")
    assert orjson.loads(ask(body).body)["apiVersion"] == "admission.k8s.io/v1beta1"


@run_each("missing", ["apiVersion", "kind"])
def test_a_review_without_type_is_taken_for_one(missing: str) -> None:
    whole = orjson.loads(review(graph()))
    del whole[missing]
    assert response(ask(orjson.dumps(whole)))["allowed"] is True


BROKEN = graph()
BROKEN["spec"]["services"]["frontend"]["replicas"] = "two"
NO_SERVICES: dict[str, Any] = {"metadata": {"name": "g", "namespace": "llm"}, "spec": {}}


@run_each(
    ("operation", "obj", "old", "validate", "mutate"),
    [
        ("CREATE", NO_SERVICES, None, 422, 200),
        ("CREATE", None, None, 400, 400),
        ("CREATE", BROKEN, None, 400, 400),
        ("UPDATE", graph(), None, 400, 200),
        ("UPDATE", None, graph(), 400, 400),
        ("UPDATE", graph(), BROKEN, 400, 400),
        ("UPDATE", graph(), graph(), 200, 200),
        ("DELETE", None, NO_SERVICES, 200, 200),
        ("DELETE", None, None, 400, 200),
        ("DELETE", None, BROKEN, 400, 200),
        ("DELETE", BROKEN, graph(), 200, 200),
        ("CONNECT", None, None, 200, 400),
        ("CONNECT", BROKEN, None, 200, 400),
        ("CONNECT", NO_SERVICES, None, 200, 200),
        ("", graph(), None, 400, 400),
        ("create", graph(), None, 400, 400),
        ("PATCH", graph(), graph(), 400, 400),
        (7, graph(), None, 400, 400),
        (None, graph(), None, 400, 400),
    ],
)
def test_operations(operation: Any, obj: Any, old: Any, validate: int, mutate: int) -> None:
    """Which operation needs which object, on both kinds of paths."""
    body = review(obj, operation, old)
    for path, code in ((GRAPHS, validate), (GRAPH_DEFAULTS, mutate)):
        result = response(ask(body, path))
        assert (result["allowed"], result["status"]["code"]) == (code == 200, code)


@run_each("old", ["text", [[]], False, 7, {"spec": "text", "metadata": []}])
@run_each("path", [route.path for route in ROUTES.values() if route.purpose is not Purpose.CONVERT])
def test_only_an_update_has_an_object_before_it(path: str, old: Any) -> None:
    """What stands there in a create is nobody's concern, and is not decoded."""
    obj = {"metadata": {"name": "a"}}
    without, beside = ask(review(obj), path), ask(review(obj, "CREATE", old), path)
    assert without.verdict.outcome != "fault"
    assert (beside.status, beside.body) == (without.status, without.body)
    for name in ("outcome", "code", "uid", "operation", "namespace", "name", "rules", "skipped", "patched", "tally", "bound"):
        assert getattr(beside.verdict, name) == getattr(without.verdict, name), name


@run_each("field", ["apiVersion", "kind"])
@run_each("where", ["object", "oldObject"])
def test_an_object_of_another_type_is_undecodable(field: str, where: str) -> None:
    other = graph()
    other[field] = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoModel"}[field]
    body = review(other, "CREATE") if where == "object" else review(graph(), "UPDATE", other)
    status = refusal(ask(body), 400)
    assert f"request.{where} can't be read" in status["message"]
    assert status["details"]["causes"][0]["field"] == field


@run_each(
    ("body", "words"),
    [
        (b"", "got nothing"),
        (b"hello", "must be JSON"),
        (b"[" * 1_200, "must be JSON: broken below many levels"),
        (b'{"request":', "must be JSON"),
        (b'{"request": NaN}', "must be JSON"),
        (b'{"request": Infinity}', "must be JSON"),
        (b'{"request": {"uid": "\\ud800"}}', "must be JSON"),
        (b'{"request": {"uid": "\xff"}}', "must be JSON"),
        (b"\xef\xbb\xbf{}", "must be JSON"),
        (b"[" * 7_000_000, "must be JSON"),
        (b'{"request": ' + b'{"a":' * 1_500 + b"}" * 1_500 + b"}", "must be JSON"),
        (b"null", "got nothing"),
        (b"[]", "got a list"),
        (b'"x"', "got a text"),
        (b"{}", "request must be an object"),
        (b'{"request": null}', "request must be an object"),
        (b'{"request": [1]}', "request must be an object"),
        (b'{"request": {"uid": 5}}', "request.uid must be a string"),
        (b'{"kind": "Pod", "request": {"uid": "u"}}', "kind must be AdmissionReview"),
        (b'{"kind": 5, "request": {"uid": "u"}}', "kind must be AdmissionReview"),
        (b'{"kind": {}, "request": {"uid": "u"}}', "kind must be AdmissionReview"),
        (b'{"apiVersion": "admission.k8s.io/v2", "request": {"uid": "u"}}', "apiVersion must be"),
        (b'{"apiVersion": ["x"], "request": {"uid": "u"}}', "apiVersion must be"),
        (b'{"kind": "ConversionReview", "request": {"uid": "u"}}', "kind must be AdmissionReview"),
    ],
)
def test_what_no_review_can_answer(body: bytes, words: str) -> None:
    """An HTTP error with a Status of one sentence, which the API server shows."""
    reply = ask(body)
    status = orjson.loads(reply.body)
    assert (reply.status, status["code"], status["kind"], status["apiVersion"]) == (400, 400, "Status", "v1")
    assert words in status["message"]
    assert len(status["message"]) < 250


# what another version owns is refused on creation, however deep it is
OWN = [place for place in places() if place[0] in JUDGED and place[2][:2] != ("spec", GAMMA)]


@pytest.mark.parametrize(("kind", "version", "path"), OWN)
def test_new_objects_are_at_most_1022_levels_deep(kind: str, version: str, path: tuple[str, ...]) -> None:
    """Those that were stored before are judged as any other, and managedFields don't count: nobody writes them."""
    validate, mutate = (route_path(kind, version, purpose) for purpose in (Purpose.VALIDATE, Purpose.MUTATE))
    managed = "managedFields" in path
    for levels in (512, 1_022, 1_023, 3_000):
        text = deep_object(kind, version, path, levels)
        reply = ask(_about(text), validate)
        if levels > 1_022 and not managed:
            message = refusal(reply, 422)["message"]
            assert f"must be nested at most {MAX_OBJECT_LEVELS} levels deep" in message
            assert f"is invalid: {path[0]}." in message
            assert reply.verdict.bound == "depth"
        else:
            assert f"{MAX_OBJECT_LEVELS} levels" not in reply.body.decode()
        for body in (_about(text, "UPDATE", text), _about(b"null", "DELETE", text)):
            assert f"{MAX_OBJECT_LEVELS} levels" not in ask(body, validate).body.decode()
            assert ask(body, validate).verdict.outcome != "fault"
        if mutate in ROUTES:
            assert ask(_about(text), mutate).verdict.outcome == "allowed"


def _about(obj: bytes, operation: str = "CREATE", old: bytes = b"null") -> bytes:
    empty = review(None, operation)
    return empty.replace(b'"object":null', b'"object":' + obj).replace(b'"oldObject":null', b'"oldObject":' + old)


def test_duplicate_keys_the_last_wins() -> None:
    """As the Go decoder reads them."""
    body = review(graph()).replace(b'"uid":"u-1"', b'"uid":"first","uid":"u-1"')
    assert response(ask(body))["allowed"] is True


def test_a_review_without_uid_is_answered() -> None:
    assert response(ask(b'{"request": {"operation": "DELETE", "oldObject": {}}}'), uid="")["allowed"] is True


@run_each("number", ["1.5", "1e400", "2147483648", "-2147483649", "99999999999999999999999999", "true", '"1"', "[]"])
def test_numbers_that_no_int32_holds(number: str) -> None:
    body = review(graph()).replace(b'"replicas":2', b'"replicas":' + number.encode())
    if number == "1e400":
        assert ask(body).status in (200, 400)  # infinity: JSON for some decoders, for none an int32
        return
    assert "spec.services[worker].replicas" in refusal(ask(body), 400)["message"]


def test_excluded_namespaces() -> None:
    """Nothing is asked there; in cluster scope only, and decoding comes first."""
    obj = {**NO_SERVICES, "metadata": {"name": "g", "namespace": "leased"}}
    reply = ask(review(obj))
    assert (response(reply)["allowed"], reply.verdict.skipped) == (True, "excluded")
    assert "patch" not in response(ask(review(obj), GRAPH_DEFAULTS))
    refusal(ask(review(obj), chosen=Settings(FACTS._replace(operatorScope="namespace"))), 422)
    refusal(ask(review({**BROKEN, "metadata": obj["metadata"]})), 400)
    # the namespace of the object counts, not the request's
    refusal(ask(review(NO_SERVICES, namespace="leased")), 422)


def test_an_object_on_its_way_out_is_not_judged() -> None:
    """Finalizers must be able to go, whatever the object says."""
    gone = {**NO_SERVICES, "metadata": {"name": "g", "deletionTimestamp": "2026-05-17T12:00:00Z"}}
    reply = ask(review(gone, "UPDATE", NO_SERVICES))
    assert (response(reply)["allowed"], reply.verdict.skipped) == (True, "deleting")
    refusal(ask(review(gone)), 422)


@run_each("route", OTHER_VERSIONS)
def test_the_other_version(route: Any) -> None:
    """It is judged as its own version is, before and after conversion; nothing is answered 501."""
    obj = {"apiVersion": f"nvidia.com/{route.version}", "kind": route.kind, "metadata": {"name": "g", "namespace": "llm"}}
    gone = {**obj, "metadata": {"name": "g", "deletionTimestamp": "2026-05-17T12:00:00Z"}}
    leased = {**obj, "metadata": {"name": "g", "namespace": "leased"}}
    own = ask(review({**obj, "apiVersion": f"nvidia.com/{route.read}"}), route_path(route.kind, route.read, route.purpose))
    judged = response(own)["status"]["code"]
    assert judged in (200, 422)
    for body, code in (
        (review(obj), judged),
        (review(gone, "UPDATE", obj), 200),
        (review(leased), 200),
        (review(None, "DELETE", obj), 200),
        (review({**obj, "spec": 5}), 400),
        (review({**obj, "apiVersion": "nvidia.com/v7"}), 400),
        (review(obj, "NOPE"), 400),
    ):
        result = response(ask(body, route.path))
        assert (result["allowed"], result["status"]["code"]) == (code == 200, code)


def test_an_unknown_fact_refuses_and_says_which() -> None:
    obj = graph()
    obj["spec"]["priorityClassName"] = "high"
    status = refusal(ask(review(obj), chosen=Settings(Facts())), 422)
    assert "fact grove is not known" in status["message"]


@pytest.mark.interpreted
def test_a_fault_is_a_review_and_its_log_holds_no_value(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """500 with the uid; the sentence names the type of the error alone."""

    def fail(_review: object, _most: int) -> list[Any]:
        raise ValueError(PRIVATE)

    monkeypatch.setattr("dynamo_webhooks.admission.judging.evaluate", fail)
    with caplog.at_level(logging.ERROR):
        reply = ask(review(graph()))
    status = refusal(reply, 500)
    assert "ValueError" in status["message"]
    assert PRIVATE not in status["message"]
    assert reply.verdict.outcome == "fault"
    assert [record.getMessage() for record in caplog.records] == ["a request could not be checked"]


@pytest.mark.interpreted
def test_a_rule_that_raises_is_a_500_and_the_others_still_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    from dynamo_webhooks.policies.at import make_fault
    from dynamo_webhooks.policies.catalogue import list_rules

    broken = list_rules()[0]
    monkeypatch.setattr("dynamo_webhooks.admission.judging.evaluate", lambda *_: [make_fault(broken, (), ValueError(PRIVATE))])
    status = refusal(ask(review(graph())), 500)
    assert status["reason"] == "InternalError"
    assert PRIVATE not in orjson.dumps(status).decode()


def test_verdicts_hold_names_and_no_values() -> None:
    """What goes to log and metrics."""
    obj = graph()
    obj["spec"]["services"]["frontend"]["replicas"] = -1
    verdict = ask(review(obj, name="n" * 1_000_000, namespace="llm")).verdict
    assert (verdict.outcome, verdict.code, verdict.operation, verdict.namespace) == ("denied", 422, "CREATE", "llm")
    assert verdict.name == "n" * 253
    assert verdict.rules == ("replicas-non-negative",)
    assert ask(review(obj, PRIVATE)).verdict.operation == "other"


def test_absurd_sizes_stay_bounded() -> None:
    """10,000 bad services, a name of a million characters: an answer of a bounded length."""
    services = {f"s{i}": {"componentType": "worker", "replicas": -1} for i in range(10_000)}
    body = {"metadata": {"name": "x" * 1_000_000, "namespace": "n"}, "spec": {"services": services}}
    stored: dict[str, Any] = {"spec": {"services": {name: {} for name in services}}}
    status = refusal(ask(review(body, "UPDATE", stored)), 422)
    assert len(status["details"]["causes"]) == 100
    assert len(orjson.dumps(status)) < 100_000
    assert status["message"].endswith("and at least 900 more")
    wrong = ask(review({"spec": {"services": {"y" * 100_000: {"volumeMounts": ["x"] * 5_000}}}}))
    assert len(refusal(wrong, 400)["details"]["causes"]) == 50
    assert len(wrong.body) < 100_000
