"""DYN172: overrides of another API than Grove's."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.provider_override import API_VERSION, WHEN, changed, of_grove
from dynamo_webhooks.policies.rule import GRAPH, Hits, rule


@rule("DYN172", where=GRAPH, when=WHEN, stage=Stage.SCHEDULING, needs=("grove",), since="1.5")
def provider_override_api_version(at: At) -> Hits:
    """An override is written for another API than Grove's.

    Why
        The override becomes part of an object of Grove, in the one version that the operator writes.

    Fix
        Write grove.io/v1alpha1 as the API version.

    Bad
        ```yaml
        spec:
          providerOverride:
            apiVersion: grove.io/v1  # expect
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
    for override in of_grove(at):
        version = override.block.get("apiVersion")
        if version != API_VERSION and not changed(at, override, "apiVersion"):
            yield at.not_supported((*override.path, "apiVersion"), version or "", (API_VERSION,))
