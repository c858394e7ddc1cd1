"""DYN503: a request that doesn't describe GPUs which nobody can discover."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import DGDR, Hits, rule

_FIELDS = ("gpuSku", "vramMb", "numGpusPerNode")
_WHY = "it is off, and an operator restricted to a namespace can't see nodes"


@rule("DYN503", where={DGDR: ""}, needs=("operatorScope", "gpuDiscovery"), stage=Stage.REQUEST)
def dgdr_hardware_required(at: At) -> Hits:
    """A request doesn't describe its GPUs, and the operator can't discover them.

    Why
        An operator that is restricted to a namespace may not read nodes; with GPU discovery off it knows of the GPUs only what the
        request says, and the profiler needs all three: the model, its memory, and how many a node has.

    Fix
        Set `hardware.gpuSku`, `hardware.vramMb` and `hardware.numGpusPerNode`, or ask the cluster's admin to switch GPU discovery on.

    Bad
        ```yaml
        # facts: {operatorScope: namespace, gpuDiscovery: false}
        spec:  # expect
          backend: vllm
        ```
        One of the three isn't enough.
        ```yaml
        # facts: {operatorScope: namespace, gpuDiscovery: false}
        spec:
          hardware: {gpuSku: h200_sxm}  # expect
        ```

    Good
        ```yaml
        # facts: {operatorScope: namespace, gpuDiscovery: false}
        spec: {hardware: {gpuSku: h200_sxm, vramMb: 141000, numGpusPerNode: 8}}
        ```
        ```yaml
        spec: {backend: vllm}
        ```
    """
    missing = _missing(at)
    if missing and _undiscovered(at):
        text = f"must give {', '.join(missing)}, or GPU discovery must be switched on: {_WHY}"
        yield at.required("spec.hardware", text)


@dgdr_hardware_required.in_1_2(
    "Q-32",
    "G-18",
    "Q-30",
    because="the profiler needs all three fields; 1.2 requires any one, only on creation",
    on=(CREATE,),
)
def dgdr_hardware_required_in_1_2(at: At) -> Hits:
    """Any single field is enough, whatever its value."""
    if len(_missing(at)) == len(_FIELDS) and _undiscovered(at):
        text = f"must give one of {', '.join(_FIELDS)}, or GPU discovery must be switched on: {_WHY}"
        yield at.required("spec.hardware", text)


def _missing(at: At) -> list[str]:
    """The fields that are absent or empty text; numbers that make no sense are the business of another rule."""
    hardware = at.get("spec.hardware") or {}
    return [field for field in _FIELDS if hardware.get(field) in (None, "")]


def _undiscovered(at: At) -> bool:
    """Whether nobody else can know the GPUs; one fact that says otherwise is enough, so the other may be unknown."""
    facts = at.review.facts
    if facts.operatorScope == "cluster" or facts.gpuDiscovery is True:
        return False
    return at.fact("operatorScope") == "namespace" and at.fact("gpuDiscovery") is False
