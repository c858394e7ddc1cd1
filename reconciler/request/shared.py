"""State that passes over deployment requests share: the configuration, the cluster's GPUs, found outside of them, and why pods wait."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Final

from yarl import URL

from ...api.operator.configuration import OperatorConfiguration
from ...kube.errors import ApiError, ForbiddenError
from ...kube.protocol import Cluster, Node
from ...kube.resources import NODES, PODS
from ...kube.times import parse_time
from ..common.keys import Key, uid_of
from ..pod_client import FAILURES, PodClient, host_of
from ..render.names import GRAPH_NAME
from ..workload.pod_states import explain_waiting_pods, find_pull_failures
from ..workload.pods import MAX_PODS, list_job_pods
from .decide import POD_START_SECONDS
from .hardware import GpuInventory as Hardware
from .hardware import Machine, merge_nodes, parse_exporter_metrics, read_node_labels
from .job import with_copier

SCRAPE_LIFETIME_SECONDS: Final = 60.0
MAX_CONCURRENT_SCRAPES: Final = 16
SCRAPES_TIMEOUT_SECONDS: Final = 10.0  # for all exporters
MAX_EXPORTERS: Final = 1000
MAX_SCRAPE_BYTES: Final = 1024 * 1024
EXPORTERS: Final = ("app in (nvidia-dcgm-exporter,dcgm-exporter)", "app.kubernetes.io/name=dcgm-exporter")
TEMPLATE: Final = "http://{POD_IP}:9400/metrics"
_NETWORK: Final = "nvidia-network-operator"
MAX_CACHED_OBJECTS: Final = 1000  # Jobs and graphs whose pods wait


class Scraper(PodClient):
    """Reads the metrics of exporters over the network: 3 s to connect, 5 s in all, 1 MiB."""

    async def read(self, url: str) -> str:
        """Returns the beginning of the text, or an empty one without a successful answer. Doesn't raise."""
        try:
            status, text = await self.call("GET", URL(url), 5, 3, MAX_SCRAPE_BYTES)
        except FAILURES:
            return ""
        return text.decode(errors="replace") if status == 200 else ""


