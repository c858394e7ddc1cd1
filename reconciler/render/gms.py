"""The GPU memory service inside one pod: containers that share GPUs through a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...api.quantity import is_quantity, whole
from ...policies.gpu import is_gpu
from .errors import RenderError
from .framework import main_of, path_of_main
from .graph import Graph, Member, experimental, object_name
from .merge import object_items, put_named
from .names import MAIN, claim_template
from .objects import make_child

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...api.paths import Path
    from ...conversion.lens.protocol import Fields
    from .pod.plan import PodPlan

CONTROL: Final = "gms-intrapod-control"
CONTROL_PATH: Final = "/gms-intrapod-control"
CLAIM: Final = "intrapod-shared-gpu"
SERVER: Final = "gms-server"
SERVER_COMMAND: Final = ("python3", "-m", "gpu_memory_service.cli.server")
SOCKET_DIRECTORY: Final = "GMS_SOCKET_DIR"
DEVICE_CLASS: Final = "gpu.nvidia.com"
_GPU_TOLERATION: Final = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def claim_templates(graph: Graph, member: Member) -> list[Fields]:
    """The claim template by which a component's containers share GPUs, if they do.

    Raises: RenderError if its number of GPUs is not an integer.
    """
    gms = experimental(member.fields, "gpuMemoryService")
    if gms is None or not (count := gpu_count(member.fields, member.path)):
        return []
    name, spec = f"{object_name(graph, member)}-gpu", claim_spec("gpus", gms, count)
    return [make_child("resource.k8s.io/v1", "ResourceClaimTemplate", name, graph.namespace, owner=graph.object, spec=spec)]


def claim_spec(request: str, gms: Fields, count: int) -> Fields:
    """The spec of a claim template: a number of devices of a class."""
    exactly = {"deviceClassName": gms.get("deviceClassName") or DEVICE_CLASS, "allocationMode": "ExactCount", "count": count}
    return {"spec": {"devices": {"requests": [{"name": request, "exactly": exactly}]}}}


def gpu_count(component: Fields, path: Path) -> int:
    """The GPUs of a component's main container: limits before requests, the alphabetically first of several names.

    Raises: RenderError if the amount is not an integer.
    """
    return gpus_of(main_of(component), path_of_main(component, path))


def gpus_of(container: Fields, path: Path) -> int:
    """The same of one container. Raises: RenderError if the amount is not an integer."""
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


def share_gpus(spec: Fields, plan: PodPlan) -> None:
    """Change a pod spec in place so that its containers share GPUs through a claim and a server container.

    Only for the intra-pod layout. Users set the engine's flag to load through the server.
    """
    gms = plan.wants("gpuMemoryService")
    if gms is None or gms.get("mode") == "InterPod":
        return
    clients = {MAIN, *(str(name) for name in gms.get("extraClientContainers") or ())}
    wire(spec, clients, MAIN, claim_template(plan.parent, plan.name))


def wire(spec: Fields, clients: Collection[object], server_like: str, template: str) -> None:
    """Change a pod spec in place so that `clients` share GPUs through a claim of the template and a server with the image of one."""
    for container in object_items(spec.get("containers")):
        if container.get("name") in clients:
            _join(container)
    image = next((one.get("image") for one in object_items(spec.get("containers")) if one.get("name") == server_like), None)
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
    if not any(one.get("key") == _GPU_TOLERATION["key"] and one.get("effect") == _GPU_TOLERATION["effect"] for one in given):
        spec["tolerations"] = [*given, dict(_GPU_TOLERATION)]


def _join(container: Fields) -> None:
    drop_gpus(container)
    put_named(container.setdefault("resources", {}), "claims", {"name": CLAIM})
    container["volumeMounts"] = [*object_items(container.get("volumeMounts")), {"name": CONTROL, "mountPath": CONTROL_PATH}]
    put_named(container, "env", {"name": SOCKET_DIRECTORY, "value": CONTROL_PATH})


def _server(image: object) -> Fields:
    out: Fields = {"name": SERVER, **({"image": image} if image else {}), "command": [*SERVER_COMMAND]}
    _join(out)
    # a native sidecar: starts before the engines, and runs as long as the pod
    return {**out, "restartPolicy": "Always"}
