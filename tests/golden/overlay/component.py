"""Rules of components that the Go operator 1.2 has in another form."""

from __future__ import annotations

from typing import Any, Final

from dynamo_webhooks.policies.at import At, Hits
from dynamo_webhooks.policies.components import interpod_failover, interpod_gms, is_enabled, node_count, read_failover
from dynamo_webhooks.policies.gpu import Gpus
from dynamo_webhooks.policies.grove import explain_off_grove
from dynamo_webhooks.policies.patterns import LABEL_WANTED, is_label, whole_number
from dynamo_webhooks.policies.rule import COMPONENT_V1ALPHA1, GRAPH_COMPONENT
from tests.golden.overlay.declare import same, variant

_FAULTS: Final = 2**30  # from here on the name check overflows
_LIMIT: Final = ("resources", "limits", "gpu")

same("gms-interpod-immutable", "failover-interpod-immutable", "dgd-node-layout-immutable", where=GRAPH_COMPONENT)
same("epp-inferencepool-unavailable", where=GRAPH_COMPONENT)


def _gpus(service: dict[str, Any]) -> Gpus:
    """The GPUs of a v1alpha1 service: plain digits of the limits, else of the requests; the limit is blamed whatever was read."""
    for part in ("limits", "requests"):
        text = ((service.get("resources") or {}).get(part) or {}).get("gpu")
        if text:
            return Gpus(whole_number(text), text, _LIMIT)
    return Gpus(0, "", _LIMIT)


@variant("gms-requires-gpu", where=COMPONENT_V1ALPHA1, when=("gpuMemoryService",))
def gms_requires_gpu(at: At) -> Hits:
    gpus = _gpus(at.value)
    if is_enabled(at.value["gpuMemoryService"]) and (gpus.number is None or gpus.number < 1):
        yield at.forbidden("gpuMemoryService", f'must have at least one GPU, got "{gpus.seen}"')


@variant("gms-extra-client-name", where=COMPONENT_V1ALPHA1, when=("gpuMemoryService",))
def gms_extra_client_name(at: At) -> Hits:
    """A service that is off is looked at, too."""
    for index, name in enumerate(at.value["gpuMemoryService"].get("extraClientContainers") or ()):
        if not is_label(name or ""):
            yield at.invalid(("gpuMemoryService", "extraClientContainers", index), name, LABEL_WANTED)


def _has_lone_failover(service: dict[str, Any]) -> bool:
    failover = service.get("failover")
    return is_enabled(failover) and failover.get("mode") == "interPod" and not is_enabled(service.get("gpuMemoryService"))


@variant("failover-interpod-gpu-invalid", where=COMPONENT_V1ALPHA1, when=("failover",))
def failover_interpod_gpu_invalid(at: At) -> Hits:
    gpus = _gpus(at.value)
    if _has_lone_failover(at.value) and gpus.number is None:
        yield at.invalid(gpus.path, gpus.seen, f'must be a whole number of GPUs, got "{gpus.seen}"')


@variant("failover-interpod-requires-gpu", where=COMPONENT_V1ALPHA1, when=("failover",))
def failover_interpod_requires_gpu(at: At) -> Hits:
    gpus = _gpus(at.value)
    if _has_lone_failover(at.value) and gpus.number is not None and gpus.number < 1:
        yield at.forbidden("", f'must have at least one GPU, got "{gpus.seen}"')


def _shadows(component: dict[str, Any]) -> int:
    """The written number; an absent one is 0."""
    return int((read_failover(component) or {}).get("numShadows") or 0)


@variant("failover-interpod-shadows")
def failover_interpod_shadows(at: At) -> Hits:
    shadows = _shadows(at.value)
    if interpod_failover(at.value) and shadows < 1:
        yield at.invalid("experimental.failover.numShadows", shadows, f"must be 1 or more, got {shadows}")


@variant("failover-shadows-immutable", where=GRAPH_COMPONENT)
def failover_shadows_immutable(at: At) -> Hits:
    if at.old is not None and interpod_failover(at.value) and interpod_failover(at.old):
        now, before = _shadows(at.value), _shadows(at.old)
        if now != before:
            yield at.immutable("experimental.failover.numShadows", f"must stay {before} after creation, got {now}", value=now)


@variant("node-count-limit", where=GRAPH_COMPONENT)
def node_count_limit(at: At) -> Hits:
    """Refused only where the name check of a service with an inter-pod GPU memory service on Grove overflows."""
    nodes = node_count(at.value)
    if nodes >= _FAULTS and interpod_gms(at.value) and not explain_off_grove(at):
        yield at.invalid("multinode.nodeCount", nodes, f"must be less than {_FAULTS}, got {nodes}")
