"""Pods that are restored from a snapshot: the shape that the agent expects, and offers of snapshots to new pods.

The reconciler writes offers, the webhook of pods reads them. The pods of a checkpoint's Job share volumes and settings with restored ones.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ....api.paths import Path
from ....conversion.lens.protocol import Fields
from .. import names
from ..errors import RenderError
from ..merge import object_items, string_map
from ..settings import CheckpointSettings
from .identity import format_job_name, is_job_name
from .storage import VOLUME, Storage, find_configured_storage

CONTROL_PATH: Final = "/snapshot-control"
_CONTROL: Final = "snapshot-control"
_CONTROL_VARIABLE: Final = "DYN_SNAPSHOT_CONTROL_DIR"
_MAX_FAILURES: Final = 2**31 - 1  # of the startup probe: only the agent knows how long a restore takes
_POD_FACTS: Final = {
    "pod_name": "metadata.name",
    "pod_uid": "metadata.uid",
    "pod_namespace": "metadata.namespace",
    "dyn_namespace": f"metadata.labels['{names.NAMESPACE}']",
    "dyn_namespace_worker_suffix": f"metadata.labels['{names.WORKER_HASH}']",
    "dyn_component": f"metadata.labels['{names.COMPONENT_TYPE}']",
    "dyn_parent_dgd_k8s_name": f"metadata.labels['{names.GRAPH_NAME}']",
    "dyn_parent_dgd_k8s_namespace": "metadata.namespace",
}


class Restore(NamedTuple):
    """The snapshot that a component's pods are restored from."""

    hash: str
    version: str
    storage: Storage
    seccomp: str  # profile; empty for none


def list_targets(component: Fields) -> list[str]:
    """The containers of a component that are restored."""
    experimental = component.get("experimental") or {}
    failover = experimental.get("failover")
    if isinstance(failover, dict) and failover.get("mode") != "InterPod":
        return ["engine-0", "engine-1"]
    return [str((experimental.get("checkpoint") or {}).get("targetContainerName") or names.MAIN)]


def restore_pod_spec(pod: Fields, targets: Sequence[str], restore: Restore, path: Path) -> None:
    """Restore the containers `targets` of a cold pod spec, in place. Raises: RenderError if it lacks one, or another volume is there."""
    listed = object_items(pod.get("containers"))
    containers = {entry.get("name"): entry for entry in listed}
    for name in targets:
        if name not in containers:
            where = (*path, "experimental", "checkpoint", "targetContainerName")
            raise RenderError(where, f'restore target container "{name[:80]}" not found in pod spec')
    set_seccomp_profile(pod, restore.seccomp)
    for container in (containers[name] for name in targets):
        at = (*path, "podTemplate", "spec", "containers", listed.index(container))
        container.pop("args", None)
        container["command"] = ["sleep", "infinity"]
        container["startupProbe"] = _waiting(container)
        add_storage(pod, container, restore.storage, at)
        add_control(pod, container, at)
        add_podinfo(pod, container, at)


def restore_pod_metadata(metadata: Fields, targets: Sequence[str], restore: Restore) -> Fields:
    """The metadata of a cold pod with the marks by which agents know what to restore."""
    annotations = {names.ARTIFACT_VERSION: restore.version, names.TARGET_CONTAINERS: ",".join(targets)}
    if restore.storage.configured:
        annotations |= {names.STORAGE_TYPE: "pvc", names.STORAGE_PATH: restore.storage.path}
    labels = {**metadata.get("labels", {}), names.RESTORE_TARGET: "true", names.CHECKPOINT_ID: restore.hash}
    annotations = {**metadata.get("annotations", {}), **annotations}
    return {**metadata, "labels": dict(sorted(labels.items())), "annotations": dict(sorted(annotations.items()))}


def list_images(template: Fields) -> Fields:
    """The images of a pod's containers, by name."""
    return {
        str(container.get("name")): container.get("image") for container in object_items((template.get("spec") or {}).get("containers"))
    }


