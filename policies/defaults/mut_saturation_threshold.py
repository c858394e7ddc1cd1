"""DYND05: an artefact of profile 1.2 in the endpoint picker's saturation detector."""

from collections.abc import Iterator

from policies.at import At
from policies.edit import Edit
from policies.rule import DCD_V1BETA1, Difference, default


@default(
    "DYND05",
    where={DCD_V1BETA1: "spec.eppConfig.config.saturationDetector"},
    only_in_1_2=Difference((), "the Go operator writes a zero staleness threshold that nobody asked for; current patches nothing"),
)
def mut_saturation_threshold(at: At) -> Iterator[Edit]:
    """A saturation detector without a staleness threshold gets a zero one.

    Why
        Only under profile 1.2, which stores what the Go operator would store: it writes the type's zero value back.

    Before
        ```yaml
        spec: {type: epp, eppConfig: {config: {saturationDetector: {queueDepthThreshold: 5}}}}
        ```

    After
        ```yaml
        spec: {type: epp, eppConfig: {config: {saturationDetector: {queueDepthThreshold: 5, metricsStalenessThreshold: 0s}}}}
        ```
    """
    if at.value.get("metricsStalenessThreshold") is None:
        yield at.set("metricsStalenessThreshold", "0s")
