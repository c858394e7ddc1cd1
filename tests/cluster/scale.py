"""Measures what a graph costs the reconciler and a real API server: graphs come at once, and their Deployments become ready at once.

`python -m tests.cluster.scale 1000 10000` compares one of many with one of few; with `--write` the table goes into docs/bench.md.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from dynamo_webhooks.kube.client import Client, connect
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.reflector import Reflector
from dynamo_webhooks.kube.resources import DEPLOYMENTS, resource_of_kind
from dynamo_webhooks.reconciler.engine.cache import Cache
from dynamo_webhooks.reconciler.graph.controller import GraphController
from tests.bench.table import Table
from tests.cluster.assets.build import build
from tests.cluster.planes import Planes
from tests.cluster.processes import fetched, free_ports, wait_until
from tests.cluster.reconciling import Reconciled, installed
from tests.footprint import footprint, spent
from tests.reconciler.rendering import component, graph, stored, vllm

SECTION: Final = "Reconciler"
GRAPHS: Final = resource_of_kind("DynamoGraphDeployment", "v1beta1")
FIRST: Final = 10  # graphs that are ready before the others come
IN_NAMESPACE: Final = 100
AT_ONCE: Final = 8  # requests of users, and of who makes Deployments ready
EDITS: Final = 30  # of graphs, one after the other
SETTLE_SECONDS: Final = 10.0  # in which the last is written about what is ready
REST_SECONDS: Final = 60.0
# Addresses for all Services, given as API servers did it until 1.32. Those from 1.33 on count all addresses there are with each that they
# give: at 16,000 Services that is 63 % of what an API server 1.34 does (CPU profile), and grows by the square.
ADDRESSES: Final = ("--service-cluster-ip-range=10.0.0.0/16", "--emulated-version=1.32")
# ten thousand graphs with their history are near etcd's usual 2 GiB, and more in an API server, which would only collect garbage then
ROOM: Final = {"ETCD_QUOTA_BACKEND_BYTES": str(8 * 2**30), "GOMEMLIMIT": "8GiB"}
COSTS: Final = (  # of a graph, as they are written
    ("CPU until it is ready", "{:.0f} ms"),
    ("calls until it is ready", "{:.1f}"),
    ("memory at rest", "{:.0f} kB"),
    ("time from an edit until its Deployment is written", "{:.0f} ms"),
    ("CPU of an edit until it is ready again", "{:.0f} ms"),
    ("CPU of a minute at rest", "{:.2f} ms"),
    ("CPU of one list of all graphs", "{:.2f} ms"),
    ("time from a restart until the Deployment of an edit is written", "{:.1f} ms"),
    ("CPU from a restart until the Deployment of an edit is written", "{:.1f} ms"),
    ("CPU of the passes after it, which find it and its components unchanged", "{:.1f} ms"),
)
MAX_GROWTH: Final = 1.3  # of each, for one of many beside one of few


class Costs(NamedTuple):
    """What was measured once, for all graphs or edits together."""

    ours: float
    beside: float = 0.0  # of the API server
    shares: int = 1

    @property
    def share(self) -> float:
        """What one graph or edit cost."""
        return self.ours / self.shares

    def show(self, form: str) -> str:
        """The share as the page has it, with that of the API server."""
        return form.format(self.share) + (f" ({form.format(self.beside / self.shares)})" if self.beside else "")


def main() -> None:
    """Measures one of few graphs and one of many, each on an API server of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.scale")
    parser.add_argument("numbers", type=int, nargs=2, metavar=("FEW", "MANY"), help="graphs at once")
    parser.add_argument("--write", action="store_true", help="write docs/bench.md")
    options = parser.parse_args()
    os.environ.update(ROOM)
    few_graphs, many_graphs = options.numbers
    table = Table(SECTION, f"| what | one of {few_graphs:,} | one of {many_graphs:,} | ratio | goal |")
    for (what, form), few, many in zip(COSTS, _measure_apart(few_graphs), _measure_apart(many_graphs), strict=True):
        table.row(what, few.show(form), many.show(form), many.share / few.share, f"{MAX_GROWTH:g}")
    if options.write:
        table.write()


def _measure_apart(number: int) -> list[Costs]:
    with (
        tempfile.TemporaryDirectory() as name,
        Planes(build(), Path(name)) as planes,
        installed(planes, Path(name), flags=ADDRESSES) as site,
    ):
        return asyncio.run(_measure(site, number))


