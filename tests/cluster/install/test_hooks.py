"""The webhook configurations and the CRDs of the manifests at work: what an API server asks our server when it is told to by them.

Services lead nowhere here, so each `clientConfig.service` is rewritten to a URL of the same path; everything else is as it is applied.
"""

import base64
import copy
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.api.kinds import ALPHA, BETA, GROUP
from tests.cluster.admission import COMMAND, Admission, serving, wait_until_asked
from tests.cluster.harness import ControlPlane, Reply, control_plane
from tests.cluster.rendering import MANIFESTS, Node, kustomized, of_kind

CONFIGURATIONS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
# What the schema accepts in each version and a rule refuses, with the field that the refusal names.
WRONG: Final[dict[str, Node]] = {
    ALPHA: {"services": {"w": {"componentType": "worker", "gpuMemoryService": {"enabled": True, "mode": "intraPod"}}}},
    BETA: {"components": [{"name": "w", "type": "worker", "experimental": {"gpuMemoryService": {"mode": "IntraPod"}}}]},
}
ADAPTED: Final[dict[str, Node]] = {
    ALPHA: {"services": {"w": {"componentType": "worker", "scalingAdapter": {"enabled": True}}}},
    BETA: {"components": [{"name": "w", "type": "worker", "scalingAdapter": {}}]},
}


def _configurations(overlay: str) -> list[Node]:
    return of_kind(kustomized(MANIFESTS / "overlays" / overlay), *CONFIGURATIONS)


def _by_url(configuration: Node, admission: Admission) -> Node:
    """The configuration with the server outside the cluster in place of the Service."""
    changed = copy.deepcopy(configuration)
    for entry in changed["webhooks"]:
        path = entry["clientConfig"]["service"]["path"]
        entry["clientConfig"] = {"url": f"{admission.url}{path}", "caBundle": base64.b64encode(admission.ca).decode()}
    return changed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admission]:
    """Our server."""
    with serving(tmp_path_factory.mktemp("serve")) as found:
        yield found


@pytest.fixture(scope="module")
def cluster(assets: Path, server: Admission, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster where the CRDs of the command `crds` and the default configurations are applied, all of them asking our server."""
    home = tmp_path_factory.mktemp("hooks")
    (home / "ca.crt").write_bytes(server.ca)
    flags = ["--url", server.url, "--ca-bundle", str(home / "ca.crt"), "-o", "json"]
    printed = subprocess.run([COMMAND, "crds", *flags], capture_output=True, text=True, check=True).stdout
    with control_plane(assets, home / "plane") as plane:
        plane.install(*json.loads(printed)["items"])
        plane.apply(*(_by_url(each, server) for each in _configurations("self-signed")))
        wait_until_asked(plane, server, "default")
        yield plane


def _graph(version: str, name: str, spec: Node, **metadata: Any) -> Node:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "DynamoGraphDeployment", "metadata": {"name": name, **metadata}, "spec": spec}


def _path(version: str, namespace: str, name: str = "", query: str = "") -> str:
    return f"/apis/{GROUP}/{version}/namespaces/{namespace}/dynamographdeployments{'/' if name else ''}{name}{query}"


def _replicas(reply: Reply) -> int:
    spec = reply.body["spec"]
    found: int = (spec["services"]["w"] if "services" in spec else spec["components"][0])["replicas"]
    return found


@pytest.mark.parametrize("version", [ALPHA, BETA])
def test_replicas_that_an_adapter_owns_survive_an_update_that_leaves_them_out(cluster: ControlPlane, version: str) -> None:
    """The mutating entries of graphs are asked on UPDATE too."""
    namespace = cluster.namespace()
    spec = copy.deepcopy(ADAPTED[version])
    (spec["services"]["w"] if version == ALPHA else spec["components"][0])["replicas"] = 3
    created = cluster.request("POST", _path(version, namespace), _graph(version, "g", spec))
    assert created.status == 201, created.body
    fewer = _graph(version, "g", ADAPTED[version], resourceVersion=created.body["metadata"]["resourceVersion"])
    updated = cluster.request("PUT", _path(version, namespace, "g"), fewer)
    assert (updated.status, _replicas(updated)) == (200, 3), updated.body


@pytest.mark.parametrize("namespace", ["kube-system", "default"])
def test_no_namespace_is_exempt(cluster: ControlPlane, namespace: str) -> None:
    reply = cluster.request("POST", _path(ALPHA, namespace, query="?dryRun=All"), _graph(ALPHA, "g", WRONG[ALPHA]))
    assert reply.status == 422, reply.body


def test_a_restricted_installation_judges_its_namespace_alone(cluster: ControlPlane, server: Admission) -> None:
    """The default's configurations make room for the test, and come back after it."""
    ours, theirs = _configurations("self-signed"), _configurations("namespaced")
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dynamo-restricted"}})
    elsewhere = cluster.namespace()
    _delete(cluster, ours)
    try:
        cluster.apply(*(_by_url(each, server) for each in theirs))
        wait_until_asked(cluster, server, "dynamo-restricted")
        assert cluster.request("POST", _path(ALPHA, elsewhere, query="?dryRun=All"), _graph(ALPHA, "g", WRONG[ALPHA])).status == 201
        assert cluster.request("POST", _path(ALPHA, "dynamo-restricted"), _graph(ALPHA, "g", WRONG[ALPHA])).status == 422
    finally:
        _delete(cluster, theirs)
        cluster.apply(*(_by_url(each, server) for each in ours))
        wait_until_asked(cluster, server, "default")


def _delete(cluster: ControlPlane, configurations: list[Node]) -> None:
    for each in configurations:
        path = f"/apis/admissionregistration.k8s.io/v1/{each['kind'].lower()}s/{each['metadata']['name']}"
        assert cluster.request("DELETE", path).status == 200
