"""Requests on definitions like those of operator 1.7, which serve them as v1beta2, too: what each version shows, keeps and refuses."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from tests.cluster.admission import FACTS, register, serving, wait_until_all_are_asked
from tests.cluster.definitions import install
from tests.cluster.harness import ControlPlane
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.conversion.test_envelope import NATIVE

Node = dict[str, Any]
MERGE: Final = "application/merge-patch+json"
KIND: Final = "DynamoGraphDeploymentRequest"
OTHERS: Final = ("DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoModel")


def definition(stanza: Node) -> Node:
    """Ours of line 1.6 with a third version, and with the members that hold what another version owns."""
    made = crd(KIND, conversion=stanza, line=Line.V1_6)
    anything: Node = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for version in made["spec"]["versions"]:
        for name in ("spec", "status"):
            part = version["schema"]["openAPIV3Schema"]["properties"][name]
            part["properties"]["v1beta2"] = anything
            part.pop("required", None)
    schema = {"type": "object", "properties": dict.fromkeys(("spec", "status"), anything)}
    added = {"name": "v1beta2", "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    made["spec"]["versions"].append(added)
    return made


@pytest.fixture(scope="module")
def plane(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with serving(tmp_path_factory.mktemp("serve"), {**FACTS, "operatorVersion": "1.7.0"}) as server, planes.lend() as found:
        install(found, definition(server.stanza()), *(crd(kind, conversion=None, versions=["v1alpha1"], line=Line.V1_2) for kind in OTHERS))
        register(found, server, "dynamo")
        wait_until_all_are_asked(found, server, "default")
        yield found


def path(version: str, namespace: str, name: str = "") -> str:
    return f"/apis/nvidia.com/{version}/namespaces/{namespace}/dynamographdeploymentrequests{f'/{name}' if name else ''}"


def request(version: str, name: str, spec: Node) -> Node:
    return {"apiVersion": f"nvidia.com/{version}", "kind": KIND, "metadata": {"name": name}, "spec": spec}


def test_a_request_of_v1beta2_is_whole_in_every_version_and_changed_only_through_its_own(plane: ControlPlane) -> None:
    namespace = plane.namespace()
    assert plane.request("POST", path("v1beta2", namespace), request("v1beta2", "new", NATIVE)).status == 201
    assert (
        plane.request(
            "POST", path("v1beta1", namespace), request("v1beta1", "old", {"model": "m", "image": "nvcr.io/x/dynamo-planner:1.6.0"})
        ).status
        == 201
    )
    specs = {
        version: {one["metadata"]["name"]: one["spec"] for one in plane.request("GET", path(version, namespace)).body["items"]}
        for version in ("v1alpha1", "v1beta1", "v1beta2")
    }
    assert specs["v1beta2"]["new"] == NATIVE
    assert specs["v1beta1"]["new"]["v1beta2"] == specs["v1alpha1"]["new"]["v1beta2"] == NATIVE
    assert specs["v1beta2"]["old"] == {"v1beta1": specs["v1beta1"]["old"]}
    for version in ("v1alpha1", "v1beta1"):
        labelled = plane.request("PATCH", path(version, namespace, "new"), {"metadata": {"labels": {version: "a"}}}, kind=MERGE)
        assert labelled.status == 200, labelled.body
        patch = {"spec": {"v1beta2": {"search": {"budget": {"maxRounds": 9}}}}}
        refused = plane.request("PATCH", path(version, namespace, "new"), patch, kind=MERGE)
        assert (refused.status, refused.causes()) == (422, {("spec.v1beta2", "FieldValueForbidden")})
    refused = plane.request("PATCH", path("v1beta2", namespace, "old"), {"spec": {"v1beta1": {"model": "n"}}}, kind=MERGE)
    assert (refused.status, refused.causes()) == (422, {("spec.v1beta1", "FieldValueForbidden")})
    changed = plane.request("PATCH", path("v1beta2", namespace, "new"), {"spec": {"search": {"budget": {"maxRounds": 9}}}}, kind=MERGE)
    assert changed.body["spec"]["search"]["budget"] == {**NATIVE["search"]["budget"], "maxRounds": 9}
    assert plane.request("GET", path("v1beta1", namespace, "new")).body["spec"]["v1beta2"] == changed.body["spec"]


def test_a_status_is_kept_by_the_version_that_wrote_it(plane: ControlPlane) -> None:
    namespace, status = plane.namespace(), {"observedGeneration": 2, "activeRunRef": {"name": "r"}}
    assert plane.request("POST", path("v1beta2", namespace), request("v1beta2", "new", NATIVE)).status == 201
    written = plane.request("PATCH", f"{path('v1beta2', namespace, 'new')}/status", {"status": status}, kind=MERGE)
    assert written.body["status"] == status, written.body
    assert plane.request("GET", path("v1beta1", namespace, "new")).body["status"] == {"v1beta2": status}
    wait_until(lambda: plane.kubectl("get", "dynamographdeploymentrequests.v1beta2.nvidia.com", "-n", namespace).code == 0, "kubectl")
