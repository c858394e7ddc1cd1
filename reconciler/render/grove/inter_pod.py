"""GPUs shared between pods: servers that hold the weights of a rank, and engines. Grove attaches the claims."""

from typing import Final

from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..framework import VLLM
from ..gms import SOCKET_DIRECTORY, add_toleration, claim_spec, drop_gpus, gpu_count
from ..graph import Member, experimental, is_inter_pod
from ..merge import object_items, put_named
from ..names import MAIN
from ..pod.container import drop_probes
from ..pod.failover import LOCK
from ..workload import PodPlan
from . import names

_VOLUME: Final = "gms-shared"
_SHARED: Final = "/run/gms/shared"
_SERVE: Final = f"""\
rm -f {_SHARED}/gms_*.sock
trap 'ending=1; trap "" TERM INT; kill 0' TERM INT
python3 -m gpu_memory_service.cli.server &
server=$!
wait "$server"
status=$?
# a signal ends that wait early; the shell remembers how the server itself ends
if [ -n "$ending" ]; then
  wait "$server"
  status=$?
fi
exit "$status"
"""


def engines(member: Member) -> int:
    """The engines of each rank: one, and those on standby."""
    failover = (member.fields.get("experimental") or {}).get("failover") or {}
    if not is_inter_pod(member.fields, "failover"):
        return 1
    shadows = failover.get("numShadows")
    return 1 + (shadows if isinstance(shadows, int) else 1)


def check_failover(member: Member) -> None:
    """Refuse intra-pod failover with GPUs shared between pods. Raises: RenderError with the path of the mode."""
    if experimental(member.fields, "failover") is not None and not is_inter_pod(member.fields, "failover"):
        path = (*member.path, "experimental", "failover", "mode")
        raise RenderError(path, "must be InterPod where gpuMemoryService.mode is; use one mode for both")


def gpus(member: Member) -> int:
    """The GPUs of one rank. Raises: RenderError if there are none."""
    count = gpu_count(member.fields, member.path)
    if not count:
        raise RenderError((*member.path, "experimental", "gpuMemoryService"), "needs GPUs to share: the main container asks for none")
    return count


def claim_templates(member: Member) -> list[Fields]:
    """The templates of the claims, one for each rank."""
    gms: Fields = (member.fields.get("experimental") or {}).get("gpuMemoryService") or {}
    spec = claim_spec("gpu", gms, gpus(member))
    return [{"name": names.claim(member, rank), "templateSpec": spec} for rank in range(member.nodes)]


def sharing(member: Member) -> list[Fields]:
    """The claims that a replica's cliques share."""
    return [
        {
            "name": names.claim(member, rank),
            "scope": "PerReplica",
            "filter": {"childCliqueNames": [names.server(member, rank), names.engine(member, rank)]},
        }
        for rank in range(member.nodes)
    ]


def make_server(spec: Fields, plan: PodPlan, rank: int, count: int) -> None:
    """Change a component's pod spec in place into that of a rank's server."""
    main = _share(spec, rank)
    main["command"], main["args"] = ["bash", "-c"], [_SERVE]
    drop_probes(main)
    # two sockets for each GPU
    ready = f'[ "$(ls {_SHARED} | grep -c "^gms_.*\\.sock$")" -ge {2 * count} ]'
    main["startupProbe"] = {"exec": {"command": ["sh", "-c", ready]}, "periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 150}
    values = {"DYN_VLLM_GMS_SHADOW_MODE": "true"} if plan.framework == VLLM else {}
    put_named(main, "env", *({"name": name, "value": value} for name, value in {**values, SOCKET_DIRECTORY: _SHARED}.items()))
    spec["restartPolicy"] = "Always"


def make_engine(spec: Fields, plan: PodPlan, rank: int, *, failover: bool) -> None:
    """Change a component's pod spec in place into that of a rank's engine. One on standby starts as not ready."""
    main = _share(spec, rank)
    main["env"] = [one for one in object_items(main.get("env")) if one.get("name") != "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"]
    shadow: list[Fields] = [{"name": "DYN_VLLM_GMS_SHADOW_MODE", "value": "true"}] if plan.framework == VLLM else []
    index = {"fieldRef": {"fieldPath": "metadata.labels['grove.io/podclique-pod-index']"}}
    put_named(
        main,
        "env",
        *shadow,
        {"name": "ENGINE_ID", "valueFrom": index},
        {"name": SOCKET_DIRECTORY, "value": _SHARED},
        {"name": "FAILOVER_LOCK_PATH", "value": f"{_SHARED}/{LOCK}"},
        {"name": "DYN_SYSTEM_STARTING_HEALTH_STATUS", "value": "notready"},
    )
    # a group that has lost an engine is replaced as a whole
    spec["restartPolicy"] = "Never" if failover else "Always"


def _share(spec: Fields, rank: int) -> Fields:
    """Apply what servers and engines share; returns the main container."""
    main = next(one for one in object_items(spec["containers"]) if one.get("name") == MAIN)
    drop_gpus(main)
    add_toleration(spec)
    mount = {"name": _VOLUME, "mountPath": _SHARED, "subPathExpr": f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)/rank-{rank}"}
    main["volumeMounts"] = [*(one for one in object_items(main.get("volumeMounts")) if one.get("mountPath") != _SHARED), mount]
    put_named(spec, "volumes", {"name": _VOLUME, "hostPath": {"path": "/run/gms", "type": "DirectoryOrCreate"}})
    opened = {
        "name": "fix-gms-perms",
        **({"image": main["image"]} if main.get("image") else {}),
        "command": ["sh", "-c", f"chmod 1777 {_SHARED}"],
        "volumeMounts": [dict(mount)],
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False},
    }
    spec["initContainers"] = [*object_items(spec.get("initContainers")), opened]
    return main
