"""DYN908: a Grove annotation that says neither yes nor no."""

from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import GROVE_OPT_OUT
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import GRAPH_ANNOTATIONS, Difference, Hits, rule


@rule(
    "DYN908",
    where=GRAPH_ANNOTATIONS,
    when=GROVE_OPT_OUT,
    stage=Stage.ADVICE,
    level=Level.WARNING,
    current_only=Difference(("Q-26",), "a value that looks like an opt-out, but is none, gets a warning"),
)
def warn_grove_annotation(at: At) -> Hits:
    """The Grove annotation has a value that is neither true nor false.

    Why
        Only `false` keeps a graph off Grove. `no`, `0` or an empty text look as if they did, but the graph runs on Grove all the same.

    Fix
        Write `"false"` to keep the graph off Grove, `"true"` or no annotation to run it there.

    Bad
        ```yaml
        metadata:
          annotations:
            nvidia.com/enable-grove: "no"  # expect
        ```

    Good
        ```yaml
        metadata:
          annotations:
            nvidia.com/enable-grove: "False"
        ```
    """
    value = at.value[GROVE_OPT_OUT]
    if value.lower() not in ("true", "false"):
        yield at.warning((Key(GROVE_OPT_OUT),), f'must be "true" or "false", got "{value}"')
