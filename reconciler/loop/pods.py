"""Reads pods, only when a decision depends on them; pods aren't watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.resources import PODS
from dynamo_webhooks.reconciler.render.discovery import account_of
from dynamo_webhooks.reconciler.render.names import GRAPH_NAME

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work

_RIGHTS: Final = frozenset({"ServiceAccount", "Role", "RoleBinding"})
_ENDED: Final = ("Succeeded", "Failed")
_PAGE: Final = 100  # pods; anybody may label large ones
_METADATA: Final = ("name", "labels", "creationTimestamp", "deletionTimestamp")


async def pods_of(work: Work, graph: Node) -> list[Node]:
    """The unfinished pods of a graph, oldest first, with their account and status alone. Raises: ApiError."""
    metadata = graph["metadata"]
    found = await work.cluster.list(PODS, metadata["namespace"], labels=f"{GRAPH_NAME}={metadata['name']}", limit=_PAGE, trim=_trim)
    alive = [one for one in found.items if (one.get("status") or {}).get("phase") not in _ENDED]
    return sorted(alive, key=lambda one: (str(one["metadata"].get("creationTimestamp") or ""), one["metadata"]["name"]))


async def rights_in_use(work: Work, graph: Node, wanted: set[tuple[str, str]]) -> frozenset[str]:
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
