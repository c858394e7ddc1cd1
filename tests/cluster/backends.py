"""The two servers that are asked the same: the one in memory, and a real one. The questions are in test_kube.py and test_kube_parts.py."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import pytest

from dynamo_webhooks.kube.protocol import Cluster, Node
from tests.cluster.harness import USER, ControlPlane
from tests.kube.memory import MemoryCluster
from tests.kube.storage import Storage

PATIENCE: Final = 60.0  # seconds for something that happens at once unless the machine is very busy


@dataclass
class Backend:
    """A server with an admin's client and that of somebody who may not read Secrets."""

    cluster: Cluster
    author: Cluster
    new_namespace: Callable[[], str]
    too_old: Callable[[], Awaitable[str]]  # a resourceVersion of graphs from before what the server remembers
    namespace: str = field(init=False)

    def __post_init__(self) -> None:
        self.namespace = self.new_namespace()

    def config(self, name: str = "a", data: Node | None = None, **metadata: Any) -> Node:
        metadata = {"name": name, "namespace": self.namespace, **metadata}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "1"} if data is None else data}


def _memory() -> Backend:
    storage, names = Storage(), count(1)
    served = {"resource.k8s.io": frozenset({"v1"})}
    cluster, author = (MemoryCluster(name, storage=storage, served=served) for name in ("admin", "author"))
    for plural in ("secrets", "resourceclaimtemplates"):
        author.denied |= {(verb, plural) for verb in ("get", "list", "watch", "create", "update", "patch", "delete")}

    async def too_old() -> str:
        await cluster.forget()
        return "1"

    return Backend(cluster, author, lambda: f"test-{next(names)}", too_old)


async def _ancient() -> str:
    return "1"  # older than the kind, hence than everything that its watch cache has ever held


@pytest.fixture(params=["memory", "real"])
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    if request.param == "memory":
        yield _memory()
        return
    from dynamo_webhooks.kube.client import connect

    plane: ControlPlane = request.getfixturevalue("alpha")
    admin, author = await connect("admin", str(plane.kubeconfig)), await connect("author", str(plane.kubeconfig), USER)
    try:
        yield Backend(admin, author, plane.namespace, _ancient)
    finally:
        await admin.close()
        await author.close()
