"""Updates, deletes and subresources on a real API server: the ratchet, immutability, ownership, finalizers, and what is never judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.cluster.admission import SELECTED, wait_until_asked
from tests.cluster.objects import DISCOVERY, IDENTITY, checkpoint, graph, make, path_of, request
from tests.conversion.test_bounds import noise

if TYPE_CHECKING:
    from tests.cluster.admission import Admission
    from tests.cluster.harness import ControlPlane, Reply

Node: TypeAlias = dict[str, Any]
MERGE: Final = "application/merge-patch+json"


def _stored(plane: ControlPlane, obj: Node) -> Node:
    reply = plane.request("POST", path_of(obj), obj)
    assert reply.status == 201, reply.body
    return reply.body


def _patch(plane: ControlPlane, obj: Node, change: Node, subresource: str = "") -> Reply:
    return plane.request("PATCH", path_of(obj, named=True) + subresource, change, kind=MERGE)


def _rules_of(reply: Reply) -> set[str]:
    return {cause["message"].rpartition("[")[2].rstrip("]") for cause in (reply.body.get("details") or {}).get("causes", [])}


@pytest.fixture
def late(guarded_alpha: ControlPlane, admission: Admission) -> tuple[str, Node]:
    """A namespace that was labelled after an illegal graph had been stored in it, and the graph."""
    namespace = guarded_alpha.namespace()
    illegal = graph(namespace, spec={"pvcs": [{"name": ""}]}, annotations={DISCOVERY: "Pod"}, finalizers=["example.com/hold"])
    stored = _stored(guarded_alpha, illegal)
    label = guarded_alpha.request("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": SELECTED}}, kind=MERGE)
    assert label.status == 200, label.body
    wait_until_asked(guarded_alpha, admission, namespace)
    return namespace, stored


def test_what_was_stored_before_us_may_still_be_labelled(guarded_alpha: ControlPlane, late: tuple[str, Node]) -> None:
    """Promise 4: an update is not refused for what it did not touch."""
    namespace, stored = late
    done = guarded_alpha.kubectl("label", "dgd", "t", "-n", namespace, "team=a", user="author")
    assert done.code == 0, done.stderr
    assert guarded_alpha.request("GET", path_of(stored, named=True)).body["metadata"]["labels"] == {"team": "a"}
    assert guarded_alpha.kubectl(
        "create", "--dry-run=server", "-f", "-", input=graph(namespace, name="u", annotations={DISCOVERY: "Pod"})
    ).code


def test_what_is_too_long_for_the_other_version_is_refused_unless_it_is_stored(guarded_alpha: ControlPlane, admission: Admission) -> None:
    """Its update is a warning; kubectl shows the field and the size in either case."""
    namespace = guarded_alpha.namespace()
    long = graph(namespace, {"w": {"annotations": {"a": noise(300_000)}}})
    _stored(guarded_alpha, long)
    label = guarded_alpha.request("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": SELECTED}}, kind=MERGE)
    assert label.status == 200, label.body
    wait_until_asked(guarded_alpha, admission, namespace)
    done = guarded_alpha.kubectl("label", "dgd", "t", "-n", namespace, "team=a", user="author")
    assert done.code == 0, done.stderr
    field = "spec.services[w].annotations[a]: must be smaller:"
    assert f"Warning: {field} 294 of 256 KiB of annotations in v1beta1; read-only there" in done.stderr
    long["metadata"]["name"] = "u"
    done = guarded_alpha.kubectl("create", "-f", "-", input=long, user="author")
    assert done.code == 1
    assert f"{field} in v1beta1 it needs 294 of 256 KiB of annotations [long-remainder]" in done.stderr


def test_what_an_update_adds_is_refused_alone(guarded_alpha: ControlPlane, late: tuple[str, Node]) -> None:
    """The violation that was there stays tolerated, the new one is named; repairing is always allowed."""
    _, stored = late
    worse = _patch(guarded_alpha, stored, {"spec": {"restart": {"id": ""}}})
    assert worse.status == 422
    edited = _patch(guarded_alpha, stored, {"spec": {"pvcs": [{"name": ""}, {"name": ""}]}})
    assert {field for field, _ in edited.causes()} == {"spec.pvcs[1].name"}
    repaired = _patch(guarded_alpha, stored, {"spec": {"pvcs": [{"name": "a"}]}})
    assert repaired.status == 200, repaired.body


def test_an_illegal_object_can_be_deleted_and_its_finalizer_removed(guarded_alpha: ControlPlane, late: tuple[str, Node]) -> None:
    """Even an update that makes the spec worse passes while the object is on its way out."""
    namespace, stored = late
    done = guarded_alpha.kubectl("delete", "dgd", "t", "-n", namespace, "--wait=false")
    assert done.code == 0, done.stderr
    leaving = _patch(guarded_alpha, stored, {"spec": {"services": {"w": None}}, "metadata": {"annotations": {DISCOVERY: "Worse"}}})
    assert leaving.status == 200, leaving.body
    assert _patch(guarded_alpha, stored, {"metadata": {"finalizers": None}}).status == 200
    assert guarded_alpha.request("GET", path_of(stored, named=True)).status == 404


def test_immutable_parts_are_refused_together(guarded_alpha: ControlPlane, guarded: str) -> None:
    stored = _stored(guarded_alpha, graph(guarded, {"w": {}, "x": {}}, spec={"backendFramework": "vllm"}))
    reply = _patch(guarded_alpha, stored, {"spec": {"backendFramework": "sglang", "services": {"x": None, "y": {}}}})
    assert reply.status == 422, reply.body
    assert {"dgd-backend-immutable", "dgd-service-set-immutable"} <= _rules_of(reply)
    assert any("warn-backend-framework-change" in text for text in reply.warnings), reply.warnings


def test_replicas_belong_to_the_adapter(guarded_alpha: ControlPlane, guarded: str) -> None:
    """In the version that is served today: refused to people, the planner's account may."""
    stored = _stored(guarded_alpha, graph(guarded, {"w": {"replicas": 1, "scalingAdapter": {"enabled": True}}}))
    scale = ("patch", "dgd", "t", "-n", guarded, "--type=merge", "-p", '{"spec":{"services":{"w":{"replicas":3}}}}')
    refused = guarded_alpha.kubectl(*scale, user="author")
    assert refused.code == 1
    assert "scaling-adapter-owns-replicas" in refused.stderr
    planner = f"system:serviceaccount:{guarded}:planner-serviceaccount"
    done = guarded_alpha.kubectl(*scale, "--as", planner, "--as-group", "authors")
    assert done.code == 0, done.stderr
    assert guarded_alpha.request("GET", path_of(stored, named=True)).body["spec"]["services"]["w"]["replicas"] == 3


