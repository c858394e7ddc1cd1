"""DYN707: a service that changes where its pods are packed."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN707", where=SERVICES, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def topology_service_immutable(at: At) -> Hits:
    """The topology constraint of a service changes after creation.

    Why
        Pods are placed once; a new constraint would hold for some replicas of the service and not for others.

    Fix
        Put the old domain back, or create the graph anew with the other one.

    Bad
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default}
          services: {worker: {topologyConstraint: {packDomain: rack}}}
        --- # becomes
        spec:
          topologyConstraint: {topologyProfile: default}
          services:
            worker:
              topologyConstraint: {packDomain: host}  # expect
        ```

    Good
        ```yaml
        spec:
          topologyConstraint: {topologyProfile: default}
          services: {worker: {topologyConstraint: {packDomain: rack}}}
        --- # becomes
        spec:
          topologyConstraint: {topologyProfile: default}
          services: {worker: {topologyConstraint: {packDomain: rack}, replicas: 2}}
        ```
    """
    if at.old is None:
        return
    now, before = at.value.get("topologyConstraint"), at.old.get("topologyConstraint")
    if (now is None) != (before is None):
        text = words("must not be added to an existing {service}" if before is None else "must not be taken from an existing {service}")
        yield at.immutable("topologyConstraint", text)
    elif now is not None and (now.get("packDomain") or "") != (before.get("packDomain") or ""):
        kept = f'must keep packDomain "{before.get("packDomain") or ""}", got "{now.get("packDomain") or ""}"'
        yield at.immutable("topologyConstraint", kept)
