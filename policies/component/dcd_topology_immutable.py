"""DYN721: a standalone component that changes where its pods are packed."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE, Fields
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
    if at.old is None:
        return
    now, before = _domain(at.value), _domain(at.old)
    if now != before:
        shown = [f'"{said(domain)}"' if domain is not None else "unset" for domain in (before, now)]
        yield at.immutable("topologyConstraint", f"must stay with packDomain {shown[0]} after creation, got {shown[1]}")


def _domain(component: Fields) -> str | None:
    constraint = component.get("topologyConstraint")
    return None if constraint is None else str(constraint.get("packDomain") or "")
