"""Rules of components that the Go operator 1.2 has in another form."""

from __future__ import annotations

from typing import Any, Final

from dynamo_webhooks.policies.at import At, Findings
from dynamo_webhooks.policies.components import is_enabled
from dynamo_webhooks.policies.gpu import Gpus
from dynamo_webhooks.policies.patterns import LABEL_WANTED, is_label, parse_whole_number
from dynamo_webhooks.policies.rule import COMPONENT_V1ALPHA1, GRAPH_COMPONENT
from tests.golden.overlay.declare import same, variant

_LIMIT: Final = ("resources", "limits", "gpu")

same("dgd-node-layout-immutable", "epp-inferencepool-unavailable", where=GRAPH_COMPONENT)


def _gpus(service: dict[str, Any]) -> Gpus:
    """The GPUs of a v1alpha1 service: plain digits of the limits, else of the requests; the limit is blamed whatever was read."""
    for part in ("limits", "requests"):
        text = ((service.get("resources") or {}).get(part) or {}).get("gpu")
        if text:
            return Gpus(parse_whole_number(text), text, _LIMIT)
    return Gpus(0, "", _LIMIT)


@variant("gms-requires-gpu", where=COMPONENT_V1ALPHA1, when=("gpuMemoryService",))
def gms_requires_gpu(at: At) -> Findings:
    gpus = _gpus(at.value)
    if is_enabled(at.value["gpuMemoryService"]) and (gpus.number is None or gpus.number < 1):
        yield at.forbidden("gpuMemoryService", f'must have at least one GPU, got "{gpus.text}"')


@variant("gms-extra-client-name", where=COMPONENT_V1ALPHA1, when=("gpuMemoryService",))
def gms_extra_client_name(at: At) -> Findings:
    """A service that is off is looked at, too."""
    for index, name in enumerate(at.value["gpuMemoryService"].get("extraClientContainers") or ()):
        if not is_label(name or ""):
            yield at.invalid(("gpuMemoryService", "extraClientContainers", index), name, LABEL_WANTED)


def _has_lone_failover(service: dict[str, Any]) -> bool:
    failover = service.get("failover")
    return is_enabled(failover) and failover.get("mode") == "interPod" and not is_enabled(service.get("gpuMemoryService"))


@variant("failover-interpod-gpu-invalid", where=COMPONENT_V1ALPHA1, when=("failover",))
def failover_interpod_gpu_invalid(at: At) -> Findings:
    gpus = _gpus(at.value)
    if _has_lone_failover(at.value) and gpus.number is None:
        yield at.invalid(gpus.path, gpus.text, f'must be a whole number of GPUs, got "{gpus.text}"')
