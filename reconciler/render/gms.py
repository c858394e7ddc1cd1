"""The GPU memory service inside one pod: containers that share GPUs through a claim, also in the pod that takes a checkpoint."""

from collections.abc import Collection
from typing import Any, Final

from ...api.paths import Path
from ...api.quantity import is_quantity, whole
from ...conversion.lens.protocol import Fields
from ...policies.components import DEVICE_CLASS
from ...policies.gpu import is_gpu
from .errors import RenderError
from .framework import main_of, path_of_main
from .graph import Graph, Member, read_experimental
from .merge import object_items, put_named
from .names import MAIN, claim_template
from .objects import make_child

CONTROL: Final = "gms-intrapod-control"
CONTROL_PATH: Final = "/gms-intrapod-control"
CLAIM: Final = "intrapod-shared-gpu"
SERVER: Final = "gms-server"
SOCKET_DIRECTORY: Final = "GMS_SOCKET_DIR"
SWITCHED_OFF: Final = "GMSSnapshotDisabled"
_NOT_PREPARED: Final = "GMSPodTemplateNotPrepared"
GATE: Final = "GMS + Snapshot is temporarily disabled; disable gpuMemoryService or enable the internal GMS + Snapshot gate"
_TEMPLATE: Final = "gpuMemoryService checkpoint pod template is missing"
_GPU_TOLERATION: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def make_claim_templates(graph: Graph, member: Member) -> list[Fields]:
    """The claim template by which a component's containers share GPUs, if they do. Raises: RenderError if it asks for parts of GPUs."""
    gms = read_experimental(member.fields, "gpuMemoryService")
    if gms is None or not (count := count_gpus(member.fields, member.path)):
        return []
    name, spec = claim_template(graph.name, member.name), make_claim_spec("gpus", gms, count)
    return [make_child("resource.k8s.io/v1", "ResourceClaimTemplate", name, owner=graph.object, spec=spec)]


def make_claim_spec(request: str, gms: Fields, count: int) -> Fields:
    """The spec of a claim template: a number of devices of a class."""
    exactly = {"deviceClassName": gms.get("deviceClassName") or DEVICE_CLASS, "allocationMode": "ExactCount", "count": count}
    return {"spec": {"devices": {"requests": [{"name": request, "exactly": exactly}]}}}


def count_gpus(component: Fields, path: Path) -> int:
    """The GPUs of a component's main container. Raises: RenderError as `count_container_gpus`."""
    return count_container_gpus(main_of(component), path_of_main(component, path))


def count_container_gpus(container: Fields, path: Path) -> int:
    """The GPUs of a container: limits before requests, the first of several names. Raises: RenderError if the amount is not an integer."""
    resources = container.get("resources") or {}
    for part in ("limits", "requests"):
        amounts = {name: amount for name, amount in (resources.get(part) or {}).items() if is_gpu(name) and amount is not None}
        if amounts:
            amount = amounts[min(amounts)]
            count = whole(amount) if is_quantity(amount) else None
            if count is None:
                where = (*path, "resources", part)
                raise RenderError(where, f"must ask for whole GPUs to share them, got {str(amount)[:40]!r}")
            return count
    return 0


def wire(spec: Fields, clients: Collection[object], server_like: str, template: str) -> None:
    """Change a pod spec in place so that `clients` share GPUs through a claim of the template and a server with the image of one."""
    for container in object_items(spec.get("containers")):
        if container.get("name") in clients:
            _join(container)
    image = next(
        (candidate.get("image") for candidate in object_items(spec.get("containers")) if candidate.get("name") == server_like), None
    )
    spec["initContainers"] = [*object_items(spec.get("initContainers")), _server(image)]
    put_named(spec, "resourceClaims", {"name": CLAIM, "resourceClaimTemplateName": template})
    add_toleration(spec)
    put_named(spec, "volumes", {"name": CONTROL, "emptyDir": {}})


def drop_gpus(container: Fields) -> None:
    """Remove GPUs from a container's resources, in place: the claim provides them."""
    resources = dict(container.get("resources") or {})
    for part in ("limits", "requests"):
        rest = {name: amount for name, amount in (resources.pop(part, None) or {}).items() if not is_gpu(name)}
        if rest:
            resources[part] = rest
    container.pop("resources", None)
    if resources:
        container["resources"] = resources


