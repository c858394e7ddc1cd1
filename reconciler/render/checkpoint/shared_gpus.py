"""Checkpoints of workers that share GPUs through the GPU memory service: what their pod template must have."""

from __future__ import annotations

from typing import Any, Final

from ....conversion.lens.protocol import Fields
from ..gms import CLAIM, CONTROL, CONTROL_PATH, SERVER, SOCKET_DIRECTORY
from ..merge import object_items
from ..names import MAIN

SWITCHED_OFF: Final = "GMSSnapshotDisabled"
NOT_PREPARED: Final = "GMSPodTemplateNotPrepared"
GATE: Final = "GMS + Snapshot is temporarily disabled; disable gpuMemoryService or enable the internal GMS + Snapshot gate"
_TEMPLATE: Final = "gpuMemoryService checkpoint pod template is missing"


def shares_gpus(checkpoint: Fields) -> bool:
    """Whether a checkpoint is of a worker with the GPU memory service."""
    asked = (checkpoint.get("spec") or {}).get("gpuMemoryService")
    return isinstance(asked, dict) and asked.get("enabled") is True


def refusal_of(checkpoint: Fields, *, gate: bool) -> tuple[str, str] | None:
    """The reason and the message why a checkpoint with the GPU memory service can't be taken; `gate` is the operator's."""
    if not shares_gpus(checkpoint):
        return None
    if not gate:
        return SWITCHED_OFF, f"spec.gpuMemoryService: {GATE}"
    asked, job = checkpoint["spec"]["gpuMemoryService"], checkpoint["spec"].get("job") or {}
    mode = str(asked.get("mode") or "")
    if mode.lower() not in ("", "intrapod"):
        return NOT_PREPARED, f'gpuMemoryService checkpoint jobs for mode "{mode[:40]}" are not implemented'
    pod = (job.get("podTemplateSpec") or {}).get("spec") or {}
    clients = [str(job.get("targetContainerName") or MAIN), *(str(name) for name in asked.get("extraClientContainers") or ())]
    lacking = _lacking(pod, clients)
    return (NOT_PREPARED, lacking) if lacking else None


def _lacking(pod: Fields, clients: list[str]) -> str:
    """What a pod lacks first; empty when it is prepared."""
    if CLAIM not in _names(pod.get("resourceClaims")):
        return f'{_TEMPLATE} pod resource claim "{CLAIM}"'
    if CONTROL not in _names(pod.get("volumes")):
        return f'{_TEMPLATE} volume "{CONTROL}"'
    servers = [one for one in object_items(pod.get("initContainers")) if one.get("name") == SERVER]
    if not servers:
        return f'{_TEMPLATE} init sidecar "{SERVER}"'
    containers = {one.get("name"): one for one in object_items(pod.get("containers"))}
    for number, name in enumerate(clients):
        if name not in containers:
            return f'{_TEMPLATE} {"extra client" if number else "target"} container "{name[:80]}"'
    wired = (_unwired(one) for one in (containers[clients[0]], servers[0], *(containers[name] for name in clients[1:])))
    return next((text for text in wired if text), "")


def _unwired(container: Fields) -> str:
    start = f'gpuMemoryService checkpoint container "{container["name"]}" is missing'
    if CLAIM not in _names((container.get("resources") or {}).get("claims")):
        return f'{start} resource claim "{CLAIM}"'
    mounts = [one for one in object_items(container.get("volumeMounts")) if one.get("name") == CONTROL]
    if not any(one.get("mountPath") == CONTROL_PATH for one in mounts):
        return f"{start} {CONTROL} mount at {CONTROL_PATH}"
    told = [one.get("value") for one in object_items(container.get("env")) if one.get("name") == SOCKET_DIRECTORY]
    return "" if CONTROL_PATH in told else f"{start} {SOCKET_DIRECTORY}={CONTROL_PATH}"


def _names(entries: Any) -> set[Any]:
    return {one.get("name") for one in object_items(entries)}
