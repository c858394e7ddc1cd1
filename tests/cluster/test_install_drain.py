"""A node is drained: the eviction of servers is let through one by one, whether there are two of them or one."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.processes import wait_until
from tests.cluster.reconciling import Pods
from tests.cluster.rendering import MANIFESTS, Node, kustomized, of_kind

NAMESPACE: Final = "dynamo-system"
SERVERS: Final = "app.kubernetes.io%2Fcomponent%3Dserver"


@pytest.fixture(scope="module")
def cluster(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Servers as we ship them, whose pods become ready by nobody's serving, and their budget."""
    with control_plane(assets, tmp_path_factory.mktemp("drain"), controllers=True) as plane, Pods(plane):
        objects = kustomized(MANIFESTS / "overlays" / "self-signed")
        plane.apply(*of_kind(objects, "Namespace"))
        [server] = [each for each in of_kind(objects, "Deployment") if each["metadata"]["name"].endswith("-server")]
        plane.apply(server, *of_kind(objects, "PodDisruptionBudget"))
        yield plane


def _pods(plane: ControlPlane) -> list[Node]:
    """Server pods that are not on their way out."""
    items = plane.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={SERVERS}").body["items"]
    return [each for each in items if "deletionTimestamp" not in each["metadata"]]


def _whole(plane: ControlPlane, replicas: int) -> bool:
    """Whether so many servers are ready, and the budget knows it."""
    [budget] = plane.request("GET", f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets").body["items"]
    status = budget.get("status", {})
    current = status.get("observedGeneration") == budget["metadata"]["generation"] and status.get("expectedPods") == replicas
    return bool(current) and status.get("disruptionsAllowed") == 1 and status.get("currentHealthy") == replicas == len(_pods(plane))


def _evicted(plane: ControlPlane, name: str) -> bool:
    """One attempt; 429 means: try again later."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
    reply = plane.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/eviction", body)
    assert reply.status in (201, 429), reply.body
    return reply.status == 201


@pytest.mark.parametrize("replicas", [2, 1])
def test_a_drain_is_not_blocked(cluster: ControlPlane, replicas: int) -> None:
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/dynamo-webhooks-server/scale"
    scaled = cluster.request("PATCH", path, {"spec": {"replicas": replicas}}, kind="application/merge-patch+json")
    assert scaled.status == 200, scaled.body
    wait_until(partial(_whole, cluster, replicas), "all servers being ready", cluster.server)
    for pod in _pods(cluster):
        wait_until(partial(_evicted, cluster, pod["metadata"]["name"]), "its eviction", cluster.server)
        # as the kubelet does when the process has ended
        done = cluster.kubectl(
            "delete", "pod", pod["metadata"]["name"], "-n", NAMESPACE, "--force", "--grace-period=0", "--ignore-not-found"
        )
        assert done.code == 0, done.stderr
        wait_until(partial(_whole, cluster, replicas), "its successor being ready", cluster.server)
