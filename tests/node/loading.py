"""Writes, reads and lists in both versions at a fixed rate beside what a test does, and what they cost."""

import contextlib
from collections.abc import Iterator
from typing import Final

from tests.cluster.install.test_up import NAMESPACE
from tests.cluster.load import Load
from tests.node.cluster import Cluster

RATE: Final = 20.0  # a second
OBJECTS: Final = 3  # which stay until the installation goes
MORE: Final = 40  # requests before a fault, and after all is well again
MAX_SHOWN_FAILURES: Final = 5
# no worker is wanted, so that none is started
SERVICE: Final = {"replicas": 0, "extraPodSpec": {"mainContainer": {"image": "example:1.6.0"}}}


@contextlib.contextmanager
def loaded(cluster: Cluster, what: str) -> Iterator[Load]:
    """Runs them until the end of the block, and then prints figures. What failed is the test's to look at."""
    load = Load(cluster.plane, cluster.plane.namespace(), {"w": SERVICE}, RATE, OBJECTS)
    load.start()
    try:
        load.wait_for(MORE)
        yield load
    finally:
        load.stop()
        print(f"{what}: {load.done} requests, {len(load.failures)} failed, the longest took {load.longest:.2f} s")
        for failure in load.failures[:MAX_SHOWN_FAILURES]:
            print(f"failed: {failure.what}: {failure.said[:300]}")


def settle(cluster: Cluster, load: Load, pods: int = 4) -> None:
    """Waits until all pods are ready, and some requests longer."""
    cluster.until(lambda: cluster.has_ready(NAMESPACE, pods), "all pods being ready")
    load.wait_for(MORE)
