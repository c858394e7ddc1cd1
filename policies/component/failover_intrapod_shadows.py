"""DYN343: several standby engines in one pod."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.component._failover import EMPTY_MODE, intrapod, intrapod_1_2
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Hits, rule
from dynamo_webhooks.policies.words import Words, words

_MORE: Final = Words("in a graph on Grove mode interPod allows more", "only v1alpha1 allows more, in pods of their own")


@rule("DYN343", where=COMPONENT, when="failover", stage=Stage.FAILOVER)
def failover_intrapod_shadows(at: At) -> Hits:
    """Intra-pod failover asks for another number of standby engines than one.

    Why
        The pod holds a fixed pair: one engine that serves and one that stands by. Only pods of their own can be more. A 0 counts as
        not written, because that is what an unset number looks like in objects made by programs.

    Fix
        Set `numShadows` to 1 or leave it out; for more, use mode interPod, which services of a graph on Grove can have.

    Fix in v1beta1
        Set `numShadows` to 1 or leave it out.

    Bad
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              failover: {enabled: true, mode: intraPod, numShadows: 2}  # expect
        ```

    Good
        ```yaml
        metadata: {annotations: {nvidia.com/dynamo-kube-discovery-mode: container}}
        spec:
          services:
            worker:
              componentType: worker
              resources: {limits: {gpu: "1"}}
              gpuMemoryService: {enabled: true}
              failover: {enabled: true, mode: intraPod, numShadows: 1}
        ```
    """
    if intrapod(at.value):
        yield from _no_pair(at)


@failover_intrapod_shadows.in_1_2("Q-10", because=EMPTY_MODE)
def failover_intrapod_shadows_in_1_2(at: At) -> Hits:
    """There an absent or empty mode escapes the rule."""
    if intrapod_1_2(at.value):
        yield from _no_pair(at)


def _no_pair(at: At) -> Hits:
    shadows = at.value["failover"].get("numShadows")
    if shadows not in (None, 0, 1):
        pair = words("must be 1 in mode {intraPod}, where a pod holds a fixed pair of engines, got {shadows}", shadows=shadows)
        yield at.invalid("failover.numShadows", shadows, words("{pair}; {more}", pair=pair, more=_MORE))
