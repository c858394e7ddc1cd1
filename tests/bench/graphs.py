"""What a graph costs the reconciler and a real API server, of many that come at once, whose Deployments become ready at once."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from dynamo_webhooks.kube.client import Client, connect
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.reflector import Reflector
from dynamo_webhooks.kube.resources import DEPLOYMENTS, resource_of_kind
from tests.bench.table import Table
from tests.cluster.assets.build import build
from tests.cluster.planes import Planes
from tests.cluster.processes import fetched, free_ports
from tests.cluster.reconciling import Reconciled, installed
from tests.footprint import footprint, spent
from tests.reconciler.rendering import component, graph, stored, vllm

SECTION: Final = "Reconciler"
GRAPHS: Final = resource_of_kind("DynamoGraphDeployment", "v1beta1")
FIRST: Final = 10  # graphs that are ready before the others come
IN_NAMESPACE: Final = 100
AT_ONCE: Final = 8  # requests of users, and of who makes Deployments ready
REST_SECONDS: Final = 10.0  # in which the last is written about what is ready
# Addresses for all Services, given as API servers did it until 1.32. Those from 1.33 on count all addresses there are with each that they
# give: at 16,000 Services that is 63 % of what an API server 1.34 does (CPU profile), and grows by the square.
ADDRESSES: Final = ("--service-cluster-ip-range=10.0.0.0/16", "--emulated-version=1.32")
QUOTA: Final = {"ETCD_QUOTA_BACKEND_BYTES": str(8 * 2**30)}  # ten thousand graphs with their history are near etcd's usual 2 GiB
# what is measured of a graph, as it is written, and its goal
COSTS: Final = (
    ("CPU of the reconciler until it is ready", "{:.0f} ms", ""),
    ("CPU of the API server until it is ready", "{:.0f} ms", ""),
    ("calls of the reconciler", "{:.1f}", "24"),
    ("memory of the reconciler at rest", "{:.0f} kB", "90 kB"),
)
MAX_GROWTH: Final = 1.3  # of each, for one of many beside one of few


def crowd(table: Table, numbers: list[int]) -> None:
    """Adds what a graph costs among each number of them, on an API server of its own, and the ratio to the first number."""
    os.environ.update(QUOTA)
    first: list[float] = []
    for number in numbers:
        with (
            tempfile.TemporaryDirectory() as name,
            Planes(build(), Path(name)) as planes,
            installed(planes, Path(name), flags=ADDRESSES) as site,
        ):
            found = asyncio.run(_measure(site, number))
        first = first or found
        for (what, form, goal), value, few in zip(COSTS, found, first, strict=True):
            ratio, aim = (0.0, goal) if found is first else (value / few, f"ratio {MAX_GROWTH:g}")
            table.row(SECTION, f"one of {number:,} graphs: {what}", form.format(value), ratio=ratio, goal=aim)


async def _measure(site: Reconciled, number: int) -> list[float]:
    """What a graph costs of so many."""
    [port] = free_ports(1)
    os.environ["DYNAMO_WEBHOOKS_METRICS_SECURE"] = "false"
    process = site.reconcile(metrics_listen=f"127.0.0.1:{port}")
    spaces = [site.plane.namespace() for _ in range((FIRST + number) // IN_NAMESPACE + 1)]

    def used() -> list[float]:
        families = text_string_to_metric_families(fetched(f"127.0.0.1:{port}", "/metrics")[1])
        calls = sum(each.value for family in families for each in family.samples if each.name == "rest_client_requests_total")
        return [spent(process.pid) * 1e3, spent(site.plane.server.pid) * 1e3, calls, footprint(process.pid) / 1e3]

    client = await connect("crowd", str(site.plane.kubeconfig))
    async with _making_ready(client) as ready:
        await _make(client, range(FIRST), spaces, ready)
        await asyncio.sleep(REST_SECONDS)
        before = used()
        await _make(client, range(FIRST, FIRST + number), spaces, ready)
        then = used()
        await asyncio.sleep(REST_SECONDS)
        after = [*then[:2], *used()[2:]]
    await client.close()
    return [(most - least) / number for least, most in zip(before, after, strict=True)]


async def _make(client: Client, numbers: range, spaces: list[str], ready: asyncio.Queue[str]) -> None:
    """Creates graphs with these numbers, and waits until they are ready."""
    left = iter(numbers)

    async def create() -> None:
        for number in left:
            await client.create(GRAPHS, _numbered(number), spaces[number // IN_NAMESPACE])

    await asyncio.gather(*(create() for _ in range(AT_ONCE)))
    for _ in numbers:
        await ready.get()


@asynccontextmanager
async def _making_ready(client: Client) -> AsyncIterator[asyncio.Queue[str]]:
    """Makes Deployments ready, as controllers and kubelets do, until the end of the block; gives the names of graphs that are."""
    unready: asyncio.Queue[Node] = asyncio.Queue()
    ready: asyncio.Queue[str] = asyncio.Queue()
    known: set[str] = set()

    def hear_deployment(_: Node | None, new: Node | None) -> None:
        if new is not None and new.get("status", {}).get("observedGeneration") != new["metadata"]["generation"]:
            unready.put_nowait(new["metadata"])

    def hear_graph(_: Node | None, new: Node | None) -> None:
        if new is not None and new.get("status", {}).get("state") == "successful" and (name := new["metadata"]["name"]) not in known:
            known.add(name)
            ready.put_nowait(name)

    async def make_ready() -> None:
        while True:
            metadata = await unready.get()
            counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
            available = {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "as many as wanted"}
            patch: Node = {"status": {**counts, "observedGeneration": metadata["generation"], "conditions": [available]}}
            await client.merge_patch(DEPLOYMENTS, metadata["name"], patch, metadata["namespace"], subresource="status")

    deployments, graphs = (Reflector(client, resource, trim=lambda obj: obj.pop("spec")) for resource in (DEPLOYMENTS, GRAPHS))
    deployments.subscribe(hear_deployment)
    graphs.subscribe(hear_graph)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in (deployments.run(), graphs.run(), *(make_ready() for _ in range(AT_ONCE)))]
        yield ready
        for task in tasks:
            task.cancel()


def _numbered(number: int) -> Node:
    """A graph of three components as it is stored after admission, without a namespace."""
    main = {"image": "img:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    workers = (vllm(name, name, replicas=1) for name in ("decode", "prefill"))
    made = stored(graph(component("Frontend", "frontend", main, replicas=1), *workers, name=f"g{number}"))
    del made["metadata"]["namespace"]
    return made
