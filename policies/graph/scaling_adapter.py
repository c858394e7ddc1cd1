"""Replicas under a scaling adapter."""

from ..at import At
from ..domain import quote_once
from ..review import UPDATE, Fields
from ..rule import GRAPH_COMPONENT, Hits, Stage, differs, rule

_ACCOUNT = "system:serviceaccount:"
_PLANNER = "planner-serviceaccount"


@differs(("Q-27",), "the stored object's adapter protects the replicas too, so one update can't disable it and change them")
@rule("DYN714", where=GRAPH_COMPONENT, on=(UPDATE,), needs=("operatorPrincipal",), stage=Stage.OWNERSHIP, ratchets=False)
def scaling_adapter_owns_replicas(at: At) -> Hits:
    """The replicas of a service change although a scaling adapter owns them.

    Why
        With the adapter on, an autoscaler or the planner writes the replicas; a second writer would make the service flap.
        Switching the adapter on or off and changing the replicas are two steps, so that neither happens by accident.

    Fix
        Scale through the DynamoGraphDeploymentScalingAdapter of the {service}, or switch the adapter off first and scale afterwards.

    Example
    ok  # user: system:serviceaccount:dynamo-system:operator
        spec: {components: [{name: worker, replicas: 1, scalingAdapter: {}}]}
        --- # becomes
    bad spec:
    bad   components:
    bad     - name: worker
    bad       replicas: 2  # expect
    bad       scalingAdapter: {}
    ok  spec: {components: [{name: worker, replicas: 2, scalingAdapter: {}}]}

    ok  spec: {components: [{name: worker, scalingAdapter: {}}]}
    ok  --- # becomes
        spec: {components: [{name: worker, replicas: 1, scalingAdapter: {}}]}
    bad --- # becomes
    bad spec:
    bad   components:
    bad     - name: worker
    bad       replicas: 2  # expect
    """
    if at.old is not None and (at.value.get("scalingAdapter") is not None or at.old.get("scalingAdapter") is not None):
        now, before = _replicas(at.value), _replicas(at.old)
        if now != before and not _may_scale(at):
            text = f"must stay {before}, because the scaling adapter owns it, got {now}; scale through the adapter"
            if at.review.facts.operatorPrincipal == "" and at.review.user.startswith(_ACCOUNT):
                named = quote_once(at.review.user)
                text += f"; the server knows no operator account: if it is {named}, name it in operator.serviceAccount"
            yield at.forbidden("replicas", text)


def _replicas(service: Fields) -> int:
    found = service.get("replicas")
    return 1 if found is None else int(found)


def _may_scale(at: At) -> bool:
    """Whether the caller is the planner of some namespace or the operator itself; a user that is not known is neither."""
    user = at.review.user
    if not user.startswith(_ACCOUNT):  # an operator outside of the cluster has another name
        return bool(user) and user == at.review.facts.operatorPrincipal
    parts = user.split(":")
    return (len(parts) == 4 and parts[3] == _PLANNER) or user == at.fact("operatorPrincipal")
