"""DYN717: overrides for Grove that change what they are of."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.provider_override import WHEN, overrides
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule

_FIELDS = ("apiVersion", "target")


@rule("DYN717", where=GRAPH, when=WHEN, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.5")
def provider_override_immutable(at: At) -> Hits:
    """An override changes its API version or its target after creation.

    Why
        Both say which of Grove's objects is meant. The value may change, and an override may be removed. A target that was empty gets
        the default with the next update.

    Fix
        Put the old API version and target back, or remove the override and add another in a second step.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/workload-provider: grove}}
        spec: {providerOverride: {apiVersion: grove.io/v1alpha1, target: PodCliqueSet, value: {}}}
        --- # becomes
        metadata: {annotations: {nvidia.com/workload-provider: grove}}
        spec:
          providerOverride:
            apiVersion: grove.io/v1alpha1
            target: PodCliqueTemplateSpec  # expect
            value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}
        ```

    Good
        ```yaml
        metadata: {annotations: {nvidia.com/workload-provider: grove}}
        spec:
          providerOverride:
            apiVersion: grove.io/v1alpha1
            target: PodCliqueSet
            value: {spec: {template: {topologyConstraint: {packDomain: zone}}}}
        --- # becomes
        metadata: {annotations: {nvidia.com/workload-provider: grove}}
        spec:
          providerOverride:
            apiVersion: grove.io/v1alpha1
            target: PodCliqueSet
            value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}
        ```
        ```yaml
        metadata: {annotations: {nvidia.com/workload-provider: grove}}
        spec:
          providerOverride: {apiVersion: grove.io/v1alpha1, value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}}
        --- # becomes
        metadata: {annotations: {nvidia.com/workload-provider: grove}}
        spec:
          providerOverride:
            apiVersion: grove.io/v1alpha1
            target: PodCliqueSet
            value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}
        ```
    """
    if at.old is None:
        return
    before = {found.path: found.block for found in overrides(at.old, at.review.forced)}
    for path, block, _ in overrides(at.value, at.review.forced):
        for field in _FIELDS if path in before else ():
            now, was = block.get(field) or "", before[path].get(field) or ""
            if was and now != was:
                yield at.immutable((*path, field), f'must stay "{said(was)}" after creation, got "{said(now)}"', value=now)
