"""DYN175: two ways to say where pods are packed."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import services
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.provider_override import WHEN, of_grove, writes_topology
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule


@rule("DYN175", where=GRAPH, when=WHEN, stage=Stage.TOPOLOGY, needs=("grove",), since="1.5")
def provider_override_topology_conflict(at: At) -> Hits:
    """A graph says where its pods are packed in its own fields, and in overrides for Grove too.

    Why
        Both would be written into the same field of Grove's objects, and one of them would be lost.

    Fix
        Use `topologyConstraint` of the graph and its {services}, or overrides, not both.

    Bad
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              providerOverride:
                apiVersion: grove.io/v1alpha1
                target: PodCliqueTemplateSpec
                value: {topologyConstraint: {packDomain: rack}}  # expect
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              topologyConstraint: {packDomain: rack}
        ```
    """
    plain = at.value.get("topologyConstraint") is not None
    if not plain and all(service.get("topologyConstraint") is None for service in services(at.review).values()):
        return
    for override in of_grove(at):
        if writes_topology(override):
            yield at.forbidden((*override.path, "value"), "must not be there beside a topologyConstraint of the graph or of a component")
