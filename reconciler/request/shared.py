"""What passes over deployment requests share: the configuration, the cluster's GPUs, and why pods of profiling Jobs wait."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from ...api.operator.configuration import OperatorConfiguration
from ...kube.errors import ApiError, ForbiddenError
from ...kube.protocol import Cluster, Node
from ...kube.resources import PODS
from ...kube.times import parse_time
from ..common.image_pulls import find_pull_failures
from ..common.keys import uid_of
from ..render.names import GRAPH_NAME
from ..workload.pod_reasons import explain_waiting_pods
from ..workload.pods import JOB_PODS, pods_of_job
from .decide import PATIENCE
from .gpus import Gpus
from .job import JobSettings, settings_of

REMEMBERED: Final = 1000  # Jobs and graphs whose pods wait


@dataclass(slots=True)
class Requests:
    """For one term of leading."""

    cluster: Cluster
    settings: OperatorConfiguration
    gpus: Gpus
    _image: str = ""
    # uid of a Job or a graph -> when its pods were read, why they wait, and which of them can't pull an image
    _waits: OrderedDict[str, tuple[float, str, list[str]]] = field(default_factory=OrderedDict)

    async def job_settings(self) -> JobSettings:
        """What the configuration says of Jobs; without an image of its own the copier runs the image of this process. Raises: ApiError."""
        found, who = self.settings, self.settings.operator
        image = found.requests.copier_image or self._image
        if not image and who.pod_name:
            image = self._image = await self._own_image(who.pod_name, who.namespace)
        return settings_of(found)._replace(copier_image=image)

    async def _own_image(self, pod: str, namespace: str) -> str:
        try:
            found = await self.cluster.get(PODS, pod, namespace)
        except ForbiddenError:  # in an installation for another namespace
            return ""
        containers = ((found or {}).get("spec") or {}).get("containers") or [{}]
        mine = next((one for one in containers if one.get("name") == "reconciler"), containers[0])
        return str(mine.get("image") or "")

    async def waits(self, job: Node, moment: float) -> tuple[str, list[str]]:
        """Why the pod of a Job doesn't run, and what it can't pull; empty when it does, or has just been made.

        Reads pods once a minute at most.
        """
        if (job.get("status") or {}).get("ready"):
            return "", []
        return await self._read(job, f"job-name={job['metadata']['name']}", moment)

    async def pulls(self, graph: Node, moment: float) -> list[str]:
        """What pods of a graph can't pull; the same bounds hold."""
        return (await self._read(graph, f"{GRAPH_NAME}={graph['metadata']['name']}", moment))[1]

    async def _read(self, obj: Node, labels: str, moment: float) -> tuple[str, list[str]]:
        began = parse_time(obj["metadata"].get("creationTimestamp"))
        if began is None or moment - began.timestamp() < PATIENCE:
            return "", []
        uid = uid_of(obj)
        when, text, failures = self._waits.get(uid, (-PATIENCE, "", []))
        if moment - when >= PATIENCE:
            pods = (await self.cluster.list(PODS, obj["metadata"]["namespace"], labels=labels, limit=JOB_PODS)).items
            text, failures = explain_waiting_pods(pods), find_pull_failures(pods)
            self._waits[uid] = (moment, text, failures)
            while len(self._waits) > REMEMBERED:
                self._waits.popitem(last=False)
        return text, failures


async def describe_ending(cluster: Cluster, job: Node, message: str) -> str:
    """How a Job failed, with what its pods say of it."""
    text = f"profiling job failed: {message}"
    try:
        pods = await pods_of_job(cluster, job)
    except ApiError:
        return text
    ends = [end for pod in pods if (pod.get("status") or {}).get("phase") == "Failed" for end in _ends(pod)]
    return f"{text}. Details: {'; '.join(ends[:3])}" if ends else text


def _ends(pod: Node) -> list[str]:
    out = []
    status = pod["status"]
    for one in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        end = (one.get("state") or {}).get("terminated") or {}
        if end.get("exitCode"):
            said = f", Message: {str(end['message'])[:500]}" if end.get("message") else ""
            where = f"Pod: {pod['metadata']['name']}, Container: {one.get('name')}"
            out.append(f"{where}, ExitCode: {end['exitCode']}, Reason: {end.get('reason')}{said}")
    return out