def add_toleration(spec: Fields) -> None:
    """Tolerate the taint of GPU nodes: nothing else adds that to a pod without GPUs in its limits."""
    given = object_items(spec.get("tolerations"))
    if not any(
        toleration.get("key") == _GPU_TOLERATION["key"] and toleration.get("effect") == _GPU_TOLERATION["effect"] for toleration in given
    ):
        spec["tolerations"] = [*given, dict(_GPU_TOLERATION)]


def _join(container: Fields) -> None:
    drop_gpus(container)
    put_named(container.setdefault("resources", {}), "claims", {"name": CLAIM})
    container["volumeMounts"] = [*object_items(container.get("volumeMounts")), {"name": CONTROL, "mountPath": CONTROL_PATH}]
    put_named(container, "env", {"name": SOCKET_DIRECTORY, "value": CONTROL_PATH})


def _server(image: object) -> Fields:
    out: Fields = {"name": SERVER, **({"image": image} if image else {}), "command": ["python3", "-m", "gpu_memory_service.cli.server"]}
    _join(out)
    # a native sidecar: starts before the engines, and runs as long as the pod
    return {**out, "restartPolicy": "Always"}


def shares_gpus(checkpoint: Fields) -> bool:
    """Whether a checkpoint is of a worker with the GPU memory service."""
    service = (checkpoint.get("spec") or {}).get("gpuMemoryService")
    return isinstance(service, dict) and service.get("enabled") is True


def find_refusal(checkpoint: Fields, *, gate: bool) -> tuple[str, str] | None:
    """The reason and the message why a checkpoint with the GPU memory service can't be taken; `gate` is the operator's."""
    if not shares_gpus(checkpoint):
        return None
    if not gate:
        return SWITCHED_OFF, f"spec.gpuMemoryService: {GATE}"
    service, job = checkpoint["spec"]["gpuMemoryService"], checkpoint["spec"].get("job") or {}
    mode = str(service.get("mode") or "")
    if mode.lower() not in ("", "intrapod"):
        return _NOT_PREPARED, f'gpuMemoryService checkpoint jobs for mode "{mode[:40]}" are not implemented'
    pod = (job.get("podTemplateSpec") or {}).get("spec") or {}
    clients = [str(job.get("targetContainerName") or MAIN), *(str(name) for name in service.get("extraClientContainers") or ())]
    lacking = _explain_lacking(pod, clients)
    return (_NOT_PREPARED, lacking) if lacking else None


def _explain_lacking(pod: Fields, clients: list[str]) -> str:
    """Name the first thing that a pod lacks; empty when it is prepared."""
    if CLAIM not in _names(pod.get("resourceClaims")):
        return f'{_TEMPLATE} pod resource claim "{CLAIM}"'
    if CONTROL not in _names(pod.get("volumes")):
        return f'{_TEMPLATE} volume "{CONTROL}"'
    servers = [container for container in object_items(pod.get("initContainers")) if container.get("name") == SERVER]
    if not servers:
        return f'{_TEMPLATE} init sidecar "{SERVER}"'
    containers = {container.get("name"): container for container in object_items(pod.get("containers"))}
    for number, name in enumerate(clients):
        if name not in containers:
            return f'{_TEMPLATE} {"extra client" if number else "target"} container "{name[:80]}"'
    wired = (_unwired(container) for container in (containers[clients[0]], servers[0], *(containers[name] for name in clients[1:])))
    return next((text for text in wired if text), "")


def _unwired(container: Fields) -> str:
    start = f'gpuMemoryService checkpoint container "{container["name"]}" is missing'
    if CLAIM not in _names((container.get("resources") or {}).get("claims")):
        return f'{start} resource claim "{CLAIM}"'
    mounts = [mount for mount in object_items(container.get("volumeMounts")) if mount.get("name") == CONTROL]
    if not any(mount.get("mountPath") == CONTROL_PATH for mount in mounts):
        return f"{start} {CONTROL} mount at {CONTROL_PATH}"
    directories = [variable.get("value") for variable in object_items(container.get("env")) if variable.get("name") == SOCKET_DIRECTORY]
    return "" if CONTROL_PATH in directories else f"{start} {SOCKET_DIRECTORY}={CONTROL_PATH}"


def _names(entries: Any) -> set[Any]:
    return {entry.get("name") for entry in object_items(entries)}
