"""Failover between pods on nodes: a played Grove with real kube-scheduler, and kwok's kubelets, which make no ended pod run again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cluster.grove import INDEX_LABEL
from tests.cluster.neighbours import neighbourhood
from tests.cluster.reconciling import GRAPHS, PODS, Reconciled
from tests.reconciler.rendering import graph, vllm

Node = dict[str, Any]
FAILOVER: Final[Node] = {"gpuMemoryService": {"mode": "InterPod"}, "failover": {"mode": "InterPod", "numShadows": 1}}


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    with neighbourhood(assets, tmp_path_factory.mktemp("grove"), grove=True) as found:
        yield found


def _engines(site: Reconciled, namespace: str) -> dict[tuple[str, str], Node]:
    """The engines by rank and group."""
    selected = f"{PODS.format(namespace)}?labelSelector=nvidia.com/dynamo-failover-engine-group-member%3Dtrue"
    found = site.plane.request("GET", selected).body["items"]
    return {(one["metadata"]["labels"]["grove.io/podclique"], one["metadata"]["labels"][INDEX_LABEL]): one for one in found}


def test_a_group_whose_engine_ends_is_placed_and_runs_anew(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    made = graph(vllm("w", experimental=FAILOVER, multinode={"nodeCount": 2}), backendFramework="vllm")
    made["metadata"]["namespace"] = namespace
    site.plane.apply(made)
    site.ready(namespace)
    before = _engines(site, namespace)
    assert len(before) == 4
    assert all(one["spec"].get("nodeName") for one in before.values())
    ended = next(one["metadata"]["name"] for place, one in before.items() if place[1] == "0")
    site.pods.end(namespace, ended)

    def renewed() -> bool:
        now = _engines(site, namespace)
        new = {place for place, one in now.items() if one["metadata"]["uid"] != before[place]["metadata"]["uid"]}
        return len(now) == 4 and new == {place for place in before if place[1] == "0"}

    site.until(renewed, "the group being made anew")
    site.ready(namespace)
    assert all(one["spec"].get("nodeName") for one in _engines(site, namespace).values())
    site.told(namespace, "g", ("Warning", "FailoverCascade", f"pod {ended} ended: Failed: Error; deleted "))
    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200
