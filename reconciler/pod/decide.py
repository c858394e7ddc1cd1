"""Decides the changes of one pod: it gets the label of its node's place, or is replaced. Pure."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...kube.protocol import Node
from ..common.keys import controller_reference
from ..render.gms import SERVER
from ..render.merge import object_items, string_map
from ..render.names import RESTORE_TARGET, TARGET_CONTAINERS, TOPOLOGY_LABEL

_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "labels", "ownerReferences", "deletionTimestamp")
_ANNOTATIONS: Final = (TOPOLOGY_LABEL, TARGET_CONTAINERS)
_LISTS: Final = ("initContainerStatuses", "containerStatuses")
_STATUS: Final = ("name", "state", "started", "restartCount")


class PodChange(NamedTuple):
    """The changes of one pod."""

    labels: Mapping[str, str] = {}  # to add
    lacking: str = ""  # why it gets none, though it needs one
    broken: str = ""  # why it is replaced


def trim_pod(pod: Node) -> None:
    """Drops what isn't read of a pod, often nine tenths of it."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    annotations = string_map(metadata.get("annotations"))
    pod["metadata"] = {name: metadata[name] for name in _METADATA if name in metadata}
    pod["metadata"]["annotations"] = {name: annotations[name] for name in _ANNOTATIONS if name in annotations}
    pod["spec"] = {"nodeName": spec["nodeName"]} if spec.get("nodeName") else {}
    pod["status"] = {name: [_light(container) for container in object_items(status.get(name))] for name in _LISTS}


def find_missing_label(pod: Node) -> str:
    """The label of its node that a scheduled pod lacks, though its annotation names it; empty for other pods."""
    metadata = pod["metadata"]
    key = string_map(metadata.get("annotations")).get(TOPOLOGY_LABEL, "")
    scheduled = (pod.get("spec") or {}).get("nodeName") and not metadata.get("deletionTimestamp")
    return key if scheduled and key not in string_map(metadata.get("labels")) else ""


def decide(pod: Node, node: Mapping[str, Any] | None) -> PodChange:
    """Plan the changes of a pod. `node` is read for a pod that lacks a label, None if it isn't there."""
    if broken := _explain_loss(pod):
        return PodChange(broken=broken)
    key = find_missing_label(pod)
    if not key or node is None:
        return PodChange()
    place = string_map(node["metadata"].get("labels")).get(key)
    if place is None:
        name = node["metadata"]["name"]
        return PodChange(lacking=f"kvTransferPolicy needs label {key} of Node {name}, which lacks it: workers there don't know their place")
    return PodChange(labels={key: place})


def _explain_loss(pod: Node) -> str:
    """Explains why a restored pod serves no more: its GPU memory service has restarted without what the snapshot had put there.

    A pod that nothing controls stays: nothing would make it anew.
    """
    metadata, status = pod["metadata"], pod.get("status") or {}
    is_target = string_map(metadata.get("labels")).get(RESTORE_TARGET) == "true"
    if not is_target or metadata.get("deletionTimestamp") or controller_reference(pod) is None:
        return ""
    targets = string_map(metadata.get("annotations")).get(TARGET_CONTAINERS, "").split(",")
    begun = [
        _read_start(container)
        for container in object_items(status.get("containerStatuses"))
        if container.get("name") in targets and container.get("started")
    ]
    servers = [
        container
        for container in object_items(status.get("initContainerStatuses"))
        if container.get("name") == SERVER and container.get("restartCount")
    ]
    if not all(begun) or not any(server > first for server in map(_read_start, servers) for first in begun):
        return ""
    return f"its GPU memory service (container {SERVER}) restarted after it had been restored, and lost what the snapshot held"


def _read_start(container: Node) -> str:
    """Reads when a running container began to run, as RFC 3339 in UTC, whose order is that of time; empty for one that doesn't run."""
    return str((((container.get("state") or {}).get("running")) or {}).get("startedAt") or "")


def _light(container: Node) -> Node:
    return {name: container[name] for name in _STATUS if name in container}
