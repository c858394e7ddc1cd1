"""What admission says of objects that are too long, or nearly, for the kind's other version, and what that costs all others."""

import base64
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.admission import losses
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.conversion import weight
from dynamo_webhooks.conversion.bounds import MAX_ANNOTATION_BYTES, TOO_LONG, annotation_size
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.policies.review import Review
from dynamo_webhooks.webhooks.routes import route_path
from tests.conversion.test_bounds import noise
from tests.rows import run_each
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.test_admission import ask, refusal, response
from tests.webhooks.test_both_versions import WORKER, beta_graph

GRAPH: Final = "DynamoGraphDeployment"
BETA_GRAPHS: Final = route_path(GRAPH, "v1beta1", Purpose.VALIDATE)
HALF, FULL = 140_000, 300_000


def _graph(length: int) -> dict[str, Any]:
    obj = graph()
    obj["spec"]["services"]["worker"]["annotations"] = {"note": noise(length)}
    return obj


def _beta(length: int) -> dict[str, Any]:
    template = {"metadata": {"finalizers": [noise(length)]}, "spec": {"containers": [{"name": "main"}]}}
    return beta_graph({"name": "a", "type": "worker"}, {**WORKER, "podTemplate": template})


def test_what_comes_near_is_a_warning() -> None:
    result = response(ask(review(_graph(HALF))))
    assert result["allowed"] is True
    (warning,) = result["warnings"]
    assert warning == "spec.services[worker].annotations[note]: takes 138 of 256 KiB of annotations in v1beta1; more is refused"


@run_each(
    ("path", "make", "field", "other"),
    [
        (GRAPHS, _graph, "spec.services[worker].annotations[note]", "v1beta1"),
        (BETA_GRAPHS, _beta, "spec.components[1].podTemplate.metadata.finalizers[0]", "v1alpha1"),
    ],
)
def test_what_does_not_fit_is_refused_with_field_and_size(path: str, make: Any, field: str, other: str) -> None:
    for operation, old in (("CREATE", None), ("UPDATE", make(HALF))):
        reply = ask(review(make(FULL), operation, old), path)
        (cause,) = refusal(reply, 422)["details"]["causes"]
        message = f"must be smaller: in {other} it needs 297 of 256 KiB of annotations [long-remainder]"
        assert (cause["field"], cause["message"]) == (field, message)
        assert {*reply.verdict.rules} - {"field-without-effect"} == {"long-remainder"}


def test_what_is_stored_stays_editable() -> None:
    old = _graph(FULL)
    result = response(ask(review({**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}, "UPDATE", old)))
    assert result["allowed"] is True
    field = "spec.services[worker].annotations[note]: "
    assert result["warnings"] == [f"{field}must be smaller: 297 of 256 KiB of annotations in v1beta1; read-only there"]


def test_components_of_a_stored_graph_go_on_being_made() -> None:
    owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": GRAPH, "name": "g", "uid": "u", "controller": True}
    component: dict[str, Any] = {"metadata": {"name": "g-w", "namespace": "llm"}, "spec": {"annotations": {"note": noise(FULL)}}}
    path = route_path("DynamoComponentDeployment", "v1alpha1", Purpose.VALIDATE)
    assert len(refusal(ask(review(component), path), 422)["details"]["causes"]) == 1
    component["metadata"]["ownerReferences"] = [owner]
    result = response(ask(review(component), path))
    assert result["allowed"] is True
    assert len(result["warnings"]) == 1


def test_it_comes_with_the_findings_of_the_policies() -> None:
    obj = _beta(FULL)
    obj["spec"]["components"][0]["replicas"] = -1
    fields = [cause["field"] for cause in refusal(ask(review(obj), BETA_GRAPHS), 422)["details"]["causes"]]
    assert fields == ["spec.components[0].replicas", "spec.components[1].podTemplate.metadata.finalizers[0]"]


@run_each("path", [GRAPHS, BETA_GRAPHS])
def test_an_object_on_its_way_out_hears_nothing(path: str) -> None:
    obj = _graph(FULL) if path == GRAPHS else _beta(FULL)
    obj["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []}
    assert response(ask(review(obj, "UPDATE", obj), path)) == {"uid": "u-1", "allowed": True, "status": {"code": 200}}


def test_what_was_shown_in_part_is_not_written_back() -> None:
    there = convert(KINDS[GRAPH], _graph(FULL), "v1beta1").object
    status = refusal(ask(review(there, "UPDATE", there), BETA_GRAPHS), 422)
    (cause,) = status["details"]["causes"]
    assert cause["field"] == f"metadata.labels.{TOO_LONG}"
    why = "must not be written or deleted in this version, which can't hold all that the object says: use v1alpha1"
    assert cause["message"] == f"{why} [unconvertible]"
    there["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert response(ask(review(there, "UPDATE", there), BETA_GRAPHS))["allowed"] is True


@pytest.mark.parametrize("path", [GRAPHS, BETA_GRAPHS])
@pytest.mark.interpreted
def test_a_short_object_is_not_converted_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the request is long: the old object and the owners of fields count for nothing."""
    monkeypatch.delattr(weight, "convert")
    obj, old = (_graph(1000), _graph(60_000)) if path == GRAPHS else (_beta(1000), _beta(60_000))
    obj["metadata"]["managedFields"] = [{"manager": "m", "fieldsV1": {f"f:{number}": {} for number in range(10_000)}}]
    reply = ask(review(obj, "UPDATE", old), path)
    assert response(reply)["allowed"]
    assert {*reply.verdict.rules} <= {"field-without-effect"}
    with pytest.raises(NameError):
        losses.judge_long_remainder(Review(f"{GRAPH}/v1alpha1", "CREATE", _graph(70_000), None), 70_000)


def test_a_default_that_leaves_no_room_takes_nothing_away() -> None:
    """The API server refuses what the patch makes too long; it must not be made to fit without its author knowing."""
    kept = orjson.dumps({"spec": {"services": {"w": {"annotations": {"a": noise(MAX_ANNOTATION_BYTES - 100)}}}}, "version": 1}).decode()
    obj = beta_graph({**WORKER, "replicas": 1})
    obj["metadata"]["annotations"] = {"nvidia.com/dgd-spec": kept}
    assert annotation_size(obj["metadata"]["annotations"]) < MAX_ANNOTATION_BYTES
    result = response(ask(review(obj), route_path(GRAPH, "v1beta1", Purpose.MUTATE)))
    operations = orjson.loads(base64.b64decode(result["patch"]))
    assert [operation["path"] for operation in operations] == ["/metadata/annotations/nvidia.com~1dynamo-operator-origin-version"]
