"""`dynamo-webhooks up` beside a node, by docs/try.md: a graph runs, outlives the process that is killed, and goes with the next one."""

import os
import signal
import time
from pathlib import Path

from tests.cluster.objects import graph as alpha
from tests.cluster.trying import trying
from tests.node.admin import Admin
from tests.node.cluster import Cluster
from tests.node.graphs import GRAPHS, Graph
from tests.node.installing import clear


def test_a_graph_outlives_up_if_it_is_killed_and_goes_with_it_if_it_is_stopped(cluster: Cluster, tmp_path: Path) -> None:
    clear(cluster)
    graph, begin = Graph(cluster, Admin(cluster.plane, tmp_path / "admin")), time.monotonic()
    with trying(cluster.plane, tmp_path / "first") as process:
        ready = time.monotonic()
        graph.apply()
        workers, running = graph.ready(2), time.monotonic()
        process.kill()
    path = GRAPHS.format(graph.namespace)
    refused = cluster.plane.request("POST", path.replace("v1beta1", "v1alpha1"), alpha(graph.namespace, {}))
    assert (refused.status, "failed calling webhook" in refused.body["message"]) == (500, True), refused.body
    with trying(cluster.plane, tmp_path / "second") as process:
        assert graph.ready(2) == workers, "who takes over has replaced pods"
        stopped = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        cluster.until(lambda: process.ended() is not None, "the end of `up`")
    assert process.ended() == 0, process.text()
    cluster.until(lambda: not cluster.items(f"/api/v1/namespaces/{graph.namespace}/pods"), "the pods being gone")
    gone = time.monotonic()
    print(
        f"up: ready after {ready - begin:.1f} s, its graph after {running - ready:.1f} s, nothing left {gone - stopped:.1f} s after Ctrl-C"
    )
