"""What a create stores: the defaults of the schema and ours, and nothing else. Q numbers are rows of docs/differences.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA
from tests.cluster.objects import ORIGIN, graph, make, path_of, request

if TYPE_CHECKING:
    from tests.cluster.harness import ControlPlane

Node: TypeAlias = dict[str, Any]
EPP_WITHOUT_WEIGHT: Node = {
    "plugins": [{"type": "t"}],
    "schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "t"}]}],
}


def _created(plane: ControlPlane, obj: Node) -> Node:
    """Creates through kubectl and returns what is stored."""
    done = plane.kubectl("create", "-f", "-", "-o", "json", input=obj)
    assert done.code == 0, done.stderr
    return plane.request("GET", path_of(done.json(), named=True)).body


def test_a_graph_gets_replicas_and_its_origin(guarded_alpha: ControlPlane, guarded: str) -> None:
    """And nothing else; the specs of 1.2 got a dozen zero values with it."""
    stored = _created(guarded_alpha, graph(guarded, {"a": {}}))
    assert stored["spec"] == {"services": {"a": {"replicas": 1}}}
    assert stored["metadata"]["annotations"] == {ORIGIN: "1.2.0"}
    assert "status" not in stored


def test_what_is_there_is_kept(guarded_alpha: ControlPlane, guarded: str) -> None:
    """An explicit zero and an older origin are answers, not gaps."""
    stored = _created(guarded_alpha, graph(guarded, {"a": {"replicas": 0}}, annotations={ORIGIN: "0.7.0"}))
    assert stored["spec"]["services"]["a"]["replicas"] == 0
    assert stored["metadata"]["annotations"] == {ORIGIN: "0.7.0"}


def test_a_component_is_named_after_its_object(guarded_beta: ControlPlane, guarded_in_beta: str) -> None:
    """The same without a spec at all."""
    stored = _created(guarded_beta, make("DCD", BETA, guarded_in_beta, {}))
    assert stored["spec"] == {"name": "t"}
    assert _created(guarded_beta, make("DCD", BETA, guarded_in_beta, None, name="u"))["spec"] == {"name": "u"}


def test_a_component_in_the_older_version_is_left_alone(guarded_alpha: ControlPlane, guarded: str) -> None:
    """The registration matches the newer version exactly."""
    assert _created(guarded_alpha, make("DCD", ALPHA, guarded, {}))["spec"] == {}


def test_a_request_gets_its_image_beside_the_schemas_defaults(guarded_alpha: ControlPlane, guarded: str) -> None:
    stored = _created(guarded_alpha, request(guarded))
    assert stored["spec"] == {
        "model": "x",
        "backend": "auto",
        "searchStrategy": "rapid",
        "autoApply": True,
        "image": "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.2.0",
    }


def test_a_model_is_a_base_model(guarded_alpha: ControlPlane, guarded: str) -> None:
    stored = _created(guarded_alpha, make("MODEL", ALPHA, guarded, {"modelName": "a", "baseModelName": "b"}))
    assert stored["spec"]["modelType"] == "base"


def test_an_empty_multinode_means_two_nodes(guarded_alpha: ControlPlane, guarded: str) -> None:
    assert _created(guarded_alpha, graph(guarded, {"a": {"multinode": {}}}))["spec"]["services"]["a"]["multinode"] == {"nodeCount": 2}


def test_an_update_gets_its_replicas_back(guarded_alpha: ControlPlane, guarded: str) -> None:
    """A service that lost its replicas gets them again; 1.2 left the hole."""
    stored = _created(guarded_alpha, graph(guarded))
    del stored["spec"]["services"]["w"]["replicas"]
    reply = guarded_alpha.request("PUT", path_of(stored, named=True), stored)
    assert reply.status == 200, reply.body
    assert reply.body["spec"]["services"]["w"] == {"replicas": 1}


def test_a_dry_run_shows_the_defaults_and_stores_nothing(guarded_alpha: ControlPlane, guarded: str) -> None:
    shown = guarded_alpha.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=graph(guarded)).json()
    assert shown["spec"]["services"]["w"]["replicas"] == 1
    assert guarded_alpha.request("GET", path_of(shown, named=True)).status == 404


def test_server_side_apply_gets_the_same_defaults_and_stays_quiet_afterwards(guarded_alpha: ControlPlane, guarded: str) -> None:
    wanted = graph(guarded)
    first = guarded_alpha.kubectl("apply", "--server-side", "-o", "json", "-f", "-", input=wanted).json()
    again = guarded_alpha.kubectl("apply", "--server-side", "-o", "json", "-f", "-", input=wanted).json()
    assert first["spec"]["services"]["w"]["replicas"] == 1
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("member", "value", "missing"),
    [
        pytest.param("failover", {}, "enabled", id="failover"),
        pytest.param("gpuMemoryService", {}, "enabled", id="gpu-memory-service"),
        pytest.param("modelRef", {}, "name", id="model-reference"),
        pytest.param("frontendSidecar", {}, "image", id="sidecar"),
    ],
)
def test_required_fields_are_not_invented(guarded_alpha: ControlPlane, guarded: str, member: str, value: Node, missing: str) -> None:
    """Q-41: what the schema requires is refused by the schema, on create as on update."""
    obj = graph(guarded, {"w": {member: value}})
    reply = guarded_alpha.request("POST", path_of(obj), obj)
    assert reply.status == 422, reply.body
    assert (f"spec.services.w.{member}.{missing}", "FieldValueRequired") in reply.causes()


def test_quantities_are_stored_as_they_were_written(guarded_alpha: ControlPlane, guarded: str) -> None:
    """2.2: the patch does not rewrite what it does not change."""
    stored = _created(guarded_alpha, graph(guarded, {"w": {"sharedMemory": {"size": "1024Mi"}}}))
    assert stored["spec"]["services"]["w"]["sharedMemory"] == {"size": "1024Mi"}


def test_the_picker_needs_no_weight(guarded_alpha: ControlPlane, guarded: str) -> None:
    """Q-43: an optional weight may be absent. The settings say that the InferencePool API is served."""
    service = {"componentType": "epp", "replicas": 1, "eppConfig": {"config": EPP_WITHOUT_WEIGHT}}
    stored = _created(guarded_alpha, graph(guarded, {"w": service}))
    assert stored["spec"]["services"]["w"]["eppConfig"]["config"] == EPP_WITHOUT_WEIGHT


@pytest.mark.parametrize("template", [{"metadata": {"labels": {"a": "b"}}}, {"spec": {"containers": []}}], ids=["metadata", "no-container"])
def test_pod_templates_without_a_container_are_stored(guarded_beta: ControlPlane, guarded_in_beta: str, template: Node) -> None:
    """Q-42, on the kind that is served in this version today: no null list is injected."""
    stored = _created(guarded_beta, make("DCD", BETA, guarded_in_beta, {"podTemplate": template}))
    assert stored["spec"]["podTemplate"] == template, json.dumps(stored)
