"""Models beside many graphs: who plays their worker pods, and what loading, resting and one more pod cost."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from dynamo_webhooks.api.crd import build as crd
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.reflector import Reflector
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES, SERVICES, resource_of_kind
from dynamo_webhooks.kube.resources import PODS as WORKERS
from dynamo_webhooks.reconciler.model.endpoints import MANAGED_BY, SERVICE_NAME, SLICE_CONTROLLER, SYSTEM
from dynamo_webhooks.reconciler.render.names import BASE_MODEL, BASE_MODEL_HASH, digest
from tests.bench.crowd import NAMESPACES, Crowd
from tests.bench.figures import Figure, Figures
from tests.bench.footprint import footprint, spent
from tests.cluster.processes import Process
from tests.cluster.provisioning import own_address
from tests.cluster.rendering import composed

MODELS: Final = resource_of_kind("DynamoModel", "v1alpha1")
DEFINITION: Final = crd("DynamoModel", versions=["v1alpha1"])
WHERE: Final = "models"
PODS: Final = 5  # of each model beside the graphs
MANY: Final = 1000  # of one model
IN_SLICE: Final = 100  # endpoints, as the controller of the cluster makes slices
LOAD: Final = 0.1  # seconds in which a worker loads an adapter
PATIENCE: Final = 300.0  # seconds until all have loaded


def objects_for(folder: Path) -> list[Node]:
    """An installation whose reconciler may reconcile models."""
    return composed(folder / "rendered", "self-signed", "../models")


class Fleet:
    """All worker pods at one address, and the models that they serve."""

    def __init__(self) -> None:
        self.loads: Counter[str] = Counter()  # by adapter
        self.open = self.most = 0
        self._runner: web.AppRunner | None = None
        self._address, self._port = "", 0
        self._ready: dict[str, tuple[bool, int]] = {}  # model -> whether it is ready, and how many of its pods are
        self._news = asyncio.Event()

    async def __aenter__(self) -> Fleet:
        application = web.Application()
        application.router.add_post("/v1/loras", self._load)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        listening = socket.create_server((own_address(), 0), backlog=1024)
        self._address, self._port = listening.getsockname()
        await web.SockSite(self._runner, listening).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def measure(self, crowd: Crowd, process: Process, found: Figures) -> None:
        """Adds what so many models of a few pods cost, and one of many pods; all of them rest afterwards."""
        client = crowd.client
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WHERE}})
        watching = Reflector(client, MODELS, WHERE)
        watching.subscribe(self._hear)
        task = asyncio.ensure_future(watching.run())
        try:
            await self._several(crowd, process, found)
            await self._one(crowd, process, found)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await crowd.rest()

    async def _place(self, crowd: Crowd, names: list[str], pods: int) -> None:
        """Makes so many pods for each model, at the address of all."""
        spec = {"nodeName": "n", "containers": [{"name": "main", "image": "worker"}], "automountServiceAccountToken": False}
        status = {"podIP": self._address, "podIPs": [{"ip": self._address}]}
        left = [f"{name}-{number}" for name in names for number in range(pods)]

        async def one_after_the_other() -> None:
            while left:
                pod = left.pop()
                made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "namespace": WHERE}, "spec": spec}
                await crowd.client.create(WORKERS, made)
                await crowd.client.merge_patch(WORKERS, pod, {"status": status}, WHERE, subresource="status")

        await asyncio.gather(*(one_after_the_other() for _ in range(16)))

    async def _several(self, crowd: Crowd, process: Process, found: Figures) -> None:
        names = [f"m{number}" for number in range(found.models)]
        await self._place(crowd, names, PODS)
        size, before, began = footprint(process.pid), await crowd.calls(), time.monotonic()
        for name in names:
            await self._serve(crowd, name, PODS)
            await self._ask_for(crowd, name)
        await self._until(lambda: all(self._ready.get(name) == (True, PODS) for name in names))
        seconds = time.monotonic() - began
        await crowd.rest()
        calls, grown = (await crowd.calls() - before) / found.models, (footprint(process.pid) - size) / found.models / 1000
        loads = sum(self.loads.values()) / found.models / PODS
        what = f"{found.models:,} models of {PODS} pods that come one after the other: until the last is ready"
        found.fleet += [
            Figure("models_ready_seconds", what, f"{seconds:.1f} s", seconds),
            Figure("calls_a_model", "calls of the API server a model", f"{calls:.1f}", calls),
            Figure("loads_a_pod", "calls of a pod that load its adapter", f"{loads:.2f}", loads, 1, "1"),
            Figure("kilobytes_a_model", "memory a model at rest", f"{grown:.0f} kB", grown),
        ]

    async def _one(self, crowd: Crowd, process: Process, found: Figures) -> None:
        """A model of many pods, and then one pod more."""
        await self._place(crowd, ["many"], MANY + 1)
        await self._ask_for(crowd, "many")
        await crowd.rest(2.0)
        served, size, cpu, began = await crowd.served(), footprint(process.pid), spent(process.pid), time.monotonic()
        await self._serve(crowd, "many", MANY)
        await self._until(lambda: self._ready.get("many") == (True, MANY))
        seconds, used = time.monotonic() - began, spent(process.pid) - cpu
        await crowd.rest(2.0)
        told = await crowd.served() - served
        writes, grown = told["PATCH", "dynamomodels", "status"], (footprint(process.pid) - size) / 1e6
        events = told["POST", "events", ""] + told["PATCH", "events", ""]
        loads, began = self.loads["many"], time.monotonic()
        await self._slice(crowd, "many", "more", [MANY])
        await self._until(lambda: self._ready.get("many") == (True, MANY + 1))
        more = time.monotonic() - began
        text = f"{seconds:.1f} s, of CPU {used:.1f} s"
        found.fleet += [
            Figure(
                "many_pods_seconds", f"a model of {MANY:,} pods that load for {LOAD:g} s: until all are ready", text, seconds, 10, "10 s"
            ),
            Figure("many_pods_loads", "the same: calls that load", f"{loads:,}", loads, MANY, f"{MANY:,}"),
            Figure("many_pods_open", "the same: calls at a time", str(self.most), self.most, 64, "64"),
            Figure("many_pods_status", "the same: writes of its status", str(writes), writes, 6, "6"),
            Figure("many_pods_events", "the same: Events", str(events), events, 3, "3"),
            Figure("many_pods_megabytes", "the same: memory", f"{grown:.1f} MB", grown, 60, "60 MB"),
            Figure("one_pod_more_seconds", "one pod more, until it is ready", f"{more:.2f} s", more, 1, "1 s"),
        ]

    # what a cluster and its users do

    async def _serve(self, crowd: Crowd, name: str, pods: int) -> None:
        """The Service of a base model, and its slices."""
        base = f"base/{name}"
        metadata = {
            "name": _service(base),
            "namespace": WHERE,
            "labels": {BASE_MODEL_HASH: digest(base)},
            "annotations": {BASE_MODEL: base},
        }
        spec = {"clusterIP": "None", "ports": [{"name": SYSTEM, "port": self._port}]}
        await crowd.client.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        for first in range(0, pods, IN_SLICE):
            await self._slice(crowd, name, str(first), [*range(first, min(pods, first + IN_SLICE))])

    async def _slice(self, crowd: Crowd, name: str, part: str, pods: list[int]) -> None:
        base = f"base/{name}"
        labels = {BASE_MODEL_HASH: digest(base), SERVICE_NAME: _service(base), MANAGED_BY: SLICE_CONTROLLER}
        made = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": f"{name}-{part}", "namespace": WHERE, "labels": labels},
            "addressType": "IPv4",
            "ports": [{"name": SYSTEM, "port": self._port}],
            "endpoints": [self._endpoint(f"{name}-{number}") for number in pods],
        }
        await crowd.client.create(ENDPOINT_SLICES, made)

    def _endpoint(self, pod: str) -> Node:
        target = {"kind": "Pod", "namespace": WHERE, "name": pod, "uid": f"uid-{pod}"}
        return {"addresses": [self._address], "conditions": {"ready": True}, "targetRef": target}

    async def _ask_for(self, crowd: Crowd, name: str) -> None:
        spec = {"modelName": name, "baseModelName": f"base/{name}", "modelType": "lora", "source": {"uri": f"s3://b/{name}"}}
        metadata = {"name": name, "namespace": WHERE}
        await crowd.client.create(MODELS, {"apiVersion": MODELS.api_version, "kind": "DynamoModel", "metadata": metadata, "spec": spec})

    async def _until(self, question: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not question():
                self._news.clear()
                await self._news.wait()

    def _hear(self, _: Node | None, new: Node | None) -> None:
        self._news.set()
        if new is not None:
            status: dict[str, Any] = new.get("status") or {}
            ready = any((one["type"], one["status"]) == ("Ready", "True") for one in status.get("conditions") or ())
            self._ready[new["metadata"]["name"]] = ready, int(status.get("readyEndpoints") or 0)

    # workers

    async def _load(self, request: web.Request) -> web.Response:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            self.loads[(await request.json())["lora_name"]] += 1
            await asyncio.sleep(LOAD)
        finally:
            self.open -= 1
        return web.json_response({"status": "success"})


def _service(base: str) -> str:
    return f"dynamo-model-{digest(base)}"
