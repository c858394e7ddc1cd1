"""DYN114: the annotation that chooses how Grove updates pods."""

from typing import Final

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import GROVE_UPDATE_STRATEGY
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH_ANNOTATIONS, Hits, rule

_STRATEGIES: Final = ("RollingRecreate", "OnDelete")


@rule("DYN114", where=GRAPH_ANNOTATIONS, when=GROVE_UPDATE_STRATEGY, stage=Stage.METADATA, since="1.5")
def grove_update_strategy_enum(at: At) -> Hits:
    """The annotation for Grove's update strategy names no strategy.

    Why
        Grove either replaces pods by itself or waits until somebody deletes them. It refuses any other word.

    Fix
        Write `RollingRecreate` or `OnDelete`, or remove the annotation.

    Bad
        ```yaml
        metadata:
          annotations:
            nvidia.com/grove-update-strategy: Recreate  # expect
        ```

    Good
        ```yaml
        metadata:
          annotations:
            nvidia.com/grove-update-strategy: OnDelete
        ```
    """
    value = at.value[GROVE_UPDATE_STRATEGY]
    if value not in _STRATEGIES:
        yield at.not_supported((Key(GROVE_UPDATE_STRATEGY),), value, _STRATEGIES)
