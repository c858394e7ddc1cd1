"""An installation whose reconciler may act in two namespaces: it serves these, and has no rights in any other."""

from collections.abc import Iterator
from typing import Final

import pytest

from dynamo_webhooks.api.kinds import BETA
from tests.cluster.objects import POD, make, path_of
from tests.cluster.planes import Planes
from tests.cluster.reconciling import ACCOUNT, DEPLOYMENTS, GRAPHS, NAMESPACE, Reconciled, reconciled
from tests.cluster.rendering import charted, of_kind

ALLOWED: Final = ("one", "two")
OTHER: Final = "three"
USER: Final = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"


@pytest.fixture(scope="module")
def site(planes: Planes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    objects = charted(NAMESPACE, f"namespace.allowed={{{','.join(ALLOWED)}}}")
    bound = [each["metadata"]["name"] for each in of_kind(objects, "ClusterRoleBinding")]
    assert not [name for name in bound if "reconciler" in name]
    with reconciled(planes, tmp_path_factory.mktemp("allowed"), objects=objects, namespaces=(*ALLOWED, OTHER)) as cluster:
        yield cluster


def _create(site: Reconciled, namespace: str, name: str) -> None:
    component = {"name": "w", "type": "worker", "replicas": 1, "podTemplate": POD}
    graph = make("DGD", BETA, namespace, {"components": [component]}, name=name)
    assert site.plane.request("POST", path_of(graph), graph).status == 201


def test_graphs_of_the_named_namespaces_run_and_no_others(site: Reconciled) -> None:
    _create(site, OTHER, "g")
    for namespace in ALLOWED:
        _create(site, namespace, "g")
    for namespace in ALLOWED:
        site.ready(namespace)
        assert site.names(DEPLOYMENTS, namespace)
    # what is made later in a named namespace is seen, too, and by then the other graph would have been
    _create(site, ALLOWED[0], "later")
    site.ready(ALLOWED[0], "later")
    assert "status" not in site.get(GRAPHS, OTHER, "g")
    assert site.names(DEPLOYMENTS, OTHER) == set()
