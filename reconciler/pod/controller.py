"""Follows pods of graphs that need something after they are made: labels of their place, or another pod."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from ...kube.capability import POD_REPLACEMENT, TOPOLOGY_LABELS, Presence
from ...kube.clocks import Clocks
from ...kube.errors import ApiError, ConflictError, ForbiddenError, NotFoundError
from ...kube.protocol import Cluster, Node
from ...kube.reflector import MergedReflector, Reflector
from ...kube.resources import NODES, PODS
from ..common.keys import Key, key_of, uid_of
from ..common.problems import SLOW_RETRY_SECONDS
from ..common.resources import GRAPH
from ..engine.context import Context
from ..engine.queue import Cause, Queue
from ..render.names import COMPONENT, GRAPH_NAME, RESTORE_TARGET
from .decide import decide, find_missing_label, trim_pod

LOG: Final = logging.getLogger("reconciler.pods")
_EXEMPT: Final = "if Grove's authorizer refuses it, add the reconciler's account to those that Grove's configuration exempts"
MAX_WORKERS: Final = 4  # pods at a time
# pods that are followed where a permission is granted
_SELECTIONS: Final = ((TOPOLOGY_LABELS, f"{GRAPH_NAME},{COMPONENT}"), (POD_REPLACEMENT, f"{RESTORE_TARGET}=true"))


class PodController:
    """Labels pods, and replaces broken ones, each where the reconciler may. It watches from the start, and acts while it leads."""

    def __init__(self, cluster: Cluster, namespaces: Sequence[str], clocks: Clocks) -> None:
        """An empty namespace is all of them."""
        self._cluster, self._namespaces, self._clocks = cluster, namespaces, clocks
        self._queue = Queue(clocks)
        self._followed: dict[str, MergedReflector] = {}  # by the name of the capability
        self._tasks: list[asyncio.Task[None]] = []
        self._leads = False

    def listen(self, known: Mapping[str, Presence]) -> None:
        """Watches the pods for which the reconciler has permissions."""
        for capability, labels in _SELECTIONS:
            if known.get(capability.name) is Presence.USABLE and capability.name not in self._followed:
                pods = self._followed[capability.name] = MergedReflector(self._namespaces, partial(self._selected, labels))
                pods.subscribe(self._on_pod)
                self._tasks.append(asyncio.ensure_future(pods.run()))

    async def close(self) -> None:
        """Stops watching."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def run(self, context: Context) -> None:
        """Acts until it is cancelled."""
        self._leads = True
        for pod in [followed for pods in self._followed.values() for followed in pods.all()]:
            self._on_pod(None, pod)
        try:
            await asyncio.gather(*(self._run_worker(context) for _ in range(MAX_WORKERS)))
        finally:
            self._leads = False
            await self._queue.close()
            self._queue.clear()

    def _selected(self, labels: str, namespace: str) -> Reflector:
        return Reflector(self._cluster, PODS, namespace, labels=labels, trim=trim_pod, clocks=self._clocks)

    def _on_pod(self, _old: Node | None, new: Node | None) -> None:
        if self._leads and new is not None and (find_missing_label(new) or decide(new, None).broken):
            self._queue.add(key_of(new), cause=Cause.IN_PROGRESS)

    async def _run_worker(self, context: Context) -> None:
        while True:
            key = await self._queue.get()
            pod = next((followed for pods in self._followed.values() if (followed := pods.get(key.name, key.namespace)) is not None), None)
            try:
                after = await change_pod(context, pod) if pod is not None else 0.0
            except (ConflictError, NotFoundError):  # another pod by now; the watch reports it
                self._queue.done(key)
            except ApiError as error:
                LOG.warning("%s: %s; again in %.1f s", key, error.message, self._queue.failed(key))
            except Exception:
                LOG.exception("a pass over %s failed with an unexpected error", key)
                self._queue.failed(key)
            else:
                self._queue.done(key, after)


async def change_pod(context: Context, pod: Node) -> float:
    """One pass over a pod; returns the seconds until the next look. Raises: ApiError."""
    key, lacks = key_of(pod), bool(find_missing_label(pod))
    if not context.writer.may_write(key.namespace):
        return SLOW_RETRY_SECONDS
    node = await context.cluster.get(NODES, pod["spec"]["nodeName"]) if lacks and context.may(TOPOLOGY_LABELS) else None
    plan = decide(pod, node)
    if plan.broken and context.may(POD_REPLACEMENT):
        await context.cluster.delete(PODS, key.name, key.namespace, uid=uid_of(pod))
        await _record_event(context, pod, "RestoredPodReplaced", f"Pod {key.name} is replaced: {plan.broken}")
    elif plan.labels:
        change = {"metadata": {"uid": uid_of(pod), "labels": dict(plan.labels)}}
        try:
            await context.cluster.merge_patch(PODS, key.name, change, key.namespace)
        except ForbiddenError as error:
            await _record_event(context, pod, "TopologyLabelRefused", f"{error.message}; {_EXEMPT}")
            return SLOW_RETRY_SECONDS
    elif plan.lacking:
        await _record_event(context, pod, "TopologyLabelMissing", plan.lacking)
    return SLOW_RETRY_SECONDS if lacks and not plan.labels else 0.0


async def _record_event(context: Context, pod: Node, reason: str, message: str) -> None:
    """An Event about the pod, and about its graph, where users look."""
    graph = context.cache.get(Key(GRAPH, key_of(pod).namespace, str((pod["metadata"].get("labels") or {}).get(GRAPH_NAME))))
    for obj in (pod, *([graph] if graph is not None else ())):
        await context.record_event(obj, "Warning", reason, message)
