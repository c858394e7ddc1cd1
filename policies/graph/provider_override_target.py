"""DYN173: overrides of another object than their place means."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import said
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.provider_override import WHEN, changed, of_grove
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule


@rule("DYN173", where=GRAPH, when=WHEN, stage=Stage.SCHEDULING, needs=("grove",), since="1.5")
def provider_override_target(at: At) -> Hits:
    """An override names another type of Grove than its place means, or its place means none.

    Why
        What a graph, a component, or one role of it becomes on Grove is settled by its layout; an override of anything else would go
        nowhere. A component becomes a scaling group where it spans several pods, else one clique. Leader and worker are cliques of a
        component on several nodes.

    Fix
        Leave the target out, which fills it in, or write what the place means. Remove the override of a role that the component doesn't
        have.

    Bad
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              providerOverride:
                apiVersion: grove.io/v1alpha1
                target: PodCliqueSet  # expect
                value: {topologyConstraint: {packDomain: rack}}
        ```
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              multinode:
                nodeCount: 1
                leader:
                  providerOverride:  # expect
                    apiVersion: grove.io/v1alpha1
                    target: PodCliqueTemplateSpec
                    value: {topologyConstraint: {packDomain: rack}}
        ```

    Good
        ```yaml
        spec:
          services:
            worker:
              componentType: worker
              extraPodSpec: {mainContainer: {image: "example/vllm:1.5.0"}}
              providerOverride:
                apiVersion: grove.io/v1alpha1
                target: PodCliqueTemplateSpec
                value: {topologyConstraint: {packDomain: rack}}
        ```
    """
    for override in of_grove(at):
        target, wanted = override.block.get("target"), override.target
        if changed(at, override, "target"):
            continue
        if not wanted:
            yield at.forbidden(override.path, "must be unset: only a component on several nodes, with no pods for its weights, has roles")
        elif not target:
            yield at.required((*override.path, "target"), f'must be "{wanted}" at this place, got nothing')
        elif target != wanted:
            yield at.invalid((*override.path, "target"), target, f'must be "{wanted}" at this place, got "{said(target)}"')
