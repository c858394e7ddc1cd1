"""DYN170: a KV transfer policy by a topology that the cluster doesn't have."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import off_grove, quoted, said
from dynamo_webhooks.policies.facts import Unknown
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE
from dynamo_webhooks.policies.rule import KV_TRANSFER, Hits, rule


@rule(
    "DYN170",
    where=KV_TRANSFER,
    when="clusterTopologyName",
    on=(CREATE,),
    stage=Stage.KV_TRANSFER,
    needs=("grove", "clusterTopologies"),
    since="1.5",
)
def kvt_topology_unknown(at: At) -> Hits:
    """A KV transfer policy names a topology, or a domain of it, that the cluster doesn't have.

    Why
        Workers learn from that topology which of them are close. Without it, or without the domain in it, no two are.

    Fix
        Name a ClusterTopologyBinding that exists, and one of its domains.

    Bad
        ```yaml
        spec:
          experimental:
            kvTransferPolicy:
              clusterTopologyName: production  # expect
              domain: rack
          services: {frontend: {componentType: frontend, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```
        ```yaml
        spec:
          experimental:
            kvTransferPolicy:
              clusterTopologyName: default
              domain: room  # expect
          services: {frontend: {componentType: frontend, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```

    Good
        ```yaml
        spec:
          experimental: {kvTransferPolicy: {clusterTopologyName: default, domain: rack}}
          services: {frontend: {componentType: frontend, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```
    """
    name, domain, topologies = at.value["clusterTopologyName"], at.value.get("domain") or "", at.review.facts.clusterTopologies
    if not name or (topologies and not isinstance(topologies, Unknown) and domain in topologies.get(name, ())):
        return
    if off_grove(at):
        return
    known = at.fact("clusterTopologies")
    if known is None:
        text = f'must name a ClusterTopologyBinding, but the cluster does not serve them, got "{said(name)}"'
        yield at.invalid("clusterTopologyName", name, text)
    elif name not in known:
        text = f'must name a ClusterTopologyBinding of this cluster, got "{said(name)}"; it has {quoted(known) or "none"}'
        yield at.not_found("clusterTopologyName", name, text)
    else:
        text = f'must be a domain of the ClusterTopologyBinding ({quoted(known[name]) or "none"}), got "{said(domain)}"'
        yield at.invalid("domain", domain, text)
