"""Pods that are restored from a snapshot: the shape that the agent expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ....api.paths import Path
from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..merge import object_items
from ..names import ARTIFACT_VERSION, CHECKPOINT_ID, MAIN, RESTORE_TARGET, SNAPSHOT, STORAGE_PATH, STORAGE_TYPE, TARGET_CONTAINERS
from . import storage as stored
from .storage import Storage
from .volumes import CONTROL_PATH, add, control, podinfo, set_seccomp_profile, tell_control_path

FOR_EVER: Final = 2**31 - 1  # failures of the startup probe: only the agent knows how long a restore takes
_ENGINES: Final = ("engine-0", "engine-1")
_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")


class Restore(NamedTuple):
    """What a component's pods are restored from."""

    hash: str
    version: str
    storage: Storage
    seccomp: str  # profile; empty for none


def targets_of(component: Fields) -> list[str]:
    """The containers of a component that are restored."""
    experimental = component.get("experimental") or {}
    failover = experimental.get("failover")
    if isinstance(failover, dict) and failover.get("mode") != "InterPod":
        return [*_ENGINES]
    return [str((experimental.get("checkpoint") or {}).get("targetContainerName") or MAIN)]


def restore_pod_spec(pod: Fields, targets: Sequence[str], restore: Restore, path: Path) -> None:
    """Change a cold pod spec into one whose containers `targets` are restored, in place. It costs no more than the spec.

    Raises: RenderError if it lacks a container, or mounts something else where the snapshot is.
    """
    containers = {one.get("name"): one for one in object_items(pod.get("containers"))}
    for name in targets:
        if name not in containers:
            where = (*path, "experimental", "checkpoint", "targetContainerName")
            raise RenderError(where, f'restore target container "{name[:80]}" not found in pod spec')
    set_seccomp_profile(pod, restore.seccomp)
    claim: Fields = {"name": stored.VOLUME, "persistentVolumeClaim": {"claimName": restore.storage.claim}}
    mount: Fields = {"name": stored.VOLUME, "mountPath": restore.storage.path}
    for name in targets:
        container, at = (
            containers[name],
            (*path, "podTemplate", "spec", "containers", object_items(pod["containers"]).index(containers[name])),
        )
        container.pop("args", None)
        container["command"] = ["sleep", "infinity"]
        container["startupProbe"] = _waiting(container)
        for pair in ((claim, mount), control(name), podinfo()):
            add(pod, container, pair, at)
        tell_control_path(container)


def restore_pod_metadata(metadata: Fields, targets: Sequence[str], restore: Restore) -> Fields:
    """The metadata of a cold pod with the marks by which agents know what to restore."""
    annotations = {ARTIFACT_VERSION: restore.version, TARGET_CONTAINERS: ",".join(targets)}
    if restore.storage.configured:
        annotations |= {STORAGE_TYPE: "pvc", STORAGE_PATH: restore.storage.path}
    labels = {**metadata.get("labels", {}), RESTORE_TARGET: "true", CHECKPOINT_ID: restore.hash}
    annotations = {**metadata.get("annotations", {}), **annotations}
    return {**metadata, "labels": dict(sorted(labels.items())), "annotations": dict(sorted(annotations.items()))}


def strip_restore_marks(values: Mapping[str, str]) -> dict[str, str]:
    """Labels or annotations without those of snapshots, which only checkpoints and restored pods have."""
    return {key: value for key, value in values.items() if not key.startswith(SNAPSHOT)}


def _waiting(container: Fields) -> Fields:
    """The probe that waits until a container has been restored."""
    probe = next((container[kind] for kind in _PROBES if container.get(kind)), None)
    if probe is None:
        probe = {"exec": {"command": ["cat", f"{CONTROL_PATH}/restore-complete"]}, "timeoutSeconds": 1}
    kept = {name: value for name, value in probe.items() if name != "initialDelaySeconds"}
    return {**kept, "periodSeconds": 1, "failureThreshold": FOR_EVER, "successThreshold": 1}