async def _measure(site: Reconciled, number: int) -> list[Costs]:
    """What so many graphs cost the reconciler, and the API server beside it."""
    [port] = free_ports(1)
    os.environ["DYNAMO_WEBHOOKS_METRICS_SECURE"] = "false"
    site.reconcile(metrics_listen=f"127.0.0.1:{port}")
    spaces = [site.plane.namespace() for _ in range((FIRST + number) // IN_NAMESPACE + 1)]

    def read(metric: str) -> float:
        families = text_string_to_metric_families(fetched(f"127.0.0.1:{port}", "/metrics")[1])
        return sum(each.value for family in families for each in family.samples if each.name == metric)

    def used() -> tuple[float, float]:
        return read("rest_client_requests_total"), footprint(site.processes[-1].pid) / 1e3

    async def cost(step: Awaitable[None], shares: int) -> Costs:
        pids = site.processes[-1].pid, site.plane.server.pid
        before = [spent(pid) for pid in pids]
        await step
        ours, beside = (1e3 * (spent(pid) - least) for pid, least in zip(pids, before, strict=True))
        return Costs(ours, beside, shares)

    async def edit(number: int) -> None:
        while not written.empty():
            written.get_nowait()
        step: Node = {"op": "replace", "path": "/spec/components/0/podTemplate/spec/containers/0/image", "value": f"img:{time.monotonic()}"}
        await client.json_patch(GRAPHS, f"g{number}", [step], spaces[number // IN_NAMESPACE])

    async def follow(number: int) -> None:
        began = time.monotonic()
        while await written.get() != f"g{number}-frontend":
            pass
        waited.append(1e3 * (time.monotonic() - began))

    async def edit_some() -> None:
        for graph_number in range(EDITS):
            await edit(graph_number)
            await follow(graph_number)
        await asyncio.sleep(SETTLE_SECONDS)

    async def pass_over_all() -> None:
        await asyncio.to_thread(wait_until, lambda: not read("dynamo_webhooks_reconciler_queue_depth"), "an empty queue", *site.processes)

    waited: list[float] = []
    client = await connect("crowd", str(site.plane.kubeconfig))
    async with _making_ready(client) as (ready, written):
        await _make(client, range(FIRST), spaces, ready)
        await asyncio.sleep(SETTLE_SECONDS)
        before = used()
        costs = [await cost(_make(client, range(FIRST, FIRST + number), spaces, ready), number)]
        await asyncio.sleep(SETTLE_SECONDS)
        costs += [Costs(most - least, shares=number) for least, most in zip(before, used(), strict=True)]
        edited = await cost(edit_some(), EDITS)
        costs += [Costs(statistics.median(waited)), edited, await cost(asyncio.sleep(REST_SECONDS), number)]
        costs.append(await _list(client, site.plane.server.pid, number))
        site.processes.pop().stop()
        await edit(0)
        site.reconcile(metrics_listen=f"127.0.0.1:{port}")
        restarted = await cost(follow(0), number)
        costs += [Costs(waited[-1], shares=number), restarted, await cost(pass_over_all(), number)]
    await client.close()
    return costs


async def _list(client: Client, server: int, number: int) -> Costs:
    """What it costs to list all graphs again, of which none has changed."""
    cache, watch = Cache(client, lambda _: None), GraphController.watches[0]
    reflector = cache._selected(watch, "", labels="", fields="")
    reflector.subscribe(partial(cache._on_event, watch))
    await reflector._list()
    ours, beside = time.process_time(), spent(server)
    await reflector._list()
    return Costs(1e3 * (time.process_time() - ours), 1e3 * (spent(server) - beside), number)


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
async def _making_ready(client: Client) -> AsyncIterator[tuple[asyncio.Queue[str], asyncio.Queue[str]]]:
    """Makes Deployments ready, as controllers and kubelets do, until the end of the block.

    Gives the names of graphs that have become ready, and those of Deployments that have been written.
    """
    unready: asyncio.Queue[Node] = asyncio.Queue()
    ready: asyncio.Queue[str] = asyncio.Queue()
    written: asyncio.Queue[str] = asyncio.Queue()
    known: set[str] = set()

    def hear_deployment(_: Node | None, new: Node | None) -> None:
        if new is not None and new.get("status", {}).get("observedGeneration") != new["metadata"]["generation"]:
            unready.put_nowait(new["metadata"])
            written.put_nowait(new["metadata"]["name"])

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
        yield ready, written
        for task in tasks:
            task.cancel()


def _numbered(number: int) -> Node:
    """A graph of three components as it is stored after admission, without a namespace."""
    main = {"image": "img:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    workers = (vllm(name, name, replicas=1) for name in ("decode", "prefill"))
    made = stored(graph(component("Frontend", "frontend", main, replicas=1), *workers, name=f"g{number}"))
    del made["metadata"]["namespace"]
    return made


if __name__ == "__main__":
    main()
