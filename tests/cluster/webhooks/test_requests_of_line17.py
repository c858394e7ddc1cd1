"""Requests, runs and candidates on the definitions of operator 1.7: what each version shows, keeps, defaults and refuses."""

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
RUN, CANDIDATE = "DynamoGraphDeploymentRun", "DynamoGraphDeploymentCandidate"
OTHERS: Final = ("DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoModel")


# as stored: with the default of the definition
STORED: Final[Node] = {**NATIVE, "modelRef": {**NATIVE["modelRef"], "remoteCode": "Never"}}


@pytest.fixture(scope="module")
def plane(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with serving(tmp_path_factory.mktemp("serve"), {**FACTS, "operatorVersion": "1.7.0"}) as server, planes.lend() as found:
        install(found, *(crd(kind, conversion=server.stanza(), line=Line.V1_7) for kind in (KIND, RUN, CANDIDATE)))
        install(found, *(crd(kind, conversion=None, versions=["v1alpha1"], line=Line.V1_2) for kind in OTHERS))
        register(found, server, "dynamo")
        wait_until_all_are_asked(found, server, "default")
        yield found


def path(version: str, namespace: str, name: str = "", kind: str = KIND) -> str:
    return f"/apis/nvidia.com/{version}/namespaces/{namespace}/{kind.lower()}s{f'/{name}' if name else ''}"


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
    assert specs["v1beta2"]["new"] == STORED  # with a member that the definition doesn't know, E9d
    assert specs["v1beta1"]["new"] == {"v1beta2": STORED}  # E3, E16
    assert specs["v1alpha1"]["new"]["v1beta2"] == STORED  # E4
    assert specs["v1beta2"]["old"] == {"v1beta1": specs["v1beta1"]["old"]}
    for version in ("v1alpha1", "v1beta1"):
        plane.request("PATCH", path(version, namespace, "new"), {"metadata": {"labels": {version: "a"}}}, kind=MERGE).done()
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


def test_a_new_request_of_v1beta1_gets_defaults_from_the_webhook_and_an_update_none(plane: ControlPlane) -> None:
    namespace = plane.namespace()
    made = plane.request("POST", path("v1beta1", namespace), request("v1beta1", "r", {"model": "m"}))  # E14
    assert made.status == 201, made.body
    image = made.body["spec"].pop("image")
    assert image.startswith("nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.7.0")
    assert made.body["spec"] == {"model": "m", "backend": "auto", "searchStrategy": "rapid", "autoApply": True}
    dropped = plane.request("PATCH", path("v1beta1", namespace, "r"), {"spec": {"image": None, "backend": None}}, kind=MERGE)  # E15
    assert dropped.body["spec"] == {"model": "m", "searchStrategy": "rapid", "autoApply": True}
    lost = plane.request("PATCH", path("v1beta1", namespace, "r"), {"spec": {"autoApply": None, "image": image}}, kind=MERGE)
    assert "autoApply" not in lost.body["spec"]
    assert plane.request("GET", path("v1alpha1", namespace, "r")).body["spec"]["autoApply"] is True
    labelled = plane.request("PATCH", path("v1alpha1", namespace, "r"), {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
    assert labelled.status == 200, labelled.body
    assert plane.request("GET", path("v1beta1", namespace, "r")).body["spec"] == {**lost.body["spec"], "autoApply": True}
    refused = plane.request("POST", path("v1beta1", namespace), request("v1beta1", "without", {"backend": "vllm"}))
    assert (refused.status, "model must be given" in refused.body["message"]) == (422, True)


def _with(member: str, value: Any) -> Node:
    return {**NATIVE, member: value}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (_with("backends", []), "spec.backends"),  # E17
        (_with("backends", ["auto"]), "spec.backends[0]"),  # E18
        (_with("hardware", {"gpu": {"sku": "my-chip", "budget": 8}}), ""),  # E19
        (_with("objective", {"mode": "pareto", "metrics": ["throughput", "e2eLatency"]}), ""),  # E20
        (_with("objective", {"mode": "pareto", "metrics": ["throughput", "e2eLatency"], "metric": "goodput"}), "spec.objective"),
        (_with("objective", {"mode": "pareto", "metrics": ["throughput"]}), "spec.objective.metrics"),
        (_with("objective", {**NATIVE["objective"], "sla": {"e2eMs": 500, "ttftMs": 100}}), ""),  # E21
        (_with("objective", {**NATIVE["objective"], "sla": {"ttftMs": 100}}), "spec.objective.sla"),  # E21a
        (_with("objective", {"mode": "pareto"}), ""),  # E21b
        (_with("workload", {**NATIVE["workload"], "trace": {"source": {"uri": "u"}}}), "spec.workload"),  # E22
        (_with("modelRef", {"name": "m", "remoteCode": "TrustCacheAndRevision"}), "spec.modelRef"),  # E23
        ({}, "spec"),  # E24
        ({"rerun": {"reason": "r"}}, "spec"),
        ({**NATIVE, "v1beta1": {"model": "m"}}, "spec"),  # E8
    ],
)
def test_the_definition_judges_members_of_v1beta2(plane: ControlPlane, spec: Node, field: str) -> None:
    reply = plane.request("POST", f"{path('v1beta2', plane.namespace())}?dryRun=All", request("v1beta2", "r", spec))
    assert (reply.status, {each for each, _ in reply.causes()} - {"<nil>"}) == ((422, {field}) if field else (201, set()))


@pytest.mark.parametrize("kind", [RUN, CANDIDATE])
def test_specs_of_runs_and_candidates_are_kept_whole_and_never_change(plane: ControlPlane, kind: str) -> None:
    namespace = plane.namespace()
    made = {**request("v1beta2", "r", {"components": [{"name": "w", "later": 1}], "objective": {"mode": "pareto"}}), "kind": kind}  # E26
    assert plane.request("POST", path("v1beta2", namespace, kind=kind), made).body["spec"] == made["spec"]
    where = path("v1beta2", namespace, "r", kind)
    refused = plane.request("PATCH", where, {"spec": {"objective": {"mode": "optimize"}}}, kind=MERGE)  # E25
    assert (refused.status, "spec must not change" in refused.body["message"]) == (422, True)
    written = plane.request("PATCH", f"{where}/status", {"status": {"phase": "Succeeded", "later": 1}}, kind=MERGE)
    assert written.body["status"] == {"phase": "Succeeded", "later": 1}


def test_a_status_is_of_one_version(plane: ControlPlane) -> None:
    namespace = plane.namespace()
    assert plane.request("POST", path("v1beta2", namespace), request("v1beta2", "r", NATIVE)).status == 201
    status = {"v1beta1": {"phase": "Pending"}, "observedGeneration": 1}
    refused = plane.request("PATCH", f"{path('v1beta2', namespace, 'r')}/status", {"status": status}, kind=MERGE)
    assert (refused.status, "v1beta1 must be alone" in refused.body["message"]) == (422, True)
