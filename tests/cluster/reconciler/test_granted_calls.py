"""The rights of the reconciler are what it calls: an audit log of a real API server is held against the grants, in both directions."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of
from tests.cluster.auditing import Call, audit_flags, calls, read_calls
from tests.cluster.definitions import install
from tests.cluster.harness import controllers
from tests.cluster.install.grants import GRANTS
from tests.cluster.objects import path_of
from tests.cluster.planes import Planes
from tests.cluster.reconciling import ACCOUNT, COMPONENTS, DEPLOYMENTS, GRAPHS, NAMESPACE, PODS, Reconciled, installed

Node = dict[str, Any]
USER: Final = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
_READ: Final = ("get", "list", "watch")
_OWN: Final = (*_READ, "create", "patch", "delete")
_RBAC: Final = "rbac.authorization.k8s.io"
_NOTED: Final = ("dynamocheckpoints", "dynamographdeploymentrequests", "dynamomodels")
_OWNERS: Final = ("dynamographdeployments", "dynamocomponentdeployments", "dynamographdeploymentscalingadapters")
# what is granted, and asked for by no call of this scene: why
OTHERWISE: Final[tuple[tuple[str, str, tuple[str, ...], str], ...]] = (
    ("rbac.authorization.k8s.io", "clusterroles", ("bind",), "looked at by the API server when a binding is written"),
    *(("nvidia.com", f"{kind}/finalizers", ("update",), "looked at when an owner reference blocks deletion") for kind in _OWNERS),
    ("", "endpoints", _READ, "passed on to pods"),
    ("discovery.k8s.io", "endpointslices", _READ, "passed on to pods"),
    ("nvidia.com", "dynamoworkermetadatas", (*_READ, "create", "update", "patch", "delete"), "passed on to pods"),
    ("", "pods", ("get",), "passed on to pods"),
    ("", "configmaps", _OWN, "for endpoint pickers, whose API is not served here"),
    ("inference.networking.k8s.io", "inferencepools", _OWN, "the same"),
    # calls of the code that this scene doesn't need
    ("", "pods", ("list", "watch"), "pods of snapshots and of Grove, whose APIs are not served here, and passed on to pods"),
    (
        "nvidia.com",
        "dynamographdeployments",
        ("get", "patch"),
        "annotations and finalizers of graphs that move or wait (graph/reconcile.py)",
    ),
    *(
        ("apps", "deployments", (verb,), "engine/write.py, for orphans of a component and for what it renders no more")
        for verb in ("get", "delete")
    ),
    *(
        ("", kind, ("delete",), "engine/write.py: what is rendered no more while its owner stays")
        for kind in ("services", "serviceaccounts")
    ),
    *((_RBAC, kind, ("delete",), "the same") for kind in ("roles", "rolebindings")),
    ("", "services", ("get",), "engine/write.py, for orphans"),
    ("networking.k8s.io", "ingresses", ("get",), "the same"),
    *(("nvidia.com", f"{kind}/status", ("patch",), "objects of kinds that nobody acts on") for kind in _NOTED),
)


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    home = tmp_path_factory.mktemp("granted")
    with installed(planes, home, namespaces=("tenant",), flags=audit_flags(home, USER)) as scene, controllers(scene.plane), scene.pods:
        install(scene.plane, *(crd(kind, versions=["v1alpha1"], line=Line.V1_2) for kind in ("DynamoCheckpoint", "DynamoModel")))
        install(scene.plane, crd("DynamoGraphDeploymentRequest", versions=["v1beta1"], line=Line.V1_2))
        scene.reconcile()
        yield scene


def _pod(**more: Any) -> Node:
    return {"mainContainer": {"image": "example/vllm:1.2.0"}, **more}


def _graph(**services: Node) -> Node:
    """A graph as an author of v1alpha1 writes it, in the stored version."""
    ingress = {"enabled": True, "host": "chat.example.com", "ingressControllerClassName": "nginx"}
    claim = {"name": "models", "create": True, "storageClass": "shared", "size": "1Gi", "volumeAccessMode": "ReadWriteMany"}
    written = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g", "namespace": "tenant"},
        "spec": {
            "pvcs": [claim],
            "services": {"Frontend": {"componentType": "frontend", "ingress": ingress, "extraPodSpec": _pod()}, **services},
        },
    }
    return convert(kind_of("DynamoGraphDeployment", Line.V1_2), written, "v1beta1").object


def _delete(site: Reconciled, *more: str) -> None:
    site.plane.kubectl("delete", "dynamographdeployment/g", "-n", "tenant", *more).done()


def _scene(site: Reconciled) -> None:
    """A graph with all sorts of children is made, orphaned, taken up again, reduced and deleted; a model is told that nobody acts."""
    worker = {"componentType": "worker", "replicas": 1, "scalingAdapter": {"enabled": True}, "extraPodSpec": _pod()}
    planner = {"componentType": "planner", "extraPodSpec": _pod()}
    shared = {
        "componentType": "worker",
        "extraPodSpec": _pod(),
        "resources": {"limits": {"gpu": "1"}},
        "gpuMemoryService": {"enabled": True},
    }
    whole = _graph(Worker=worker, Planner=planner, Shared=shared)
    model = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": "m", "namespace": "tenant"}}
    site.plane.apply({**model, "spec": {"modelName": "m", "baseModelName": "b"}})
    request = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "metadata": {"name": "r", "namespace": "tenant"}}
    site.plane.apply({**request, "spec": {"model": "m", "backend": "vllm", "image": "example/profiler:1.2.0"}})
    site.pods.held.add("g-frontend")
    assert site.plane.request("POST", path_of(whole), whole).status == 201
    site.until(lambda: bool(site.names(PODS, "tenant")), "pods of the graph")
    site.pods.held.clear()
    site.ready("tenant")
    _delete(site, "--cascade=orphan")
    assert site.plane.request("POST", path_of(whole), whole).status == 201
    site.ready("tenant")
    reduced = _graph()
    del reduced["metadata"]["annotations"]
    current = site.get(GRAPHS, "tenant", "g")
    current["spec"], current["metadata"]["annotations"] = reduced["spec"], {}
    assert site.plane.request("PUT", f"{path_of(whole)}/g", current).status == 200
    site.until(lambda: len(site.names(COMPONENTS, "tenant")) == 1, "the other components being deleted")
    site.ready("tenant")
    _delete(site)
    site.until(lambda: not site.names(DEPLOYMENTS, "tenant"), "the graph's children being deleted")


def test_every_right_is_used_and_none_is_missing(site: Reconciled) -> None:
    _scene(site)
    granted = set[Call]().union(*(calls(grant.group, grant.resource, grant.verbs) for grant in GRANTS if grant.account == "reconciler"))
    done, refused = read_calls(site.home, USER)
    assert refused == set()
    assert done - granted == {("create", "authorization.k8s.io", "selfsubjectaccessreviews")}, "which everybody may"
    otherwise = set[Call]().union(*(calls(*row[:3]) for row in OTHERWISE))
    lacking = sorted(granted - done - otherwise, key=lambda call: (call.resource, call.verb))
    assert not lacking, "\n".join(map(str, lacking))
    assert otherwise <= granted, "the table names what isn't granted"
