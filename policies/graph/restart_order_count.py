"""DYN134: an order of a restart that leaves services out."""

from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import quoted
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import RESTART, Hits, rule
from dynamo_webhooks.policies.words import words

_NAMED: Final = 10  # missing services that the message names


@rule("DYN134", where=RESTART, when="strategy", stage=Stage.RESTART)
def restart_order_count(at: At) -> Hits:
    """The order of a restart has not as many names as the graph has services.

    Why
        A sequential restart goes through the order and ends after its last name. Services that are left out would just keep running.

    Fix
        Name every {service} of the graph once, or leave `order` out for the alphabetical one.

    Bad
        ```yaml
        spec:
          services: {frontend: {}, worker: {}}
          restart:
            id: second
            strategy:
              order: [frontend]  # expect
        ```

    Good
        ```yaml
        spec:
          services: {frontend: {}, worker: {}}
          restart:
            id: second
            strategy: {order: [frontend, worker]}
        ```
    """
    strategy = at.value["strategy"]
    order = strategy.get("order")
    if not order or strategy.get("type") == "Parallel":
        return
    services = at.review.spec.get("services") or {}
    named = {name or "" for name in order}
    if len(named) != len(services):
        missing = sorted(services.keys() - named)
        left_out = quoted(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
        text = words("must name all {count} {services}, got {named} different names", count=len(services), named=len(named))
        yield at.invalid("strategy.order", None, words("{text}; missing: {left_out}", text=text, left_out=left_out) if missing else text)
