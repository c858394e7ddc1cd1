"""DYN132: an order for a restart that has none."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import RESTART, Hits, rule


@rule("DYN132", where=RESTART, removes=True, when="strategy", stage=Stage.RESTART)
def restart_order_parallel(at: At) -> Hits:
    """A parallel restart names an order.

    Why
        All services restart at once under the strategy `Parallel`, so an order can't be kept and hints at a misunderstanding.

    Fix
        Remove `order`, or choose the type `Sequential`.

    Bad
        ```yaml
        spec:
          restart:
            id: second
            strategy:
              type: Parallel
              order: [frontend]  # expect
        ```

    Good
        ```yaml
        spec:
          restart:
            id: second
            strategy: {type: Parallel}
        ```
    """
    strategy = at.value["strategy"]
    order = strategy.get("order")
    if strategy.get("type") == "Parallel" and order:
        yield at.forbidden("strategy.order", f'must be empty while the type is "Parallel", got {len(order)} names')
