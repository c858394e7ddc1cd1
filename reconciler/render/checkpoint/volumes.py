"""Volumes and settings that the pods of a checkpoint's Job and restored pods share."""

from __future__ import annotations

from typing import Final

from ....api.paths import Path
from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..merge import object_items
from ..names import COMPONENT_TYPE, GRAPH_NAME, NAMESPACE, WORKER_HASH

Pair = tuple[dict[str, object], dict[str, object]]  # a volume and its mount
CONTROL: Final = "snapshot-control"
CONTROL_PATH: Final = "/snapshot-control"
CONTROL_VARIABLE: Final = "DYN_SNAPSHOT_CONTROL_DIR"
PODINFO: Final = "podinfo"
_POD_FACTS: Final = {
    "pod_name": "metadata.name",
    "pod_uid": "metadata.uid",
    "pod_namespace": "metadata.namespace",
    "dyn_namespace": f"metadata.labels['{NAMESPACE}']",
    "dyn_namespace_worker_suffix": f"metadata.labels['{WORKER_HASH}']",
    "dyn_component": f"metadata.labels['{COMPONENT_TYPE}']",
    "dyn_parent_dgd_k8s_name": f"metadata.labels['{GRAPH_NAME}']",
    "dyn_parent_dgd_k8s_namespace": "metadata.namespace",
}


def podinfo() -> Pair:
    """What a restored process must learn anew about its pod."""
    facts = [{"path": path, "fieldRef": {"fieldPath": field}} for path, field in _POD_FACTS.items()]
    return {"name": PODINFO, "downwardAPI": {"items": facts}}, {"name": PODINFO, "mountPath": "/etc/podinfo", "readOnly": True}


def control(container: str) -> Pair:
    """Where a container and the agent leave signs for each other."""
    return {"name": CONTROL, "emptyDir": {}}, {"name": CONTROL, "mountPath": CONTROL_PATH, "subPath": container}


def add(pod: Fields, container: Fields, pair: Pair, path: Path) -> None:
    """Add a volume and its mount, in place; those of the same name stay as the user wrote them.

    Raises: RenderError if the container mounts another volume there.
    """
    volume, mount = pair
    volumes, mounts = object_items(pod.get("volumes")), object_items(container.get("volumeMounts"))
    if not any(one.get("name") == volume["name"] for one in volumes):
        pod["volumes"] = [*volumes, volume]
    if any(one.get("name") == mount["name"] for one in mounts):
        return
    taken = next((one for one in mounts if one.get("mountPath") == mount["mountPath"]), None)
    if taken is not None:
        where = (*path, "volumeMounts", mounts.index(taken), "mountPath")
        raise RenderError(where, f"must not be {mount['mountPath']}, where volume {mount['name']} of the checkpoint is mounted")
    container["volumeMounts"] = [*mounts, mount]


def tell_control_path(container: Fields) -> None:
    """Tell a container where the control directory is, unless it has been told."""
    env = object_items(container.get("env"))
    if not any(one.get("name") == CONTROL_VARIABLE for one in env):
        container["env"] = [*env, {"name": CONTROL_VARIABLE, "value": CONTROL_PATH}]


def set_seccomp_profile(pod: Fields, profile: str) -> None:
    """Give a pod the seccomp profile under which snapshots work; an empty one is none."""
    if profile:
        seccomp = {"type": "Localhost", "localhostProfile": profile}
        pod["securityContext"] = {**(pod.get("securityContext") or {}), "seccompProfile": seccomp}
