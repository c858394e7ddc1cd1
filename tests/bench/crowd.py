"""A cluster with a reconciler and many graphs, without kubelets: whoever makes Deployments ready at once, and what calls and edits cost."""

import asyncio
import time
from collections import Counter
from typing import Any, Final, TypeAlias

from prometheus_client.parser import text_string_to_metric_families as families

from dynamo_webhooks.kube.client import Client
from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.reflector import Reflector
from dynamo_webhooks.kube.resources import DEPLOYMENTS, Resource, resource_of_kind
from tests.bench.footprint import footprint, spent
from tests.cluster.harness import ControlPlane
from tests.cluster.processes import Process, fetched, free_ports
from tests.cluster.reconciling import Reconciled
from tests.reconciler.rendering import component, graph, stored, vllm

Calls: TypeAlias = "Counter[tuple[str, str, str]]"  # by verb, resource and subresource
GRAPHS: Final = resource_of_kind("DynamoGraphDeployment", "v1beta1")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
TOGETHER: Final = 100  # graphs in a namespace
AT_ONCE: Final = 8  # requests of users, and of who makes Deployments ready
COMPONENTS: Final = 3
WRITES: Final = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE"})
IGNORED: Final = frozenset({"leases", "namespaces", "selfsubjectaccessreviews"})  # not about graphs
GROUPS: Final = frozenset({"", "apps", "batch", "nvidia.com", "rbac.authorization.k8s.io", "networking.k8s.io", "resource.k8s.io"})


def served(plane: ControlPlane) -> Calls:
    """What an API server has answered."""
    found: Calls = Counter()
    for line in plane.request("GET", "/metrics").body["text"].splitlines():
        if line.startswith("apiserver_request_total{"):
            labels = dict(part.split("=", 1) for part in line[line.index("{") + 1 : line.rindex("}")].replace('"', "").split(","))
            if labels["group"] in GROUPS or labels["resource"] == "leases":
                found[labels["verb"], labels["resource"], labels["subresource"]] += int(float(line.rpartition(" ")[2]))
    return found


