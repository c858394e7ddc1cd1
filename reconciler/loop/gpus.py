"""Finds the GPUs of a cluster: outside of passes, for all requests at once, within bounds."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from typing import TYPE_CHECKING, Final, Protocol

import aiohttp

from dynamo_webhooks.kube.errors import ApiError
from dynamo_webhooks.kube.resources import NODES, PODS
from dynamo_webhooks.reconciler.request.hardware import Cluster as Hardware
from dynamo_webhooks.reconciler.request.hardware import Machine, machines_of, measured, merged

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.api.operator.settings import ReconcilerSettings
    from dynamo_webhooks.kube.protocol import Cluster, Node
    from dynamo_webhooks.reconciler.loop.keys import Key

LOG: Final = logging.getLogger("reconciler.gpus")
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


class HttpScraper:
    """Over the network: no proxy, no cookies, no redirects, no credentials; 3 s to connect, 5 s in all, 1 MiB."""

    def __init__(self) -> None:
        """Opens nothing yet."""
        self._session: aiohttp.ClientSession | None = None

    async def read(self, url: str) -> str:
        """The beginning of the text."""
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), trust_env=False)
        timeout = aiohttp.ClientTimeout(total=5, sock_connect=3)
        try:
            async with self._session.get(url, timeout=timeout, allow_redirects=False) as response:
                if response.status != 200:
                    return ""
                read = bytearray()
                while len(read) < READ and (piece := await response.content.read(READ - len(read))):
                    read += piece
                return read.decode(errors="replace")
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError):
            return ""

    async def close(self) -> None:
        """Closes what is open."""
        if self._session is not None:
            await self._session.close()


class Gpus:
    """What is known of them; requests that asked while nothing was known are told when it is."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ReconcilerSettings,
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
            if self._settings.features.gpu_discovery:
                labelled = machines_of((await self._cluster.list(NODES, trim=_trim)).items)
                if labelled and await self._rdma():
                    labelled = tuple(one._replace(rdma=True) for one in labelled)
        except ApiError as error:
            why = f"nodes can't be read: {error.message}"
        try:
            exported = await self._exported()
        except ApiError as error:
            exported, why = (), why or f"pods can't be read: {error.message}"
        return Hardware(merged(labelled, exported), why)

    async def _rdma(self) -> bool:
        pods = (await self._cluster.list(PODS, _NETWORK, trim=_trim)).items
        return any("rdma" in one["metadata"]["name"] for one in pods)

    async def _exported(self) -> tuple[Machine, ...]:
        namespaces = self._settings.namespaces
        pods: dict[str, Node] = {}
        for labels in EXPORTERS:
            for namespace in namespaces:
                for pod in (await self._cluster.list(PODS, namespace, labels=labels)).items:
                    pods[str(pod["metadata"].get("uid"))] = pod
        template = self._settings.gpu_metrics_template or TEMPLATE
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
        return tuple(found for text in texts if (found := measured(text)) is not None)


def _host(pod: Node) -> str:
    """The address of a running pod as a URL has it; empty for one that must not be called."""
    status = pod.get("status") or {}
    try:
        address = ipaddress.ip_address(str(status.get("podIP") or ""))
    except ValueError:
        return ""
    if status.get("phase") != "Running" or address.is_loopback or address.is_link_local or address.is_unspecified:
        return ""
    return f"[{address}]" if address.version == 6 else str(address)


def _trim(obj: Node) -> None:
    """Leaves name and labels: nobody here reads more of a node."""
    metadata = obj["metadata"]
    kept = {name: metadata[name] for name in ("name", "labels") if name in metadata}
    obj.clear()
    obj["metadata"] = kept
