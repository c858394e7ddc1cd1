"""Finds the GPUs of a cluster: outside of passes, for all requests at once, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from yarl import URL

from ...api.operator.configuration import OperatorConfiguration
from ...kube.errors import ApiError
from ...kube.protocol import Cluster, Node
from ...kube.resources import NODES, PODS
from ..addresses import host_of
from ..common.keys import Key
from ..pod_client import FAILURES, PodClient
from .hardware import Cluster as Hardware
from .hardware import Machine, merge_nodes, parse_exporter_metrics, read_node_labels

KEPT: Final = 60.0  # seconds for which what was found counts
AT_ONCE: Final = 16  # exporters asked at a time
IN_ALL: Final = 10.0  # seconds for all exporters
MOST: Final = 1000  # exporters asked at all
READ: Final = 1024 * 1024  # bytes of an answer
EXPORTERS: Final = ("app in (nvidia-dcgm-exporter,dcgm-exporter)", "app.kubernetes.io/name=dcgm-exporter")
TEMPLATE: Final = "http://{POD_IP}:9400/metrics"
_NETWORK: Final = "nvidia-network-operator"


class Scraper(Protocol):
    """Reads the metrics of an exporter."""

    async def read(self, url: str) -> str:
        """The text, or an empty one where nobody answers. Doesn't raise."""

    async def close(self) -> None:
        """Closes what is open."""


class HttpScraper(PodClient):
    """Over the network: 3 s to connect, 5 s in all, 1 MiB."""

    async def read(self, url: str) -> str:
        """The beginning of the text."""
        try:
            status, text = await self.call("GET", URL(url), 5, 3, READ)
        except FAILURES:
            return ""
        return text.decode(errors="replace") if status == 200 else ""


class Gpus:
    """What is known of them; requests that asked while nothing was known are told when it is."""

    def __init__(
        self,
        cluster: Cluster,
        settings: OperatorConfiguration,
        scraper: Scraper,
        changed: Callable[[Key], None],
        clock: Callable[[], float],
    ) -> None:
        """`changed` hears of requests that may go on."""
        self._cluster, self._settings, self._scraper = cluster, settings, scraper
        self._changed, self._clock = changed, clock
        self._found: tuple[float, Hardware] | None = None
        self._asking: set[Key] = set()
        self._wanted = asyncio.Event()

    def known(self, key: Key) -> Hardware | None:
        """What was found in the last minute; None while it is being looked for, and the request is told later."""
        if self._found is not None and self._clock() - self._found[0] < KEPT:
            return self._found[1]
        self._asking.add(key)
        self._wanted.set()
        return None

    async def run(self) -> None:
        """Looks whenever somebody asks, until it is cancelled."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                found = await self._look()
                self._found = (self._clock(), found)
                asking, self._asking = self._asking, set()
                for key in asking:
                    self._changed(key)
        finally:
            await self._scraper.close()

    async def _look(self) -> Hardware:
        """At most one list of nodes, three of pods, and `MOST` calls within `IN_ALL` seconds."""
        why = ""
        labelled: tuple[Machine, ...] = ()
        try:
            if self._settings.gpu.discovery_enabled:
                labelled = read_node_labels((await self._cluster.list(NODES, trim=_trim)).items)
                if labelled and await self._rdma():
                    labelled = tuple(one._replace(rdma=True) for one in labelled)
        except ApiError as error:
            why = f"nodes can't be read: {error.message}"
        try:
            exported = await self._exported()
        except ApiError as error:
            exported, why = (), why or f"pods can't be read: {error.message}"
        return Hardware(merge_nodes(labelled, exported), why)

    async def _rdma(self) -> bool:
        pods = (await self._cluster.list(PODS, _NETWORK, trim=_trim)).items
        return any("rdma" in one["metadata"]["name"] for one in pods)

    async def _exported(self) -> tuple[Machine, ...]:
        namespaces = self._settings.namespace.watched
        pods: dict[str, Node] = {}
        for labels in EXPORTERS:
            for namespace in namespaces:
                for pod in (await self._cluster.list(PODS, namespace, labels=labels)).items:
                    pods[str(pod["metadata"].get("uid"))] = pod
        template = self._settings.gpu.metrics_endpoint_template or TEMPLATE
        urls = [template.replace("{POD_IP}", host) for pod in pods.values() if (host := _host(pod))][:MOST]
        room = asyncio.Semaphore(AT_ONCE)
        texts: list[str] = []

        async def one(url: str) -> None:
            async with room:
                texts.append(await self._scraper.read(url))

        tasks = [asyncio.ensure_future(one(url)) for url in urls]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=IN_ALL)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        return tuple(found for text in texts if (found := parse_exporter_metrics(text)) is not None)


def _host(pod: Node) -> str:
    """The address of a running pod as a URL has it; empty for one that must not be called."""
    status = pod.get("status") or {}
    return host_of(str(status.get("podIP") or "")) if status.get("phase") == "Running" else ""


def _trim(obj: Node) -> None:
    """Leaves name and labels: nobody here reads more of a node."""
    metadata = obj["metadata"]
    kept = {name: metadata[name] for name in ("name", "labels") if name in metadata}
    obj.clear()
    obj["metadata"] = kept
