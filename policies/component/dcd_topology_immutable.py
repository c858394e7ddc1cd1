"""DYN721: a standalone component that changes where its pods are packed."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.graph.topology_service_immutable import topology_service_immutable
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import DCD, Hits, rule


@rule("DYN721", where={DCD: "spec"}, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.5")
def dcd_topology_immutable(at: At) -> Hits:
    """The topology constraint of a standalone component changes after creation.

    Why
        Pods are placed once; a new constraint would hold for some replicas and not for others.

    Fix
        Put the old constraint back, or create another component with the new one.

    Bad
        ```yaml
        spec: {topologyConstraint: {packDomain: rack}}
        --- # becomes
        spec:
          topologyConstraint: {packDomain: host}  # expect
          extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
        ```

    Good
        ```yaml
        spec: {topologyConstraint: {packDomain: rack}}
        --- # becomes
        spec:
          topologyConstraint: {packDomain: rack}
          replicas: 2
          extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
        ```
    """
    yield from topology_service_immutable.check(at)
