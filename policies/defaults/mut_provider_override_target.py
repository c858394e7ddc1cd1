"""DYND08: which of Grove's types an override is for."""

from collections.abc import Iterator

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import GROVE, filled_provider
from dynamo_webhooks.policies.edit import Edit
from dynamo_webhooks.policies.provider_override import WHEN, overrides
from dynamo_webhooks.policies.rule import GRAPH, default


@default("DYND08", where=GRAPH, when=WHEN, needs=("grove",), since="1.5")
def mut_provider_override_target(at: At) -> Iterator[Edit]:
    """An override of what Grove is given gets the target that its place means.

    Why
        The target is told by the place and the component's layout, so nobody need write it.

    Before
        ```yaml
        spec:
          services:
            worker:
              providerOverride: {apiVersion: grove.io/v1alpha1, value: {topologyConstraint: {packDomain: rack}}}
        ```

    After
        ```yaml
        spec:
          services:
            worker:
              providerOverride:
                apiVersion: grove.io/v1alpha1
                target: PodCliqueTemplateSpec
                value: {topologyConstraint: {packDomain: rack}}
        ```
    """
    empty = [found for found in overrides(at.value, at.review.forced) if found.target and not found.block.get("target")]
    if empty and filled_provider(at) == GROVE:
        for found in empty:
            yield at.set((*found.path, "target"), found.target)
