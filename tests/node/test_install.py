"""Each installation by its documented commands: pods become ready, it answers, `doctor` finds nothing, uninstalling leaves nothing."""

import base64
import json
from pathlib import Path
from typing import Final

import pytest
import trustme

from tests.cluster.install.test_up import BLOCKS, NAMESPACE
from tests.cluster.neighbours.test_neighbours_certificates import cert_manager
from tests.cluster.objects import graph
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.installing import REMOVE_OVERLAY, charted, clear, installed, remove_namespace, stand
from tests.node.loading import SERVICE

GRAPHS: Final = "/apis/nvidia.com/{}/namespaces/{}/dynamographdeployments"
RESTRICTED: Final = "dynamo-restricted"
# what a cluster has whether or not it was installed; each is a collection of all namespaces
_COLLECTIONS: Final = (
    *("/api/v1/secrets", "/api/v1/configmaps", "/api/v1/services", "/api/v1/serviceaccounts", "/api/v1/pods", "/apis/apps/v1/deployments"),
    *(f"/apis/rbac.authorization.k8s.io/v1/{each}" for each in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")),
    *(f"/apis/admissionregistration.k8s.io/v1/{each}webhookconfigurations" for each in ("validating", "mutating")),
    *(f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic{each}" for each in ("ies", "ybindings")),
    "/apis/networking.k8s.io/v1/networkpolicies",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/coordination.k8s.io/v1/leases",
)


def _objects(cluster: Cluster) -> set[str]:
    named = ((path, each["metadata"]) for path in _COLLECTIONS for each in cluster.items(path))
    return {f"{path} {metadata.get('namespace', '')}/{metadata['name']}" for path, metadata in named}


def _empty(cluster: Cluster) -> set[str]:
    """Removes what stands, and returns what is left."""
    clear(cluster)
    return _objects(cluster)


def _check(cluster: Cluster, admin: Admin, namespace: str, count: int, where: str = "default") -> None:
    """Refuses, makes and reads a graph in the namespace `where`, and looks at pods, Events and `doctor`."""
    assert cluster.has_ready(namespace, count), cluster.describe_pods()
    alpha, beta = (GRAPHS.format(version, where) for version in ("v1alpha1", "v1beta1"))
    refused = cluster.plane.request("POST", f"{alpha}?dryRun=All", graph(where, {}))
    assert ("spec.services", "FieldValueRequired") in refused.causes(), refused.body
    made = cluster.plane.request("POST", alpha, graph(where, {"w": SERVICE}))
    assert made.status == 201, made.body
    assert [each["spec"]["components"][0]["name"] for each in cluster.items(beta)] == ["w"]
    findings = json.loads(admin.run(f"dynamo-webhooks doctor --namespace {namespace} -o json"))["findings"]
    assert [each for each in findings if each["level"] != "info"] == []
    assert cluster.warnings(namespace) == [], "Events warn"


def _secret() -> str:
    """The command that makes the Secret of somebody who has a certificate."""
    authority = trustme.CA()
    pair = authority.issue_cert(f"dynamo-webhooks.{NAMESPACE}.svc", f"dynamo-webhooks.{NAMESPACE}.svc.cluster.local")
    files = {"tls.crt": pair.cert_chain_pems[0], "tls.key": pair.private_key_pem, "ca.crt": authority.cert_pem}
    data = {name: base64.b64encode(blob.bytes()).decode() for name, blob in files.items()}
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": data}
    named = {**secret, "metadata": {"name": "webhook-server-cert", "namespace": NAMESPACE}}
    return f"kubectl apply -f - <<'EOF'\n{json.dumps(named)}\nEOF\n"


@pytest.mark.parametrize(("overlay", "count"), [("self-signed", 4), ("ha", 7), ("external-certificate", 4)])
def test_an_overlay_is_installed_and_uninstalled(cluster: Cluster, tmp_path: Path, overlay: str, count: int) -> None:
    before = _empty(cluster)
    first = _secret() if overlay == "external-certificate" else ""
    with installed(cluster, tmp_path, f"overlays/{overlay}", first) as admin:
        _check(cluster, admin, NAMESPACE, count)
    assert _objects(cluster) - before == set()


def test_the_chart_is_installed_and_uninstalled(cluster: Cluster, tmp_path: Path) -> None:
    before = _empty(cluster)
    with charted(cluster, tmp_path) as admin:
        _check(cluster, admin, NAMESPACE, 4)
    assert _objects(cluster) - before == set()


def test_an_overlay_for_one_namespace_is_installed_beside_another_and_uninstalled(cluster: Cluster, tmp_path: Path) -> None:
    admin = stand(cluster, tmp_path)
    before = _objects(cluster)
    create = f"kubectl create namespace {RESTRICTED}; kubectl label namespace {RESTRICTED} pod-security.kubernetes.io/enforce=restricted"
    wait = f"kubectl -n {RESTRICTED} rollout status deployment --selector app.kubernetes.io/name=dynamo-webhooks"
    admin.run(f"{create}\nkubectl apply -k manifests/overlays/namespaced\n{wait}")
    _check(cluster, admin, RESTRICTED, 4, RESTRICTED)
    remove = BLOCKS["uninstall: keep the objects"].partition(REMOVE_OVERLAY)[2].partition("\n")[2]
    admin.run(f"kubectl -n {RESTRICTED} delete dgd --all\nkubectl delete -k manifests/overlays/namespaced")
    claim = f"kubectl -n {RESTRICTED} delete --ignore-not-found lease/dynamo-operator-namespace-scope"
    admin.run(remove.replace(NAMESPACE, RESTRICTED) + claim)
    remove_namespace(admin, RESTRICTED)
    assert _objects(cluster) - before == set()


def test_the_overlay_for_cert_manager_is_installed_and_uninstalled(cluster: Cluster, tmp_path: Path) -> None:
    with cert_manager(cluster.plane):
        before = _empty(cluster)
        with installed(cluster, tmp_path, "overlays/cert-manager") as admin:
            _check(cluster, admin, NAMESPACE, 4)
        assert _objects(cluster) - before == set()
