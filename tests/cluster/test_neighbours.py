"""Graphs among real neighbours: LeaderWorkerSets, kube-scheduler, nodes with GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.neighbours import GPUS, SETS, left_over, neighbourhood
from tests.cluster.reconciling import GRAPHS, PODS, Reconciled
from tests.reconciler.rendering import component, graph, vllm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Node = dict[str, Any]


@pytest.fixture(scope="module")
def site(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconciled]:
    with neighbourhood(assets, tmp_path_factory.mktemp("neighbours")) as found:
        yield found


def _multinode(namespace: str, nodes: int = 2) -> Node:
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
    made = graph(frontend, vllm("decode", "decode", gpus="8", replicas=1, multinode={"nodeCount": nodes}))
    made["metadata"]["namespace"] = namespace
    return made


def test_lws_switched_on_is_enough_and_volcano_need_not_be_served(site: Reconciled) -> None:
    namespace = site.plane.namespace()
    site.plane.apply(_multinode(namespace))
    site.ready(namespace)
    assert len(site.names(SETS, namespace)) == 1
    pods = site.plane.request("GET", PODS.format(namespace)).body["items"]
    assert len(pods) == 3
    assert all(one["spec"].get("nodeName") for one in pods)
    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200
    site.until(lambda: not left_over(site, namespace), "everything being collected")


def test_a_graph_whose_workers_find_no_node_is_not_ready_and_says_so(site: Reconciled) -> None:
    """LeaderWorkerSets count a worker as soon as its pod is made."""
    namespace = site.plane.namespace()
    frontend = component("Frontend", "frontend", {"image": "img:1"}, replicas=1)
    made = graph(frontend, vllm("decode", "decode", gpus=str(GPUS), replicas=1, multinode={"nodeCount": 5}))
    made["metadata"]["namespace"] = namespace
    site.plane.apply(made)

    def message() -> str:
        conditions = site.get(GRAPHS, namespace, "g").get("status", {}).get("conditions", [])
        assert site.state(namespace) in ("", "pending", "initializing"), conditions
        return next((str(one["message"]) for one in conditions if one["type"] == "Ready"), "")

    site.until(lambda: "Unschedulable: 0/4 nodes are available" in message(), "the graph saying that a worker finds no node")
    [name] = site.names(SETS, namespace)
    assert site.get(SETS, namespace, name)["status"]["readyReplicas"] == 1
    assert site.plane.request("DELETE", f"{GRAPHS.format(namespace)}/g").status == 200
    site.until(lambda: not left_over(site, namespace), "everything being collected")
