"""Upgrades from the release before, by its manifests and its image, beside writes and reads in both versions and the pods of a graph."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.install.test_up import BLOCKS, NAMESPACE
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.graphs import Graph
from tests.node.image import OLDER_COMMIT, OLDER_NAME
from tests.node.installing import CREATE, REMOVE_CHART, REMOVE_OVERLAY, clear, removed
from tests.node.loading import loaded, settle
from tools.release.source import export

# as docs/install.md had it then, with the definitions of operator 1.6
OLDER_KUSTOMIZE: Final = f"""
kubectl apply -f manifests/crds-1.6/
printf 'operator: {{version: 1.6.0}}\\n' >> manifests/base/config.yaml
kubectl apply -k manifests/overlays/self-signed
kubectl -n {NAMESPACE} rollout status deployment --selector app.kubernetes.io/name=dynamo-webhooks
"""
OLDER_HELM: Final = f"""
kubectl apply -f manifests/crds-1.6/
helm install dynamo-webhooks manifests/chart --namespace {NAMESPACE} --create-namespace --wait --set config.operator.version=1.6.0
"""


@pytest.fixture(scope="module")
def older(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Admin]:
    """Makes somebody with a checkout of the release before."""
    cluster.first.import_other(OLDER_NAME)
    source = tmp_path_factory.mktemp("source")
    export(source, OLDER_COMMIT)
    return lambda folder: Admin(cluster.plane, folder, source / "manifests", OLDER_NAME)


def _pods(cluster: Cluster, namespace: str) -> set[tuple[str, int]]:
    """Each pod's name and how often its container was started anew."""
    return {(pod["metadata"]["name"], pod["status"]["containerStatuses"][0]["restartCount"]) for pod in cluster.pods(namespace)}


@pytest.mark.parametrize("way", ["kustomize", "helm"])
def test_an_upgrade_costs_no_request_and_no_pod(cluster: Cluster, older: Callable[[Path], Admin], tmp_path: Path, way: str) -> None:
    clear(cluster)
    before, now = older(tmp_path / "older"), Admin(cluster.plane, tmp_path / "newer")
    with removed(now, REMOVE_CHART if way == "helm" else REMOVE_OVERLAY):
        before.run(OLDER_HELM if way == "helm" else OLDER_KUSTOMIZE)
        graph = Graph(cluster, now)
        graph.apply()
        graph.ready(2)
        pods = _pods(cluster, graph.namespace)
        with loaded(cluster, f"upgrade with {way}") as load:
            now.run(BLOCKS[f"install: {way}"].replace("helm install", "helm upgrade").replace(CREATE, ""))
            settle(cluster, load)
        assert load.failures == []
        graph.ready(2)
        assert _pods(cluster, graph.namespace) == pods
