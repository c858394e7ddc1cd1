"""DYN171: overrides for Grove in a graph that Grove does not run."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import GROVE, WORKLOAD_PROVIDER, provider, said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.provider_override import WHEN, overrides
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule


@rule("DYN171", where=GRAPH, when=WHEN, stage=Stage.SCHEDULING, needs=("grove",), since="1.5")
def provider_override_requires_grove(at: At) -> Hits:
    """A graph overrides what Grove is given, but Grove does not run it.

    Why
        Overrides are parts of Grove's own objects. A graph of an older operator belongs to nobody until the operator has adopted it.

    Fix
        Remove `providerOverride`, or run the graph on Grove. Wait for a graph of an older operator to be adopted.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/enable-grove: "false"}}
        spec:
          providerOverride:  # expect
            apiVersion: grove.io/v1alpha1
            target: PodCliqueSet
            value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}
          services: {worker: {componentType: worker, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```

    Good
        ```yaml
        spec:
          providerOverride:
            apiVersion: grove.io/v1alpha1
            target: PodCliqueSet
            value: {spec: {template: {topologyConstraint: {packDomain: rack}}}}
          services: {worker: {componentType: worker, extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}}}
        ```
    """
    found = list(overrides(at.value, at.review.forced))
    if not found or (chosen := provider(at)) == GROVE:
        return
    seen = "the graph was not adopted yet" if chosen is None else f'the annotation {WORKLOAD_PROVIDER} is "{said(chosen)}"'
    for override in found:
        yield at.forbidden(override.path, f"must be unset unless Grove runs the graph: {seen}")
