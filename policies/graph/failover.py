"""Failover and the graph's discovery."""

from ...api.paths import Key
from ..at import At
from ..component.failover import EMPTY_MODE, is_intrapod
from ..domain import DISCOVERY_MODE, list_components
from ..finding import Mend
from ..rule import GRAPH_OBJECT, Difference, Hits, Stage, rule


@rule("DYN108", where=GRAPH_OBJECT, when="spec.components.*.experimental", stage=Stage.FAILOVER, differs=Difference(("Q-10",), EMPTY_MODE))
def failover_intrapod_discovery_mode(at: At) -> Hits:
    """A service keeps standby engines in its pod, but discovery looks at whole pods.

    Why
        With intra-pod failover a pod holds two engines of which one serves. Discovery by pod can't distinguish them, so requests would go
        to the standby too, or none would be found after a switch.

    Fix
        Set the graph's annotation `nvidia.com/dynamo-kube-discovery-mode` to `container`.

    Example
    bad metadata:
    bad   annotations:
    bad     nvidia.com/dynamo-kube-discovery-mode: pod  # expect
    ok  metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
              experimental: {gpuMemoryService: {mode: IntraPod}, failover: {mode: IntraPod}}

    bad metadata: {name: g}  # expect
    bad spec:
    bad   components:
    bad     - name: worker
    bad       type: worker
    bad       podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]}}
    bad       experimental: {gpuMemoryService: {}, failover: {}}
    """
    names = [name for _, name, component in list_components(at.value["spec"]) if is_intrapod(component)]
    value = at.review.annotations.get(DISCOVERY_MODE)
    if names and value != "container":
        seen = "got nothing" if value is None else f'got "{value}"'
        first = f'"{min(names)}"' + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        text = f'must be "container" for the intra-pod failover of {first}, {seen}'
        yield at.invalid(("metadata", "annotations", Key(DISCOVERY_MODE)), value, text, mend=Mend("container"))
