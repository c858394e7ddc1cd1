"""DYN135: names in the order of a restart that are no services."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import RESTART, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN135", where=RESTART, when="strategy", stage=Stage.RESTART)
def restart_order_unknown(at: At) -> Hits:
    """The order of a restart names a service that the graph doesn't have.

    Why
        A sequential restart waits for one service after the other, and would wait for this one for ever.

    Fix
        Write the {service}'s name as it stands under `spec.{services}`; case matters.

    Bad
        ```yaml
        spec:
          services: {frontend: {}, worker: {}}
          restart:
            id: second
            strategy:
              order:
                - frontend
                - Worker  # expect
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
    order, services = strategy.get("order") or (), at.review.spec.get("services") or {}
    if strategy.get("type") == "Parallel":
        return
    first: dict[str, int] = {}
    for index, entry in enumerate(order):
        first.setdefault(entry or "", index)  # a null entry reads as an empty name
    unknown = {name: index for name, index in first.items() if name not in services}
    spellings = {name.lower(): name for name in services} if unknown else {}
    for name, index in unknown.items():
        close = spellings.get(name.lower())
        text = words('must be a {service} of this graph, got "{name}"', name=name)
        yield at.not_found(
            ("strategy", "order", index), name, text, fix=f'write "{close}"' if close else "", mend=Mend(close) if close else None
        )
