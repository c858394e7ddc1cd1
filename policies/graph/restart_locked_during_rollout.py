"""DYN709: a restart while a rolling update goes on."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE
from dynamo_webhooks.policies.rule import GRAPH_OBJECT, Hits, rule

_ROLLING = ("Pending", "InProgress")


@rule("DYN709", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.LOCK, ratchets=False)
def restart_locked_during_rollout(at: At) -> Hits:
    """A restart is asked for while a rolling update goes on.

    Why
        Both replace pods in an order of their own; together they could take down more of the graph than either may.
        The stored status decides, not one that comes with the update.

    Fix
        Wait until `status.rollingUpdate.phase` is Completed or Failed, then set the new restart id.

    Bad
        ```yaml
        spec: {restart: {id: monday}}
        status: {rollingUpdate: {phase: InProgress}}
        --- # becomes
        spec:
          restart:
            id: tuesday  # expect
        ```

    Good
        ```yaml
        spec: {restart: {id: monday}}
        status: {rollingUpdate: {phase: Completed}}
        --- # becomes
        spec: {restart: {id: tuesday}}
        ```
    """
    phase = at.was("status.rollingUpdate.phase")
    if phase not in _ROLLING:
        return
    now, before = at.get("spec.restart.id") or "", at.was("spec.restart.id") or ""
    if now != before:
        seen, wanted = (f'"{value}"' if value else "unset" for value in (now, before))
        text = f'must stay {wanted} while a rolling update goes on (status.rollingUpdate.phase is "{phase}"), got {seen}'
        yield at.forbidden("spec.restart.id", text)