def read_restore(pod: Fields, settings: CheckpointSettings) -> Restore:
    """Read which snapshot pods of a restored template are restored from. Raises: RenderError as `find_configured_storage`."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    volumes = {
        volume.get("name"): (volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in object_items(spec.get("volumes"))
    }
    mounts = (mount for container in object_items(spec.get("containers")) for mount in object_items(container.get("volumeMounts")))
    path = next((str(mount.get("mountPath")) for mount in mounts if mount.get("name") == VOLUME), "")
    kept = find_configured_storage(settings) or Storage(str(volumes.get(VOLUME) or ""), path, configured=False)
    labels, annotations = string_map(metadata.get("labels")), string_map(metadata.get("annotations"))
    return Restore(labels.get(names.CHECKPOINT_ID, ""), annotations.get(names.ARTIFACT_VERSION, ""), kept, settings.seccomp_profile)


def strip_restore_marks(values: Mapping[str, str]) -> dict[str, str]:
    """Labels or annotations without those of snapshots, which only checkpoints and restored pods have."""
    return {key: value for key, value in values.items() if not key.startswith(names.SNAPSHOT)}


def _waiting(container: Fields) -> Fields:
    """The probe that waits until a container has been restored."""
    probe = next((container[kind] for kind in ("startupProbe", "livenessProbe", "readinessProbe") if container.get(kind)), None)
    if probe is None:
        probe = {"exec": {"command": ["cat", f"{CONTROL_PATH}/restore-complete"]}, "timeoutSeconds": 1}
    kept = {name: value for name, value in probe.items() if name != "initialDelaySeconds"}
    return {**kept, "periodSeconds": 1, "failureThreshold": _MAX_FAILURES, "successThreshold": 1}


def add_storage(pod: Fields, container: Fields, storage: Storage, path: Path) -> None:
    """Add the claim with the snapshots. Raises: RenderError if the container mounts another volume there."""
    volume: Fields = {"name": VOLUME, "persistentVolumeClaim": {"claimName": storage.claim}}
    _add(pod, container, volume, {"name": VOLUME, "mountPath": storage.path}, path)


def add_podinfo(pod: Fields, container: Fields, path: Path) -> None:
    """Add what a restored process must learn anew about its pod. Raises: RenderError as `add_storage`."""
    facts = [{"path": name, "fieldRef": {"fieldPath": field}} for name, field in _POD_FACTS.items()]
    mount = {"name": "podinfo", "mountPath": "/etc/podinfo", "readOnly": True}
    _add(pod, container, {"name": "podinfo", "downwardAPI": {"items": facts}}, mount, path)


def add_control(pod: Fields, container: Fields, path: Path) -> None:
    """Add a volume for signals of container and agent, and a variable with its path, unless set. Raises: RenderError as `add_storage`."""
    mount = {"name": _CONTROL, "mountPath": CONTROL_PATH, "subPath": container["name"]}
    _add(pod, container, {"name": _CONTROL, "emptyDir": {}}, mount, path)
    env = object_items(container.get("env"))
    if not any(variable.get("name") == _CONTROL_VARIABLE for variable in env):
        container["env"] = [*env, {"name": _CONTROL_VARIABLE, "value": CONTROL_PATH}]


def _add(pod: Fields, container: Fields, volume: Fields, mount: Fields, path: Path) -> None:
    """Add a volume and its mount, in place; those of the same name stay as the user wrote them."""
    volumes, mounts = object_items(pod.get("volumes")), object_items(container.get("volumeMounts"))
    if not any(other.get("name") == volume["name"] for other in volumes):
        pod["volumes"] = [*volumes, volume]
    if any(other.get("name") == mount["name"] for other in mounts):
        return
    taken = next((other for other in mounts if other.get("mountPath") == mount["mountPath"]), None)
    if taken is not None:
        where = (*path, "volumeMounts", mounts.index(taken), "mountPath")
        raise RenderError(where, f"must not be {mount['mountPath']}, where volume {mount['name']} of the checkpoint is mounted")
    container["volumeMounts"] = [*mounts, mount]


def set_seccomp_profile(pod: Fields, profile: str) -> None:
    """Give a pod the seccomp profile under which snapshots work; an empty one is none."""
    if profile:
        seccomp = {"type": "Localhost", "localhostProfile": profile}
        pod["securityContext"] = {**(pod.get("securityContext") or {}), "seccompProfile": seccomp}


def format_offer(restore: Restore, targets: Sequence[str], image: str, owner: tuple[str, str]) -> str:
    """The offer of a snapshot to new pods of an object, by kind and name, whose `targets` must run `image`; any image if that is empty."""
    return json.dumps({"of": owner, "restore": restore, "targets": targets, "image": image}, separators=(",", ":"))


def read_owner(offer: str) -> tuple[str, str]:
    """The kind and name of the object that an offer is for. Raises: ValueError, KeyError, TypeError for a text that is no offer."""
    kind, name = json.loads(offer)["of"]
    return str(kind), str(name)


def restore_pod(pod: Fields, offer: str, settings: CheckpointSettings) -> Fields | None:
    """A copy of a cold pod that is restored from the offered snapshot.

    Users who may annotate a checkpoint can write an offer. So the storage of snapshots and the seccomp profile must be the configured ones;
    an offer of others counts as damaged. A claim that an agent mounts isn't configured, and is taken as the offer names it.
    None for a pod that is restored already, takes a snapshot, lacks a container, or has another image.
    Raises: ValueError, KeyError, TypeError, AttributeError for a damaged pod or offer.
    """
    content = json.loads(offer)
    (identity, version, storage, seccomp), targets = content["restore"], content["targets"]
    _check_offer(content, settings)
    labels = pod["metadata"].get("labels") or {}
    if names.RESTORE_TARGET in labels or names.CHECKPOINT_SOURCE in labels:
        return None
    images = list_images(pod)
    if content["image"] and any(images.get(name) != content["image"] for name in targets):
        return None
    made, restore = copy.deepcopy(pod), Restore(identity, version, Storage(*storage), seccomp)
    try:
        restore_pod_spec(made["spec"], targets, restore, ("spec",))
    except RenderError:
        return None
    made["metadata"] = restore_pod_metadata(made["metadata"], targets, restore)
    return made


def _check_offer(offer: Fields, settings: CheckpointSettings) -> None:
    """Raises: ValueError for an offer that no reconciler of this configuration writes, or that makes a pod which the API server refuses."""
    (identity, version, (claim, path, configured), seccomp), targets = offer["restore"], offer["targets"]
    if not all(isinstance(text, str) for text in (identity, version, claim, path, *targets)) or not 0 < len(targets) == len({*targets}):
        raise ValueError("must have texts, and containers")
    if not (is_job_name(format_job_name(identity, version)) and path.startswith("/") and ":" not in path):
        raise ValueError("must have names and a path that pods can have")
    wanted = find_configured_storage(settings) or Storage(claim, path, configured=False)
    if seccomp != settings.seccomp_profile or configured is not wanted.configured or (claim, path) != wanted[:2]:
        raise ValueError("must have the storage and the seccomp profile of the configuration")
