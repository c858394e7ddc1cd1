"""DYN720: a graph that changes between whom workers hand over their caches."""

from typing import Any

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE, Fields
from dynamo_webhooks.policies.rule import GRAPH_OBJECT, Hits, rule

_PLACE = "spec.experimental.kvTransferPolicy"
_FIELDS = ("clusterTopologyName", "labelKey", "domain", "enforcement", "preferredWeight")


@rule("DYN720", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.5")
def kvt_immutable(at: At) -> Hits:
    """The KV transfer policy of a graph changes after creation.

    Why
        Workers read the policy when they start. Some would follow the old one and some the new.

    Fix
        Put the old policy back, or create the graph anew with the other one.

    Bad
        ```yaml
        spec: {experimental: {kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}}}
        --- # becomes
        spec:
          experimental:
            kvTransferPolicy: {labelKey: topology.kubernetes.io/region, domain: zone}  # expect
          services: {frontend: {componentType: frontend, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```
        Adding a policy, or taking it away, is a change too.
        ```yaml
        spec: {backendFramework: vllm}
        --- # becomes
        spec:
          experimental:
            kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}  # expect
          backendFramework: vllm
          services: {frontend: {componentType: frontend, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```

    Good
        ```yaml
        spec: {experimental: {kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone}}}
        --- # becomes
        spec:
          experimental: {kvTransferPolicy: {labelKey: topology.kubernetes.io/zone, domain: zone, enforcement: required}}
          services: {frontend: {componentType: frontend, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```
    """
    if at.review.old is None:
        return
    now, before = at.get(_PLACE), at.was(_PLACE)
    if (now is None) != (before is None):
        text = "must not be added to an existing graph" if before is None else "must not be taken from an existing graph"
        yield at.immutable(_PLACE, text)
    elif now is not None:
        changed = [name for name, one, other in zip(_FIELDS, _values(now), _values(before), strict=True) if one != other]
        if changed:
            yield at.immutable(_PLACE, f"must stay as it is once the graph exists, got another {' and '.join(changed)}")


def _values(policy: Fields) -> tuple[Any, ...]:
    """What a policy says; without an enforcement it is required."""
    texts = [policy.get(name) or ("required" if name == "enforcement" else "") for name in _FIELDS[:-1]]
    return (*texts, policy.get("preferredWeight"))
