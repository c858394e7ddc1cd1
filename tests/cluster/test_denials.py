"""What people see when a write is refused: all causes at once in kubectl's output and in the Status, warnings, and the schema first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.models import constraints
from tests.cluster.objects import DISCOVERY, checkpoint, graph, make, path_of, request

if TYPE_CHECKING:
    from tests.cluster.harness import ControlPlane, Reply

Node: TypeAlias = dict[str, Any]
# Three violations of three rules, which the Go operator reports one after the other.
THREE: Final = (
    f"metadata.annotations[{DISCOVERY}]",
    "spec.restart.id",
    "spec.pvcs[0].name",
)


def _thrice_wrong(namespace: str) -> Node:
    return graph(
        namespace, spec={"restart": {"id": "r", "strategy": {"order": ["x"]}}, "pvcs": [{"name": ""}]}, annotations={DISCOVERY: "Pod"}
    )


def _rules(reply: Reply) -> set[str]:
    """The names of our rules among the causes; schema causes carry none."""
    causes = (reply.body.get("details") or {}).get("causes", [])
    return {name for cause in causes for name in re.findall(r"\[([a-z0-9-]+)\]$", cause["message"])}


def _create(plane: ControlPlane, obj: Node, query: str = "") -> Reply:
    return plane.request("POST", path_of(obj) + query, obj)


def test_all_causes_are_in_the_status(guarded_alpha: ControlPlane, guarded: str) -> None:
    reply = _create(guarded_alpha, _thrice_wrong(guarded))
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert 'admission webhook "vdynamographdeployment.kb.io" denied the request' in reply.body["message"]
    assert {"dgd-annotation-discovery-mode", "restart-order-unknown", "pvc-name-required"} <= _rules(reply)
    assert {f"metadata.annotations[{DISCOVERY}]", "spec.pvcs[0].name"} <= {field for field, _ in reply.causes()}
    details = reply.body["details"]
    assert (details["name"], details["group"], details["kind"]) == ("t", "nvidia.com", "DynamoGraphDeployment")


@pytest.mark.parametrize("command", [("create",), ("apply",), ("apply", "--server-side")], ids=" ".join)
def test_all_causes_are_visible_in_kubectl(guarded_alpha: ControlPlane, guarded: str, command: tuple[str, ...]) -> None:
    done = guarded_alpha.kubectl(*command, "-f", "-", input=_thrice_wrong(guarded), user="author")
    assert done.code == 1
    assert all(rule in done.stderr for rule in ("dgd-annotation-discovery-mode", "restart-order-unknown", "pvc-name-required")), done.stderr
    assert "spec.pvcs[0].name" in done.stderr


def test_a_dry_run_is_judged_as_the_real_thing(guarded_alpha: ControlPlane, guarded: str) -> None:
    done = guarded_alpha.kubectl("apply", "--dry-run=server", "-f", "-", input=_thrice_wrong(guarded))
    real = _create(guarded_alpha, _thrice_wrong(guarded))
    dry = _create(guarded_alpha, _thrice_wrong(guarded), "?dryRun=All")
    assert done.code == 1
    assert all(rule in done.stderr for rule in _rules(real))
    assert dry.body == real.body


def test_warnings_are_printed_and_do_not_refuse(guarded_alpha: ControlPlane, guarded: str) -> None:
    obj = graph(guarded, {"w": {"autoscaling": {"enabled": False}, "dynamoNamespace": "old"}})
    done = guarded_alpha.kubectl("create", "-f", "-", input=obj)
    assert done.code == 0, done.stderr
    ours = [line for line in done.stderr.splitlines() if line.startswith("Warning: spec.services[w]")]
    assert any("[warn-autoscaling]" in line for line in ours), done.stderr
    assert any("dynamoNamespace" in line for line in ours), done.stderr


def test_warnings_come_with_a_denial_too(guarded_alpha: ControlPlane, guarded: str) -> None:
    """Q-29: the author sees everything in one go."""
    reply = _create(guarded_alpha, graph(guarded, {"w": {"autoscaling": {}}}, spec={"pvcs": [{"name": ""}]}))
    assert _rules(reply) == {"pvc-name-required"}
    assert any("warn-autoscaling" in text for text in reply.warnings), reply.warnings


def test_a_null_service_is_no_service(guarded_alpha: ControlPlane, guarded: str) -> None:
    """The API server drops the null, and an empty map is what our rule sees."""
    reply = _create(guarded_alpha, graph(guarded, {"a": None}))
    assert (reply.status, _rules(reply)) == (422, {"dgd-services-required"})
    assert reply.causes() == {("spec.services", "FieldValueRequired")}


# Refused by the schema, so that none of our rules is heard: kind of object, and a field among the causes.
SCHEMA_REFUSALS: Final = [
    pytest.param(graph("", {"a": {"multinode": {"nodeCount": 1}}}), "spec.services.a.multinode.nodeCount", id="one-node"),
    pytest.param(
        graph("", spec={"pvcs": [{"name": "x", "create": True, "storageClass": "s", "volumeAccessMode": "ReadWriteMany"}]}),
        "spec.pvcs[0]",
        id="claim-without-size",
    ),
    pytest.param(graph("", {"a": {"checkpoint": {"enabled": True}}}), "spec.services[a].checkpoint", id="checkpoint-without-source"),
    pytest.param(
        graph("", spec={"experimental": {"kvTransferPolicy": {"labelKey": "a", "domain": "z", "preferredWeight": 0.5}}}),
        "spec.experimental.kvTransferPolicy",
        id="weight-without-preference",
    ),
    pytest.param(graph("", {"a": {"sharedMemory": {"size": "-1Gi"}}}), "spec.services[a].sharedMemory", id="negative-memory"),
    pytest.param(
        graph("", {"a": {"gpuMemoryService": {"enabled": False, "extraClientPods": [{"name": "a", "podTemplate": {}}]}}}),
        "spec.services[a].gpuMemoryService",
        id="reserved-clients",
    ),
    pytest.param(request("", model=""), "spec.model", id="empty-model"),
    pytest.param(make("DGDR", BETA, "", {}), "spec.model", id="no-model"),
    pytest.param(
        make("DGDSA", ALPHA, "", {"replicas": -1, "dgdRef": {"name": "g", "serviceName": "w"}}), "spec.replicas", id="negative-replicas"
    ),
    pytest.param(make("DGDSA", ALPHA, "", {"replicas": 1, "dgdRef": {"name": "", "serviceName": ""}}), "spec.dgdRef.name", id="no-name"),
    pytest.param(make("CKPT", ALPHA, "", {"job": {"podTemplateSpec": {}}}), "spec.identity", id="checkpoint-without-identity"),
]


@pytest.mark.parametrize(("obj", "field"), SCHEMA_REFUSALS)
def test_the_schema_refuses_before_us(guarded_alpha: ControlPlane, guarded: str, obj: Node, field: str) -> None:
    placed = {**obj, "metadata": {**obj["metadata"], "namespace": guarded}}
    reply = _create(guarded_alpha, placed)
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert field in {found for found, _ in reply.causes()}
    assert "admission webhook" not in reply.body["message"]
    assert not _rules(reply)


def test_a_schema_violation_hides_our_rules(guarded_alpha: ControlPlane, guarded: str) -> None:
    """1.2: the validating webhooks are not asked about an object that the schema refuses."""
    wrong = _thrice_wrong(guarded)
    wrong["spec"]["services"]["w"]["replicas"] = -1
    reply = _create(guarded_alpha, wrong)
    assert ("spec.services.w.replicas", "FieldValueInvalid") in reply.causes()
    assert not _rules(reply)


def test_a_claim_without_size_is_refused_alike_on_create_and_update(guarded_alpha: ControlPlane, guarded: str) -> None:
    """On both operations: the patch no longer injects a size that hides the schema's rule on create."""
    obj = graph(guarded)
    stored = _create(guarded_alpha, obj)
    claims = [{"name": "x", "create": True, "storageClass": "s", "volumeAccessMode": "ReadWriteMany"}]
    created = _create(guarded_alpha, graph(guarded, spec={"pvcs": claims}, name="u"))
    patched = guarded_alpha.request(
        "PATCH", path_of(stored.body, named=True), {"spec": {"pvcs": claims}}, kind="application/merge-patch+json"
    )
    assert created.causes() == patched.causes() == {("spec.pvcs[0]", "FieldValueInvalid")}
    assert constraints.PVC_CREATE.message in created.body["message"]


