"""What passes over deployment requests share: the configuration, the cluster's GPUs, and why pods of profiling Jobs wait."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.kube.errors import ApiError, ForbiddenError
from dynamo_webhooks.kube.resources import PODS
from dynamo_webhooks.kube.times import parsed
from dynamo_webhooks.reconciler.loop.image_pulls import pull_failures
from dynamo_webhooks.reconciler.loop.keys import uid_of
from dynamo_webhooks.reconciler.loop.pod_reasons import why
from dynamo_webhooks.reconciler.render.names import GRAPH_NAME
from dynamo_webhooks.reconciler.request.configured import settings_of

if TYPE_CHECKING:
    from dynamo_webhooks.api.operator.settings import ReconcilerSettings
    from dynamo_webhooks.kube.protocol import Cluster, Node
    from dynamo_webhooks.reconciler.loop.gpus import Gpus
    from dynamo_webhooks.reconciler.loop.problems import Problem
    from dynamo_webhooks.reconciler.request.job import JobSettings
    from dynamo_webhooks.reconciler.request.phases import Step

PATIENCE: Final = 60.0  # seconds that a pod may take to start, and between two looks at one that doesn't
REMEMBERED: Final = 1000  # Jobs and graphs whose pods wait
READ: Final = 100  # pods of one of them that are read

SOON: Final = 2.0  # seconds until the next look at what is about to change


class Turn(NamedTuple):
    """What one look at a request came to."""

    step: Step | None = None  # None: nothing changes
    after: float = 0.0
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Requests:
    """For one term of leading."""

    cluster: Cluster
    settings: ReconcilerSettings
    gpus: Gpus
    _image: str = ""
    # uid of a Job or a graph -> when its pods were read, why they wait, and which of them can't pull an image
    _waits: OrderedDict[str, tuple[float, str, list[str]]] = field(default_factory=OrderedDict)

    async def job_settings(self) -> JobSettings:
        """What the configuration says of Jobs; without an image of its own the copier runs the image of this process. Raises: ApiError."""
        found, who = self.settings, self.settings.identity
        image = found.requests.copier_image or self._image
        if not image and who.pod:
            image = self._image = await self._own_image(who.pod, who.namespace)
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
        began = parsed(obj["metadata"].get("creationTimestamp"))
        if began is None or moment - began.timestamp() < PATIENCE:
            return "", []
        uid = uid_of(obj)
        when, text, failures = self._waits.get(uid, (-PATIENCE, "", []))
        if moment - when >= PATIENCE:
            pods = (await self.cluster.list(PODS, obj["metadata"]["namespace"], labels=labels, limit=READ)).items
            text, failures = why(pods), pull_failures(pods)
            self._waits[uid] = (moment, text, failures)
            while len(self._waits) > REMEMBERED:
                self._waits.popitem(last=False)
        return text, failures


async def pods_of_job(cluster: Cluster, job: Node) -> list[Node]:
    """The pods of a Job, few as they are. Raises: ApiError."""
    metadata = job["metadata"]
    return (await cluster.list(PODS, metadata["namespace"], labels=f"job-name={metadata['name']}", limit=READ)).items


async def ending_of(cluster: Cluster, job: Node, message: str) -> str:
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
