"""DYN714: replicas of a service that belong to its scaling adapter."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.review import UPDATE, Fields
from dynamo_webhooks.policies.rule import SERVICES, Hits, rule

_ACCOUNT = "system:serviceaccount:"
_PLANNER = "planner-serviceaccount"


@rule("DYN714", where=SERVICES, on=(UPDATE,), needs=("operatorPrincipal",), stage=Stage.OWNERSHIP, ratchets=False)
def scaling_adapter_owns_replicas(at: At) -> Hits:
    """The replicas of a service change although a scaling adapter owns them.

    Why
        With the adapter on, an autoscaler or the planner writes the replicas; a second writer would make the service flap.
        Switching the adapter on or off and changing the replicas are two steps, so that neither happens by accident.

    Fix
        Scale through the DynamoGraphDeploymentScalingAdapter of the {service}, or switch the adapter off first and scale afterwards.

    Bad
        ```yaml
        spec: {services: {worker: {replicas: 1, scalingAdapter: {enabled: true}}}}
        --- # becomes
        spec:
          services:
            worker:
              replicas: 2  # expect
              scalingAdapter: {enabled: true}
        ```
        Switching it off in the same update doesn't help.
        ```yaml
        spec: {services: {worker: {replicas: 1, scalingAdapter: {enabled: true}}}}
        --- # becomes
        spec:
          services:
            worker:
              replicas: 2  # expect
              scalingAdapter: {enabled: false}
        ```

    Good
        ```yaml
        # user: system:serviceaccount:dynamo-system:operator
        spec: {services: {worker: {replicas: 1, scalingAdapter: {enabled: true}}}}
        --- # becomes
        spec: {services: {worker: {replicas: 2, scalingAdapter: {enabled: true}}}}
        ```
        Absent replicas are 1.
        ```yaml
        spec: {services: {worker: {scalingAdapter: {enabled: true}}}}
        --- # becomes
        spec: {services: {worker: {replicas: 1, scalingAdapter: {enabled: true}}}}
        ```
    """
    if at.old is not None and (enabled(at.value.get("scalingAdapter")) or enabled(at.old.get("scalingAdapter"))):
        yield from _changed(at)


@scaling_adapter_owns_replicas.in_1_2(
    "Q-27",
    because="the stored object's adapter protects the replicas too, so one update can't disable it and change them",
)
def scaling_adapter_owns_replicas_in_1_2(at: At) -> Hits:
    """Only the adapter of the new object counts."""
    if at.old is not None and enabled(at.value.get("scalingAdapter")):
        yield from _changed(at)


def _changed(at: At) -> Hits:
    now, before = _replicas(at.value), _replicas(at.old)
    if now != before and not _may_scale(at):
        text = f"must stay {before}, because the scaling adapter owns it, got {now}; scale through the adapter"
        yield at.forbidden("replicas", text)


def _replicas(service: Fields) -> int:
    found = service.get("replicas")
    return 1 if found is None else int(found)


def _may_scale(at: At) -> bool:
    """Whether the caller is the planner of some namespace or the operator itself; a user that is not known is neither."""
    user = at.review.user
    if not user.startswith(_ACCOUNT):
        return False
    parts = user.split(":")
    return (len(parts) == 4 and parts[3] == _PLANNER) or user == at.fact("operatorPrincipal")
