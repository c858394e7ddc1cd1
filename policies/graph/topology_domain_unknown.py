"""DYN149: topology domains that the ClusterTopology doesn't have."""

from collections.abc import Iterator

from dynamo_webhooks.api.paths import Key, Path
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import is_domain, off_grove, quoted, services
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import CREATE, UPDATE
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule
from dynamo_webhooks.policies.topology import TOLD_BY_OPERATION, first_generation, kind_of, levels


@rule("DYN149", where=GRAPH, when="topologyConstraint", on=(CREATE,), stage=Stage.TOPOLOGY, needs=("grove", "clusterTopologies"))
def topology_domain_unknown(at: At) -> Hits:
    """A topology domain isn't one of the named ClusterTopology.

    Why
        Pods can be packed only within domains that the cluster's nodes are labelled with, and those are what the ClusterTopology lists.

    Fix
        Choose one of the listed domains, or name another ClusterTopology.

    Bad
        ```yaml
        spec:
          topologyConstraint:
            topologyProfile: default
            packDomain: room  # expect
          services:
            worker:
              componentType: worker
              topologyConstraint: {packDomain: numa}  # expect
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default, packDomain: zone}
          services:
            worker:
              componentType: worker
              topologyConstraint: {packDomain: rack}
        ```
    """
    known = levels(at)
    if known is None:
        return
    # malformed ones are told by the format rules already
    unknown = [(path, domain) for path, domain in _domains(at) if domain not in known and is_domain(domain)]
    if unknown and not off_grove(at):
        listed = quoted(known) or "none"
        for path, domain in unknown:
            yield at.invalid(path, domain, f'must be a domain of the {kind_of(at.review)} ({listed}), got "{domain}"')


@topology_domain_unknown.in_1_2("Q-06", because=TOLD_BY_OPERATION, on=(CREATE, UPDATE))
def topology_domain_unknown_in_1_2(at: At) -> Hits:
    """There a create is told by generation 1."""
    if first_generation(at.review):
        yield from topology_domain_unknown.check(at)


def _domains(at: At) -> Iterator[tuple[Path, str]]:
    if domain := at.value["topologyConstraint"].get("packDomain"):
        yield ("topologyConstraint", "packDomain"), domain
    for name, service in services(at.review).items():
        if domain := (service.get("topologyConstraint") or {}).get("packDomain"):
            yield ("services", Key(name), "topologyConstraint", "packDomain"), domain
