"""DYN169: a KV transfer policy by a topology of Grove, in a graph that Grove does not run."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import off_grove, said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule


@rule("DYN169", where=KV_TRANSFER, when="clusterTopologyName", stage=Stage.KV_TRANSFER, needs=("grove",), since="1.5")
def kvt_topology_requires_grove(at: At) -> Hits:
    """A KV transfer policy names a topology of Grove, but Grove does not run the graph.

    Why
        Grove tells workers where they are in its topology. Without it they wouldn't know.

    Fix
        Name a node label in `labelKey` instead of a topology, or run the graph on Grove.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
          experimental:
            kvTransferPolicy:
              clusterTopologyName: default  # expect
              domain: rack
          services: {frontend: {componentType: frontend, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```

    Good
        ```yaml
        spec:
          experimental: {kvTransferPolicy: {clusterTopologyName: default, domain: rack}}
          services: {frontend: {componentType: frontend, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```
    """
    name = at.value["clusterTopologyName"]
    if name and (reason := off_grove(at)):
        yield at.forbidden("clusterTopologyName", f'must be unset without Grove, got "{said(name)}": {reason}')
