"""DYN131: a restart without an id."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import RESTART, Hits, rule


@rule("DYN131", where=RESTART, stage=Stage.RESTART)
def restart_id_required(at: At) -> Hits:
    """A restart is asked for without an id.

    Why
        The graph is restarted whenever the id changes. Without one there is nothing to compare with, and no restart would ever happen.

    Fix
        Write any text that differs from the last one, a date for example.

    Bad
        ```yaml
        spec:
          restart: {id: ""}  # expect
        ```

    Good
        ```yaml
        spec:
          restart: {id: "2025-11-21"}
        ```
    """
    if not at.value.get("id"):
        yield at.required("id", "must be a text that changes with every restart, got nothing")
