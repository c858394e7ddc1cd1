"""Reads pods, only when a decision depends on them; pods aren't watched."""

from __future__ import annotations

from typing import Final

from ...kube.protocol import Cluster, Node
from ...kube.resources import PODS
from ..common.resources import GRAPH, SET_NAME
from ..engine.work import Work
from ..render.discovery import account_of
from ..render.names import GRAPH_NAME, SELECTOR
from .orchestrator import on_leader_worker_sets

JOB_PODS: Final = 100  # pods of one of them that are read


_RIGHTS: Final = frozenset({"ServiceAccount", "Role", "RoleBinding"})
_ENDED: Final = ("Succeeded", "Failed")
_PAGE: Final = 100  # pods; anybody may label large ones
_METADATA: Final = ("name", "labels", "creationTimestamp", "deletionTimestamp")


async def pods_of(work: Work, obj: Node) -> list[Node]:
    """The unfinished pods of a graph or a component, oldest first, with their account and status alone. Raises: ApiError."""
    metadata = obj["metadata"]
    label = GRAPH_NAME if obj["kind"] == GRAPH else SET_NAME if on_leader_worker_sets(obj) else SELECTOR
    found = await work.cluster.list(PODS, metadata["namespace"], labels=f"{label}={metadata['name']}", limit=_PAGE, trim=_trim)
    alive = [one for one in found.items if (one.get("status") or {}).get("phase") not in _ENDED]
    return sorted(alive, key=lambda one: (str(one["metadata"].get("creationTimestamp") or ""), one["metadata"]["name"]))


async def find_used_permissions(work: Work, graph: Node, wanted: set[tuple[str, str]]) -> frozenset[str]:
    """The names of unneeded accounts, roles and bindings that pods still use. Raises: ApiError."""
    unwanted = {one["metadata"]["name"] for one in work.cache.owned(graph) if one["kind"] in _RIGHTS}
    unwanted -= {name for kind, name in wanted if kind in _RIGHTS}
    if not unwanted:
        return frozenset()
    used = {(one.get("spec") or {}).get("serviceAccountName") for one in await pods_of(work, graph)}
    return frozenset(name for name in unwanted if account_of(name) in used)


def _trim(pod: Node) -> None:
    """Leaves what is read of a pod, which may be a hundredth of it."""
    metadata, account = pod["metadata"], (pod.get("spec") or {}).get("serviceAccountName")
    pod["metadata"] = {name: metadata[name] for name in _METADATA if name in metadata}
    pod["spec"] = {"serviceAccountName": account} if account else {}


async def pods_of_job(cluster: Cluster, job: Node) -> list[Node]:
    """The pods of a Job, few as they are. Raises: ApiError."""
    metadata = job["metadata"]
    return (await cluster.list(PODS, metadata["namespace"], labels=f"job-name={metadata['name']}", limit=JOB_PODS)).items