class GpuDiscovery:
    """Discovers the cluster's GPUs; requests that asked before are queued again once they are known."""

    def __init__(
        self,
        cluster: Cluster,
        settings: OperatorConfiguration,
        scraper: Scraper,
        changed: Callable[[Key], None],
        clock: Callable[[], float],
    ) -> None:
        """`changed` is called for each request that may go on."""
        self._cluster, self._settings, self._scraper = cluster, settings, scraper
        self._changed, self._clock = changed, clock
        self._found: tuple[float, Hardware] | None = None
        self._asking: set[Key] = set()
        self._wanted = asyncio.Event()

    def known(self, key: Key) -> Hardware | None:
        """Returns the GPUs found in the last minute; None during discovery, after which the request is queued again."""
        if self._found is not None and self._clock() - self._found[0] < SCRAPE_LIFETIME_SECONDS:
            return self._found[1]
        self._asking.add(key)
        self._wanted.set()
        return None

    async def run(self) -> None:
        """Discovers GPUs whenever a request needs them, until it is cancelled."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                hardware = await self._discover()
                self._found = (self._clock(), hardware)
                asking, self._asking = self._asking, set()
                for key in asking:
                    self._changed(key)
        finally:
            await self._scraper.close()

    async def _discover(self) -> Hardware:
        """At most one list of nodes, three of pods, and `MAX_EXPORTERS` calls within `SCRAPES_TIMEOUT_SECONDS`."""
        why = ""
        labelled: tuple[Machine, ...] = ()
        try:
            if self._settings.gpu.discovery_enabled:
                labelled = read_node_labels((await self._cluster.list(NODES, trim=_trim)).items)
                operators = (await self._cluster.list(PODS, _NETWORK, trim=_trim)).items if labelled else ()
                if any("rdma" in pod["metadata"]["name"] for pod in operators):
                    labelled = tuple(machine._replace(rdma=True) for machine in labelled)
        except ApiError as error:
            why = f"nodes can't be read: {error.message}"
        try:
            exported = await self._exported()
        except ApiError as error:
            exported, why = (), why or f"pods can't be read: {error.message}"
        return Hardware(merge_nodes(labelled, exported), why)

    async def _exported(self) -> tuple[Machine, ...]:
        pods: dict[str, Node] = {}
        for labels, namespace in product(EXPORTERS, self._settings.namespace.watched):
            for pod in (await self._cluster.list(PODS, namespace, labels=labels)).items:
                pods[str(pod["metadata"].get("uid"))] = pod
        template = self._settings.gpu.metrics_endpoint_template or TEMPLATE
        urls = [template.replace("{POD_IP}", host) for pod in pods.values() if (host := _host(pod))][:MAX_EXPORTERS]
        room = asyncio.Semaphore(MAX_CONCURRENT_SCRAPES)
        texts: list[str] = []

        async def scrape(url: str) -> None:
            async with room:
                texts.append(await self._scraper.read(url))

        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*map(scrape, urls), return_exceptions=True), SCRAPES_TIMEOUT_SECONDS)
        return tuple(machine for text in texts if (machine := parse_exporter_metrics(text)) is not None)


def _host(pod: Node) -> str:
    """The address of a running pod as a URL has it; empty for one that must not be called."""
    status = pod.get("status") or {}
    return host_of(str(status.get("podIP") or "")) if status.get("phase") == "Running" else ""


def _trim(obj: Node) -> None:
    """Reduces an object to its name and labels: no code here reads more of it."""
    metadata = obj["metadata"]
    kept = {name: metadata[name] for name in ("name", "labels") if name in metadata}
    obj.clear()
    obj["metadata"] = kept


@dataclass(slots=True)
class RequestContext:
    """The state that passes over requests share while this process leads."""

    cluster: Cluster
    settings: OperatorConfiguration
    gpus: GpuDiscovery
    _image: str = ""
    # uid of a Job or a graph -> when its pods were read, why they wait, and which of them can't pull an image
    _waiting: OrderedDict[str, tuple[float, str, list[str]]] = field(default_factory=OrderedDict)

    async def job_settings(self) -> OperatorConfiguration:
        """Returns the configuration of Jobs; without an image of its own the copier runs the image of this process. Raises: ApiError."""
        settings, who = self.settings, self.settings.operator
        image = settings.requests.copier_image or self._image
        if not image and who.pod_name:
            image = self._image = await self._own_image(who.pod_name, who.namespace)
        return with_copier(settings, image)

    async def _own_image(self, pod: str, namespace: str) -> str:
        try:
            live = await self.cluster.get(PODS, pod, namespace)
        except ForbiddenError:  # in an installation for another namespace
            return ""
        containers = ((live or {}).get("spec") or {}).get("containers") or [{}]
        mine = next((container for container in containers if container.get("name") == "reconciler"), containers[0])
        return str(mine.get("image") or "")

    async def explain_waiting_pod(self, job: Node, moment: float) -> tuple[str, list[str]]:
        """Explains why a Job's pod doesn't run, and which images it can't pull; empty if it runs or is new. Reads pods once a minute."""
        if (job.get("status") or {}).get("ready"):
            return "", []
        return await self._read(job, f"job-name={job['metadata']['name']}", moment)

    async def list_pull_failures(self, graph: Node, moment: float) -> list[str]:
        """Lists the images that pods of a graph can't pull; the same bounds hold."""
        return (await self._read(graph, f"{GRAPH_NAME}={graph['metadata']['name']}", moment))[1]

    async def _read(self, obj: Node, labels: str, moment: float) -> tuple[str, list[str]]:
        began = parse_time(obj["metadata"].get("creationTimestamp"))
        if began is None or moment - began.timestamp() < POD_START_SECONDS:
            return "", []
        uid = uid_of(obj)
        when, text, failures = self._waiting.get(uid, (-POD_START_SECONDS, "", []))
        if moment - when >= POD_START_SECONDS:
            pods = (await self.cluster.list(PODS, obj["metadata"]["namespace"], labels=labels, limit=MAX_PODS)).items
            text, failures = explain_waiting_pods(pods), find_pull_failures(pods)
            self._waiting[uid] = (moment, text, failures)
            while len(self._waiting) > MAX_CACHED_OBJECTS:
                self._waiting.popitem(last=False)
        return text, failures


async def describe_ending(cluster: Cluster, job: Node, message: str) -> str:
    """Describes how a Job failed, with the reasons that its pods report."""
    text = f"profiling job failed: {message}"
    try:
        pods = await list_job_pods(cluster, job)
    except ApiError:
        return text
    ends = [end for pod in pods if (pod.get("status") or {}).get("phase") == "Failed" for end in _describe_ends(pod)]
    return f"{text}. Details: {'; '.join(ends[:3])}" if ends else text


def _describe_ends(pod: Node) -> list[str]:
    out, status = [], pod["status"]
    if status.get("reason"):  # of the kubelet: Evicted, for example
        message = f", Message: {str(status['message'])[:500]}" if status.get("message") else ""
        out.append(f"Pod: {pod['metadata']['name']}, Reason: {status['reason']}{message}")
    for container in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        end = (container.get("state") or {}).get("terminated") or {}
        if end.get("exitCode"):
            message = f", Message: {str(end['message'])[:500]}" if end.get("message") else ""
            where = f"Pod: {pod['metadata']['name']}, Container: {container.get('name')}"
            out.append(f"{where}, ExitCode: {end['exitCode']}, Reason: {end.get('reason')}{message}")
    return out
