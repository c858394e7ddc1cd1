"""DYN133: a service twice in the order of a restart."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import RESTART, Hits, rule
from dynamo_webhooks.policies.words import words


@rule("DYN133", where=RESTART, removes=True, when="strategy", stage=Stage.RESTART)
def restart_order_unique(at: At) -> Hits:
    """A service stands twice in the order of a restart.

    Why
        Each service restarts once. A second mention leaves open which of the two places counts.

    Fix
        Remove the second mention.

    Bad
        ```yaml
        spec:
          services: {frontend: {}, worker: {}}
          restart:
            id: second
            strategy:
              order:
                - frontend
                - worker
                - frontend  # expect
        ```

    Good
        ```yaml
        spec:
          services: {frontend: {}, worker: {}}
          restart:
            id: second
            strategy: {order: [worker, frontend]}
        ```
    """
    strategy = at.value["strategy"]
    if strategy.get("type") == "Parallel":
        return
    seen: set[str] = set()
    for index, entry in enumerate(strategy.get("order") or ()):
        name = entry or ""  # a null entry reads as an empty name
        if name in seen:
            yield at.duplicate(("strategy", "order", index), name, words('must name each {service} once, got "{name}" again', name=name))
        seen.add(name)
