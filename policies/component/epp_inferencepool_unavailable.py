"""DYN221: an endpoint picker where there are no inference pools."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, SERVICES, Hits, rule


@rule("DYN221", where=COMPONENT, when="componentType=epp", stage=Stage.EPP, needs=("inferencePool",))
def epp_inferencepool_unavailable(at: At) -> Hits:
    """An endpoint picker is wanted, but the cluster has no InferencePool API.

    Why
        The picker routes requests for an InferencePool that the operator makes. Without the API group `inference.networking.k8s.io` it
        can't make one. A picker that was admitted earlier stays editable when the API goes away.

    Fix
        Install the Gateway API Inference Extension, or leave the component out.

    Bad
        ```yaml
        # facts: {inferencePool: false}
        spec:
          services:
            picker:  # expect
              componentType: epp
              eppConfig: {configMapRef: {name: c, key: k}}
        ```
        ```yaml
        # facts: {inferencePool: false}
        # kind: DynamoComponentDeployment/v1alpha1
        spec:  # expect
          componentType: epp
          eppConfig: {configMapRef: {name: c, key: k}}
        ```

    Good
        ```yaml
        spec:
          services:
            picker:
              componentType: epp
              eppConfig: {configMapRef: {name: c, key: k}}
        ```
        ```yaml
        # facts: {inferencePool: false}
        spec:
          services:
            picker: {componentType: epp, eppConfig: {configMapRef: {name: c, key: k}}}
        --- # becomes
        spec:
          services:
            picker: {componentType: epp, replicas: 1, eppConfig: {configMapRef: {name: c, key: k}}}
        ```
    """
    if not at.fact("inferencePool"):
        text = 'must not be of type "epp" in this cluster: the API group inference.networking.k8s.io is not served'
        yield at.forbidden("", text)


epp_inferencepool_unavailable_in_1_2 = epp_inferencepool_unavailable.same_in_1_2(
    "Q-09", because="a standalone picker fails like one of a graph", where=SERVICES
)
