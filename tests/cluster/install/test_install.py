"""Every way to install: it applies, again and again, its pods pass restricted pod security, and kustomize and the chart say the same."""

import copy
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.cluster.harness import ControlPlane
from tests.cluster.objects import foreign
from tests.cluster.planes import Planes
from tests.cluster.processes import wait_until
from tests.cluster.rendering import MANIFESTS, WAYS, Node, Way, as_written, charted, composed, key, kustomized, of_kind, restricted
from tools import shipped_objects

# What Helm adds and what only one of both can have.
_HELMS: Final = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
    "checksum/config",
}
EACH: Final = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.overlay)


FOREIGN: Final = (
    ("cert-manager.io", "Issuer", "issuers"),
    ("cert-manager.io", "Certificate", "certificates"),
)


def _discoverable(plane: ControlPlane, path: str, kind: str) -> bool:
    return kind in {resource["kind"] for resource in plane.request("GET", path).body.get("resources", [])}


@pytest.fixture(scope="module")
def cluster(planes: Planes) -> Iterator[ControlPlane]:
    """A cluster with the namespaces, which no controller here could delete, and with cert-manager's kinds."""
    with planes.lend() as plane:
        plane.apply(*(foreign(*each) for each in FOREIGN))
        for group, kind, _ in FOREIGN:
            wait_until(partial(_discoverable, plane, f"/apis/{group}/v1", kind), f"{kind} being discoverable", plane.server)
        plane.apply(*map(restricted, sorted({way.namespace for way in WAYS})))
        yield plane


def _objects(overlay: str) -> list[Node]:
    return kustomized(MANIFESTS / "overlays" / overlay)


def _list(objects: list[Node]) -> Node:
    return {"apiVersion": "v1", "kind": "List", "items": objects}


@pytest.fixture
def applied(cluster: ControlPlane, request: pytest.FixtureRequest) -> Iterator[list[Node]]:
    """The objects of a way; whatever the test applied of them is gone after it."""
    objects = _objects(request.param.overlay)
    yield objects
    cluster.kubectl("delete", "--ignore-not-found", "-f", "-", input=_list(objects)).done()


def _written(cluster: ControlPlane, objects: list[Node]) -> dict[tuple[str, str, str], str]:
    """When each was written last. kubectl's own words say "configured" of a budget that stays as it is."""
    items = cluster.kubectl("get", "-o", "json", "-f", "-", input=_list(objects)).json()["items"]
    return {key(each): each["metadata"]["resourceVersion"] for each in items}


@pytest.mark.parametrize("applied", WAYS, ids=lambda way: way.overlay, indirect=True)
def test_it_applies_and_applying_again_changes_nothing(cluster: ControlPlane, applied: list[Node]) -> None:
    dry = cluster.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=_list(applied))
    assert (dry.code, dry.stderr) == (0, "")
    first = cluster.kubectl("apply", "-f", "-", input=_list(applied))
    assert (first.code, first.stderr) == (0, "")
    assert {line.split()[-1] for line in first.stdout.splitlines()} == {"created"}
    before = _written(cluster, applied)
    again = cluster.kubectl("apply", "-f", "-", input=_list(applied))
    assert (again.code, again.stderr) == (0, "")
    assert _written(cluster, applied) == before


def _pod(deployment: Node) -> Node:
    template = deployment["spec"]["template"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "name": "probe"}, "spec": template["spec"]}


@EACH
@pytest.mark.parametrize("source", ["kustomize", "chart"])
def test_every_pod_template_passes_restricted_pod_security(cluster: ControlPlane, way: Way, source: str) -> None:
    objects = _objects(way.overlay) if source == "kustomize" else charted(way.namespace, *way.values)
    assert of_kind(objects, "Namespace", "CustomResourceDefinition") == []  # others may own what is in them
    deployments = of_kind(objects, "Deployment")
    assert len(deployments) == 3
    for deployment in deployments:
        reply = cluster.request("POST", f"/api/v1/namespaces/{way.namespace}/pods?dryRun=All", _pod(deployment))
        assert (reply.status, reply.warnings) == (201, ()), reply.body


