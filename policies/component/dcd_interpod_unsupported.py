"""DYN310: pods of several layouts in a component that has no graph."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import interpod_failover, interpod_gms
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import DCD, Difference, Hits, rule
from dynamo_webhooks.policies.words import words


@rule(
    "DYN310",
    where={DCD: "spec"},
    when=("gpuMemoryService", "failover"),
    stage=Stage.GMS,
    current_only=Difference(("G-12", "Q-09"), "inter-pod layouts are rendered only on Grove, for graphs"),
)
def dcd_interpod_unsupported(at: At) -> Hits:
    """A standalone component wants pods of their own for its weights or its standby engines.

    Why
        Such layouts are made of several cliques of one Grove set, and only a graph has one. A component on its own is never rendered.

    Fix
        Use mode {intraPod}, or make the component part of a graph on Grove.

    Bad
        ```yaml
        spec:
          componentType: worker
          resources: {limits: {gpu: "1"}}
          gpuMemoryService: {enabled: true, mode: interPod}  # expect
          failover: {enabled: true, mode: interPod, numShadows: 1}  # expect
        ```

    Good
        ```yaml
        spec:
          componentType: worker
          resources: {limits: {gpu: "1"}}
          gpuMemoryService: {enabled: true, mode: intraPod}
        ```
    """
    text = words('must not be "{interPod}" for a component outside a graph')
    if interpod_gms(at.value):
        yield at.forbidden("gpuMemoryService.mode", text)
    if interpod_failover(at.value):
        yield at.forbidden("failover.mode", text)
