"""DYN346: inter-pod failover with nobody standing by."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import interpod_failover
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import Words, words


@rule("DYN346", where=COMPONENT, when="failover", stage=Stage.FAILOVER)
def failover_interpod_shadows(at: At) -> Hits:
    """Inter-pod failover asks for no standby engine.

    Why
        Without at least one standby there is nothing to fail over to. A number that isn't written is 1.

    Fix
        Set `numShadows` to 1 or more, or switch failover off.

    Fix in v1beta1
        Set `numShadows` to 1, or switch failover off.

    Bad
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover:
                enabled: true
                mode: interPod
                numShadows: 0  # expect
        ```

    Good
        ```yaml
        spec:
          backendFramework: vllm
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover: {enabled: true, mode: interPod, numShadows: 2}
            other:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true, mode: interPod}
              failover: {enabled: true, mode: interPod}
        ```
    """
    yield from _nobody(at, absent=1)


@failover_interpod_shadows.in_1_2(because="an absent number is 1, the schema's default")
def failover_interpod_shadows_in_1_2(at: At) -> Hits:
    """An absent number reads as 0 there."""
    yield from _nobody(at, absent=0)


def _nobody(at: At, *, absent: int) -> Hits:
    if interpod_failover(at.value):
        written = at.value["failover"].get("numShadows")
        shadows = absent if written is None else written
        if shadows < 1:
            # v1beta1 knows one standby engine only
            text = words("must be {wanted} in mode {interPod}, got {shadows}", wanted=Words("1 or more", "1"), shadows=shadows)
            yield at.invalid("failover.numShadows", shadows, text)