class Crowd:
    """Makes graphs, makes their Deployments ready, and looks at what comes of them."""

    def __init__(self, site: Reconciled, client: Client) -> None:
        self.site, self.client = site, client
        self.ready: set[tuple[str, str]] = set()
        self._deployments = Reflector(client, DEPLOYMENTS, trim=_trim)
        self._graphs = Reflector(client, GRAPHS, trim=_trim)
        self._made: asyncio.Queue[Node] = asyncio.Queue()
        self._awaited: dict[tuple[str, str, int], asyncio.Event] = {}  # namespace, Deployment without its generation, replicas
        self._deployments.subscribe(self._hear_deployment)
        self._graphs.subscribe(self._hear_graph)
        self._tasks = [asyncio.ensure_future(each.run()) for each in (self._deployments, self._graphs)]
        self._tasks += [asyncio.ensure_future(self._play()) for _ in range(AT_ONCE)]
        [self.port] = free_ports(1)

    async def close(self) -> None:
        """Plays no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # the reconciler

    async def start(self) -> Process:
        """Starts a reconciler with plain metrics; returns when it leads."""
        flags = ("--metrics-listen", f"127.0.0.1:{self.port}")
        process = self.site.reconcile(*flags, DYNAMO_WEBHOOKS_METRICS_SECURE="false")
        while not await self._leads():
            assert process.ended() is None, process.tail()
            await asyncio.sleep(0.05)
        return process

    async def roll(self) -> float:
        """Rolls the reconciler out as its Deployment does; seconds from the end of the old one until the new one has acted on an edit."""
        old = self.site.processes.pop()
        self.port, probes = free_ports(2)
        flags = ("--metrics-listen", f"127.0.0.1:{self.port}", "--probe-listen", f"127.0.0.1:{probes}")
        process = self.site.reconcile(*flags, DYNAMO_WEBHOOKS_METRICS_SECURE="false")
        while (await asyncio.to_thread(fetched, f"127.0.0.1:{probes}", "/readyz"))[0] != 200:
            assert process.ended() is None, process.tail()
            await asyncio.sleep(0.1)
        began = time.monotonic()
        await asyncio.gather(asyncio.to_thread(old.stop), self.edit(0, 98))
        return time.monotonic() - began

    async def calls(self) -> int:
        """Requests of the reconciler so far, but for those about Leases."""
        text = await asyncio.to_thread(self._metrics)
        sent = sum(each.value for family in families(text) for each in family.samples if each.name == "rest_client_requests_total")
        leases = sum(number for (_, resource, _), number in (await self.served()).items() if resource == "leases")
        return int(sent) - leases

    async def served(self) -> Calls:
        """What the API server has answered."""
        return await asyncio.to_thread(served, self.site.plane)

    async def writes(self) -> int:
        """Writes of anybody about graphs and what they consist of."""
        return sum(number for (verb, what, _), number in (await self.served()).items() if verb in WRITES and what not in IGNORED)

    # users

    async def make(self, first: int, count: int) -> None:
        """Creates graphs with these numbers."""
        for number in range(first // TOGETHER, (first + count - 1) // TOGETHER + 1):
            await self._namespace(f"crowd-{number}")
        numbers = iter(range(first, first + count))

        async def some() -> None:
            for number in numbers:
                await self.client.create(GRAPHS, numbered(number), f"crowd-{number // TOGETHER}")

        await asyncio.gather(*(some() for _ in range(AT_ONCE)))

    async def edit(self, number: int, replicas: int) -> float:
        """Changes replicas as a user does; seconds until the Deployment asks for as many."""
        namespace, name = f"crowd-{number // TOGETHER}", f"g{number}"
        began = time.monotonic()
        seen = self._awaited[namespace, f"{name}-decode", replicas] = asyncio.Event()
        steps: list[Node] = [{"op": "add", "path": "/spec/components/1/replicas", "value": replicas}]
        await self.client.json_patch(GRAPHS, name, steps, namespace)
        await seen.wait()
        return time.monotonic() - began

    async def until(self, count: int, patience: float = 600.0) -> None:
        """Waits until so many graphs are ready; at most so many seconds for the next one."""
        before, last, since, told = 0, len(self.ready), time.monotonic(), time.monotonic()
        while len(self.ready) < count:
            await asyncio.sleep(0.05)
            now = time.monotonic()
            if len(self.ready) > before:
                before, since = len(self.ready), now
            assert now - since < patience, f"{before} of {count} graphs are ready:\n{self.site.processes[-1].tail()}"
            if now - told > 30:
                speed = (before - last) / (now - told)
                told, last = now, before
                memory = held(self.site.processes[-1]) / 1e6
                print(f"  ({before:,} of {count:,} ready, {speed:.1f} a second; the reconciler holds {memory:.0f} MB)", flush=True)

    async def rest(self, seconds: float = 5.0) -> None:
        """Waits until nobody has written anything for so long."""
        last = await self.writes()
        while True:
            await asyncio.sleep(seconds)
            now = await self.writes()
            if now == last:
                return
            last = now

    # what a cluster does by itself

    async def _play(self) -> None:
        while True:
            deployment = await self._made.get()
            metadata, wanted = deployment["metadata"], deployment["spec"].get("replicas", 1)
            figures = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), wanted)
            available = {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "as many as wanted"}
            status = {**figures, "observedGeneration": metadata["generation"], "conditions": [available]}
            try:
                await self.client.merge_patch(
                    DEPLOYMENTS, metadata["name"], {"status": status}, metadata["namespace"], subresource="status"
                )
            except ApiError as error:
                print(f"  a Deployment was not made ready: {error}", flush=True)

    def _hear_deployment(self, _: Node | None, new: Node | None) -> None:
        if new is None:
            return
        metadata = new["metadata"]
        if (new.get("status") or {}).get("observedGeneration") != metadata["generation"]:
            self._made.put_nowait(new)
        seen = self._awaited.pop((metadata["namespace"], metadata["name"].rpartition("-")[0], new["spec"]["replicas"]), None)
        if seen is not None:
            seen.set()

    def _hear_graph(self, _: Node | None, new: Node | None) -> None:
        if new is not None and (new.get("status") or {}).get("state") == "successful":
            self.ready.add((new["metadata"]["namespace"], new["metadata"]["name"]))

    async def _namespace(self, name: str) -> None:
        if await self.client.get(NAMESPACES, name) is None:
            await self.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    async def _leads(self) -> bool:
        try:
            text = await asyncio.to_thread(self._metrics)
        except OSError:
            return False
        return "dynamo_webhooks_reconciler_leading 1.0" in text

    def _metrics(self) -> str:
        return fetched(f"127.0.0.1:{self.port}", "/metrics")[1]


def _trim(obj: Node) -> None:
    """Keeps what is read here: thirty thousand Deployments must not fill the measurement's memory."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    obj["metadata"] = {name: metadata[name] for name in ("name", "namespace", "generation", "resourceVersion") if name in metadata}
    obj["spec"] = {name: spec[name] for name in ("replicas",) if name in spec}
    obj["status"] = {name: status[name] for name in ("observedGeneration", "state") if name in status}


def numbered(number: int) -> dict[str, Any]:
    """A graph of three components as it is stored after admission."""
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}}
    frontend = component("Frontend", "frontend", {"image": "img:1", "resources": limits}, replicas=1)
    made = stored(graph(frontend, vllm("decode", "decode", replicas=1), vllm("prefill", "prefill", replicas=1), name=f"g{number}"))
    made["metadata"]["namespace"] = f"crowd-{number // TOGETHER}"
    return made


class Cost:
    """What processes have used since this was made."""

    def __init__(self, *processes: Process) -> None:
        self._processes, self._before = processes, [spent(each.pid) for each in processes]

    def seconds(self) -> list[float]:
        """CPU seconds of each."""
        return [spent(each.pid) - before for each, before in zip(self._processes, self._before, strict=True)]


def held(process: Process) -> int:
    """Bytes that a process holds."""
    return footprint(process.pid)