def test_the_same_pod_with_a_privilege_is_refused(cluster: ControlPlane) -> None:
    [deployment, *_] = of_kind(_objects("self-signed"), "Deployment")
    pod = _pod(copy.deepcopy(deployment))
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    reply = cluster.request("POST", "/api/v1/namespaces/dynamo-system/pods?dryRun=All", pod)
    assert reply.status == 403
    assert "allowPrivilegeEscalation" in reply.body["message"]


def comparable(value: Any) -> Any:
    """Without what Helm adds."""
    if isinstance(value, dict):
        return {name: comparable(each) for name, each in value.items() if name not in _HELMS}
    return [comparable(each) for each in value] if isinstance(value, list) else value


def _by_key(objects: list[Node]) -> dict[tuple[str, str, str], Node]:
    by_key = {key(each): comparable(each) for each in objects}
    for each in by_key.values():
        if each["kind"] == "ConfigMap":
            each["data"] = {name: yaml.safe_load(text) for name, text in each["data"].items()}
    return by_key


@EACH
def test_the_chart_says_what_kustomize_says(way: Way) -> None:
    """Up to the labels that Helm wants, every object is the same: neither of both is forgotten in a change."""
    theirs, ours = _by_key(charted(way.namespace, *way.values)), _by_key(_objects(way.overlay))
    assert theirs.keys() == ours.keys()
    for name, obj in ours.items():
        assert theirs[name] == obj, name


@pytest.mark.parametrize("overlay", shipped_objects.OVERLAYS)
def test_doctor_knows_the_overlays_as_kubectl_builds_them(overlay: str) -> None:
    ours, theirs = (
        {key(each): each for each in objs} for objs in (shipped_objects.list_objects(shipped_objects.FOLDER / overlay), _objects(overlay))
    )
    assert ours == theirs


@EACH
def test_only_the_default_names_what_a_restricted_installation_must_not_touch(way: Way) -> None:
    """One namespace's installation is alone with its two configurations among what belongs to the cluster, under names of its own."""
    cluster_wide = {(each["kind"], each["metadata"]["name"]) for each in _objects(way.overlay) if "namespace" not in each["metadata"]}
    restricted = {
        ("ClusterRole", "dynamo-webhooks-provisioner-dynamo-restricted"),
        ("ClusterRoleBinding", "dynamo-webhooks-provisioner-dynamo-restricted"),
        ("ClusterRole", "dynamo-webhooks-server-dynamo-restricted"),
        ("ClusterRoleBinding", "dynamo-webhooks-server-dynamo-restricted"),
        ("MutatingWebhookConfiguration", "dynamo-webhooks-mutating-dynamo-restricted"),
        ("ValidatingWebhookConfiguration", "dynamo-webhooks-validating-dynamo-restricted"),
    }
    if way.overlay == "namespaced":
        assert cluster_wide == restricted
    else:
        assert len(cluster_wide) == 14
        assert not cluster_wide & restricted


@pytest.mark.parametrize("way", [way for way in WAYS if way.overlay != "namespaced"], ids=lambda way: way.overlay)
def test_a_component_leaves_out_the_guard_of_the_definitions_and_nothing_else(way: Way, tmp_path: Path) -> None:
    whole, without = (
        {key(each) for each in objects} for objects in (_objects(way.overlay), composed(tmp_path, way.overlay, "components/unguarded"))
    )
    assert {kind for kind, _, _ in whole - without} == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert without < whole


def test_the_page_names_your_image_in_every_pod(tmp_path: Path) -> None:
    page, ours = as_written(tmp_path, "install.md")
    [value] = re.findall(r"`--set (controllerManager\.manager\.image\.repository=\S+)`", page)
    pushed = re.findall(r"^podman push (\S+)$", page, re.MULTILINE)
    assert len(pushed) == 1
    for objects in (ours, charted("dynamo-system", value)):
        pods = [each["spec"]["template"]["spec"] for each in of_kind(objects, "Deployment")]
        assert [container["image"] for pod in pods for container in pod["containers"]] == pushed * 3
