"""Components outside a graph."""

from ..at import At, Findings
from ..components import interpod_failover, interpod_gms
from ..review import UPDATE, Fields
from ..rule import DCD, Stage, differs, rule
from ..words import format_words, quote_once


@differs("inter-pod layouts are rendered only on Grove, for graphs", lacking=True)
@rule("DYN310", where={DCD: "spec"}, when="experimental", stage=Stage.GMS)
def dcd_interpod_unsupported(at: At) -> Findings:
    """A standalone component has its GPU memory service or standby engines in their own pods.

    Why
        This layout needs several cliques of one Grove set, and only graphs have one. A standalone component can't run this way.

    Fix
        Use mode {intraPod}, or make the component part of a graph on Grove.

    Example
         spec:
           type: worker
           podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
           experimental:
             gpuMemoryService:
        -      mode: InterPod  # expect
        -    failover:
        -      mode: InterPod  # expect
        -      numShadows: 1
        +      mode: IntraPod
    """
    text = format_words('must not be "{interPod}" for a component outside a graph')
    if interpod_gms(at.value):
        yield at.forbidden("experimental.gpuMemoryService.mode", text)
    if interpod_failover(at.value):
        yield at.forbidden("experimental.failover.mode", text)


@rule("DYN721", where={DCD: "spec"}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.4")
def dcd_topology_immutable(at: At) -> Findings:
    """The topology constraint of a standalone component changes after creation.

    Why
        Pods are placed once; a new constraint would apply only to new replicas.

    Fix
        Restore the old constraint, or create another component with the new one.

    Example
         spec: {topologyConstraint: {packDomain: rack}}
         --- # becomes
         spec:
        -  topologyConstraint: {packDomain: host}  # expect
        +  topologyConstraint: {packDomain: rack}
        +  replicas: 2
           podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.5.0"}]}}
    """
    if at.old is None:
        return
    now, before = _domain(at.value), _domain(at.old)
    if now != before:
        shown = [f'"{quote_once(domain)}"' if domain is not None else "unset" for domain in (before, now)]
        yield at.immutable("topologyConstraint", f"must stay with packDomain {shown[0]} after creation, got {shown[1]}")


def _domain(component: Fields) -> str | None:
    constraint = component.get("topologyConstraint")
    return None if constraint is None else str(constraint.get("packDomain") or "")