def test_an_empty_checkpoint_differs_between_the_versions(
    guarded_alpha: ControlPlane, guarded: str, guarded_beta: ControlPlane, guarded_in_beta: str
) -> None:
    """In v1alpha1 it is switched off, in v1beta1 its presence switches it on."""
    older = _create(guarded_alpha, graph(guarded, {"a": {"checkpoint": {}}}))
    newer = _create(guarded_beta, make("DGD", BETA, guarded_in_beta, {"components": [{"name": "a", "experimental": {"checkpoint": {}}}]}))
    assert older.status == 201, older.body
    assert newer.status == 422
    assert ("spec.components[0].experimental.checkpoint", "FieldValueInvalid") in newer.causes()


def test_what_no_decoder_could_read_is_named(guarded_alpha: ControlPlane, guarded: str) -> None:
    """The mutating webhook meets the object before the schema does."""
    reply = _create(guarded_alpha, graph(guarded, {"w": {"resources": {"limits": {"gpu": 1}}}}))
    assert reply.status == 400, reply.body
    assert "resources.limits.gpu" in reply.body["message"]


def test_requests_are_judged_after_the_schemas_defaults(guarded_alpha: ControlPlane, guarded: str) -> None:
    """An absent backend is `auto` by then."""
    reply = _create(guarded_alpha, request(guarded, searchStrategy="thorough"))
    assert (reply.status, _rules(reply)) == (422, {"dgdr-thorough-needs-backend"})


def test_checkpoints_and_models_are_judged(guarded_alpha: ControlPlane, guarded: str) -> None:
    lora = make("MODEL", ALPHA, guarded, {"modelName": "", "baseModelName": "b", "modelType": "lora", "source": {"uri": "S3://b"}})
    assert _rules(_create(guarded_alpha, lora)) == {"model-name-required", "model-lora-uri-scheme"}
    gated = _create(guarded_alpha, checkpoint(guarded, gpuMemoryService={"enabled": True}))
    assert "gms-snapshot-gate" in _rules(gated)


def test_an_object_that_was_refused_is_not_there(guarded_alpha: ControlPlane, guarded: str) -> None:
    wrong = _thrice_wrong(guarded)
    assert _create(guarded_alpha, wrong).status == 422
    assert guarded_alpha.request("GET", path_of(wrong, named=True)).status == 404
