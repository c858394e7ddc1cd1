"""Worker pods that answer from memory, and EndpointSlices that hold them."""

import asyncio
from typing import Any

from dynamo_webhooks.api.operator.controllers import Models
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.model.endpoints import MANAGED_BY, SERVICE_NAME, SLICE_CONTROLLER
from dynamo_webhooks.reconciler.model.lora import escape_name
from dynamo_webhooks.reconciler.model.worker import NoConnectionError, Reply, WorkerClient
from dynamo_webhooks.reconciler.render.names import BASE_MODEL_HASH, digest

NAMESPACE = "demo"
BASE = "Qwen/Qwen3-0.6B"


class FakeWorkers(WorkerClient):
    """Keeps what is loaded where; `status` says how an address answers, no status that nobody answers there."""

    def __init__(self) -> None:
        super().__init__(Models())
        self.status: dict[str, int | None] = {}
        self.loaded: dict[str, dict[str, str]] = {}
        self.calls: list[tuple[str, str, str]] = []  # (verb, address, path or name)
        self.lists = True  # whether workers tell what is loaded
        self.gate: asyncio.Event | None = None  # calls wait for it
        self.stuck: set[str] = set()  # addresses that never answer
        self.open = self.most = 0
        self.closed = False

    def of(self, verb: str) -> list[tuple[str, str]]:
        """The calls of a verb."""
        return [(address, what) for name, address, what in self.calls if name == verb]

    async def load(self, base: str, name: str, uri: str) -> Reply:
        """As a worker does."""
        reply = await self._answer("POST", base, name)
        if reply.is_success:
            self.loaded.setdefault(address_of(base), {})[name] = uri
        return reply

    async def unload(self, base: str, name: str) -> Reply:
        """As a worker does."""
        reply = await self._answer("DELETE", base, escape_name(name))
        if reply.is_success and self.lists and name not in self.loaded.get(address_of(base), {}):
            return Reply(404, "no such adapter")
        self.loaded.get(address_of(base), {}).pop(name, None)
        return reply

    async def names(self, base: str) -> frozenset[str] | None:
        """As a worker does."""
        await self._answer("GET", base, "")
        return frozenset(self.loaded.get(address_of(base), {})) if self.lists else None

    async def close(self) -> None:
        """As a worker does."""
        self.closed = True

    async def _answer(self, verb: str, base: str, what: str) -> Reply:
        address = address_of(base)
        self.calls.append((verb, address, what))
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            if address in self.stuck:
                await asyncio.Event().wait()
            await (self.gate.wait() if self.gate is not None else asyncio.sleep(0))
        finally:
            self.open -= 1
        status = self.status.get(address, 200)
        if status is None:
            raise NoConnectionError("connection refused")
        return Reply(status, "" if status < 300 else "busy")


def address_of(base: str) -> str:
    """The address of a base URL."""
    return base.removeprefix("http://").rpartition(":")[0]


def slice_of(*pods: Node | str, name: str = "s1", base: str = BASE, **more: Any) -> Node:
    """An EndpointSlice as the controller of the cluster writes it; a text is the address of a ready pod."""
    labels = {BASE_MODEL_HASH: digest(base), SERVICE_NAME: f"dynamo-model-{digest(base)}", MANAGED_BY: SLICE_CONTROLLER}
    made: Node = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [pod(item) if isinstance(item, str) else item for item in pods],
        "ports": [{"name": "system", "port": 9090}],
    }
    return {**made, **more}


def pod(address: str, *, name: str = "", uid: str = "", **conditions: bool) -> Node:
    """An endpoint of a slice."""
    name = name or f"p-{address}"
    target = {"kind": "Pod", "namespace": NAMESPACE, "name": name, "uid": uid or f"uid-{name}"}
    return {"addresses": [address], "conditions": {"ready": True, **conditions}, "targetRef": target}


def model(name: str = "m", **spec: Any) -> Node:
    """A LoRA model, unless its spec says otherwise."""
    whole = {"modelName": "org/adapter", "baseModelName": BASE, "modelType": "lora", "source": {"uri": "s3://b/a"}, **spec}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoModel",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {key: value for key, value in whole.items() if value is not None},
    }
