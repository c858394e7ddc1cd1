"""DYN108: intra-pod failover without discovery of containers."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import DISCOVERY_MODE, INTRA_POD, enabled
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import Fields
from dynamo_webhooks.policies.rule import GRAPH_OBJECT, Hits, rule


@rule("DYN108", where=GRAPH_OBJECT, when="spec.services.*.failover", stage=Stage.FAILOVER)
def failover_intrapod_discovery_mode(at: At) -> Hits:
    """A service keeps standby engines in its pod, but discovery looks at whole pods.

    Why
        With intra-pod failover a pod holds two engines of which one serves. Discovery by pod can't tell them apart, so requests would go
        to the standby too, or none would be found after a switch.

    Fix
        Set the graph's annotation `nvidia.com/dynamo-kube-discovery-mode` to `container`.

    Bad
        ```yaml
        metadata:
          annotations: {nvidia.com/dynamo-kube-discovery-mode: pod}  # expect
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: intraPod}
              failover: {enabled: true, mode: intraPod}
        ```
        ```yaml
        metadata: {name: g}  # expect
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              failover: {enabled: true}
        ```

    Good
        ```yaml
        metadata:
          annotations: {nvidia.com/dynamo-kube-discovery-mode: container}
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: intraPod}
              failover: {enabled: true, mode: intraPod}
        ```
    """
    if names := _intrapod(at.value["spec"], (None, "", INTRA_POD)):
        yield from _asked(at, names)


@failover_intrapod_discovery_mode.in_1_2("Q-10", because="failover without a mode is intra-pod, the schema's default")
def failover_intrapod_discovery_mode_in_1_2(at: At) -> Hits:
    """There an absent or empty mode escapes the rule."""
    if names := _intrapod(at.value["spec"], (INTRA_POD,)):
        yield from _asked(at, names)


def _intrapod(spec: Fields, modes: tuple[str | None, ...]) -> list[str]:
    """The services with failover in one of the modes."""
    services = (spec.get("services") or {}).items()
    return [
        name
        for name, service in services
        if service and (failover := service.get("failover")) and enabled(failover) and failover.get("mode") in modes
    ]


def _asked(at: At, names: list[str]) -> Hits:
    value = at.review.annotations.get(DISCOVERY_MODE)
    if value != "container":
        seen = "got nothing" if value is None else f'got "{value}"'
        first = f'"{min(names)}"' + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        text = f'must be "container" for the intra-pod failover of {first}, {seen}'
        yield at.invalid(("metadata", "annotations", Key(DISCOVERY_MODE)), value, text, mend=Mend("container"))
