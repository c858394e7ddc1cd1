"""DYND05: an artefact of profile 1.2 in the endpoint picker's saturation detector."""

from collections.abc import Iterator

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.edit import Edit
from dynamo_webhooks.policies.rule import DCD_V1BETA1, SERVICES, Difference, default

_DETECTOR = "eppConfig.config.saturationDetector"


@default(
    "DYND05",
    where={**SERVICES, DCD_V1BETA1: "spec"},
    when="eppConfig",
    only_in_1_2=Difference((), "the Go operator writes a zero staleness threshold; current patches nothing"),
)
def mut_saturation_threshold(at: At) -> Iterator[Edit]:
    """A saturation detector without a staleness threshold gets a zero one.

    Why
        Only under profile 1.2, which stores what the Go operator would store: it writes the type's zero value back.

    Before
        ```yaml
        # kind: DynamoComponentDeployment/v1beta1
        spec: {name: picker, type: epp, eppConfig: {config: {saturationDetector: {queueDepthThreshold: 5}}}}
        ```
        ```yaml
        spec: {services: {picker: {replicas: 1, componentType: epp, eppConfig: {config: {saturationDetector: {}}}}}}
        ```

    After
        ```yaml
        # kind: DynamoComponentDeployment/v1beta1
        spec: {name: picker, type: epp, eppConfig: {config: {saturationDetector: {queueDepthThreshold: 5, metricsStalenessThreshold: 0s}}}}
        ```
        ```yaml
        spec:
          services:
            picker: {replicas: 1, componentType: epp, eppConfig: {config: {saturationDetector: {metricsStalenessThreshold: 0s}}}}
        ```
    """
    detector = at.get(_DETECTOR)
    if detector is not None and detector.get("metricsStalenessThreshold") is None:
        yield at.set(f"{_DETECTOR}.metricsStalenessThreshold", "0s")
