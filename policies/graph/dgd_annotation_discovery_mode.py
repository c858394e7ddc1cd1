"""DYN105: the annotation that chooses what Kubernetes discovery counts as one worker."""

from typing import Final

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import DISCOVERY_MODE
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH_ANNOTATIONS, Hits, rule

_MODES: Final = ("pod", "container")


@rule("DYN105", where=GRAPH_ANNOTATIONS, when=DISCOVERY_MODE, stage=Stage.METADATA)
def dgd_annotation_discovery_mode(at: At) -> Hits:
    """The discovery mode annotation names no mode.

    Why
        Discovery registers either pods or single containers. A word that it doesn't know would silently mean pods.

    Fix
        Write `pod` or `container` in lower case, or remove the annotation, which means `pod`.

    Bad
        ```yaml
        metadata:
          annotations:
            nvidia.com/dynamo-kube-discovery-mode: Pod  # expect
        ```

    Good
        ```yaml
        metadata:
          annotations:
            nvidia.com/dynamo-kube-discovery-mode: container
        ```
    """
    value = at.value[DISCOVERY_MODE]
    if value not in _MODES:
        yield at.not_supported((Key(DISCOVERY_MODE),), value, _MODES)


@dgd_annotation_discovery_mode.in_1_2("Q-04", because="a null annotation counts as absent", when=())
def dgd_annotation_discovery_mode_in_1_2(at: At) -> Hits:
    """A null reads as an empty text there."""
    if DISCOVERY_MODE in at.value and at.value[DISCOVERY_MODE] not in _MODES:
        yield at.not_supported((Key(DISCOVERY_MODE),), at.value[DISCOVERY_MODE] or "", _MODES)