def test_a_checkpoints_identity_stays(guarded_alpha: ControlPlane, guarded: str) -> None:
    """The schema's transition rule."""
    stored = _stored(guarded_alpha, checkpoint(guarded))
    reply = _patch(guarded_alpha, stored, {"spec": {"identity": {**IDENTITY, "model": "n"}}})
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert "spec.identity must not change" in reply.body["message"]


def test_a_request_is_locked_while_it_is_worked_on(guarded_alpha: ControlPlane, guarded: str) -> None:
    stored = _stored(guarded_alpha, request(guarded))
    assert _patch(guarded_alpha, stored, {"status": {"phase": "Profiling"}}, "/status").status == 200
    locked = _patch(guarded_alpha, stored, {"spec": {"model": "y"}})
    assert (locked.status, _rules_of(locked)) == (422, {"dgdr-spec-locked"})
    assert _patch(guarded_alpha, stored, {"metadata": {"labels": {"a": "b"}}}).status == 200


def test_a_model_keeps_its_base(guarded_alpha: ControlPlane, guarded: str) -> None:
    stored = _stored(guarded_alpha, make("MODEL", ALPHA, guarded, {"modelName": "a", "baseModelName": "b"}))
    reply = _patch(guarded_alpha, stored, {"spec": {"baseModelName": "c", "modelType": "adapter"}})
    assert _rules_of(reply) == {"model-base-name-immutable", "model-type-immutable"}
    assert len(reply.warnings) == 2
    assert all(len(text) <= 120 for text in reply.warnings)


def test_status_writes_are_never_judged(guarded_alpha: ControlPlane, late: tuple[str, Node]) -> None:
    """Neither for the stored violation nor for what the status says."""
    _, stored = late
    current = guarded_alpha.request("GET", path_of(stored, named=True)).body
    status = {"state": "failed", "rollingUpdate": {"phase": "InProgress"}}
    reply = guarded_alpha.request("PUT", path_of(stored, named=True) + "/status", {**current, "status": status})
    assert reply.status == 200, reply.body
    assert reply.body["status"] == status


def test_a_restart_waits_for_the_rollout(guarded_alpha: ControlPlane, guarded: str) -> None:
    stored = _stored(guarded_alpha, graph(guarded, spec={"restart": {"id": "a"}}))
    assert (
        _patch(guarded_alpha, stored, {"status": {"state": "pending", "rollingUpdate": {"phase": "InProgress"}}}, "/status").status == 200
    )
    reply = _patch(guarded_alpha, stored, {"spec": {"restart": {"id": "b"}}})
    assert (reply.status, _rules_of(reply)) == (422, {"restart-locked-during-rollout"})


def test_an_adapter_is_judged_by_its_schema_alone(guarded_alpha: ControlPlane, guarded: str) -> None:
    """Scaling it through the subresource and pointing it elsewhere both pass."""
    stored = _stored(guarded_alpha, make("DGDSA", ALPHA, guarded, {"replicas": 1, "dgdRef": {"name": "g", "serviceName": "w"}}))
    done = guarded_alpha.kubectl("scale", "dgdsa", "t", "-n", guarded, "--replicas=5", user="author")
    assert done.code == 0, done.stderr
    moved = _patch(guarded_alpha, stored, {"spec": {"dgdRef": {"name": "h"}}})
    assert (moved.status, moved.body["spec"]["replicas"]) == (200, 5)


def test_a_component_in_the_newer_version_can_be_created_and_deleted(guarded_beta: ControlPlane, guarded_in_beta: str) -> None:
    stored = _stored(guarded_beta, make("DCD", BETA, guarded_in_beta, {"replicas": 2}))
    done = guarded_beta.kubectl("delete", "dcd", "t", "-n", guarded_in_beta)
    assert done.code == 0, done.stderr
    assert guarded_beta.request("GET", path_of(stored, named=True)).status == 404
