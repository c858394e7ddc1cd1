"""Replicas of a graph's components."""

from ..at import At, Findings
from ..command_line import find_model, split_words
from ..components import WORKERS, find_main
from ..review import UPDATE, Fields
from ..rule import GRAPH, GRAPH_COMPONENT, Stage, differs, rule
from ..words import quote_once


@differs("otherwise requests for a model that no component serves fail without a warning", lacking=True)
@rule("DYN912", where=GRAPH, when="components.*.replicas=0", stage=Stage.ADVICE)
def scale_to_zero_unroutable(at: At) -> Findings:
    """A worker has 0 replicas, and no other component serves its model.

    Why
        Frontends forget a model with its last worker, and then refuse requests for it. They don't wait for a worker, and nothing scales
        one up.

    Fix
        Keep one replica, or expect that requests for the model fail until you scale the {service} up again.

    Example
         spec:
           components:
        -    - {name: frontend, type: frontend}
             - name: worker
               type: worker
               replicas: 0  # expect
        +    - name: more
        +      type: worker
        +      replicas: 1
    """
    workers = [(index, component) for index, _, component in at.components if component.get("type") in WORKERS]
    stopped = [(index, component) for index, component in workers if component.get("replicas") == 0]
    if not stopped:
        return
    served: dict[str, set[str]] = {}  # type -> the models of its workers that run; "" for one that is not named, which may be any
    for _, component in workers:
        if component.get("replicas") != 0:
            served.setdefault(component["type"], set()).add(_model(component))
    for index, component in stopped:
        models, name = served.get(component["type"], set()), _model(component)
        stands_in = not models.isdisjoint(("", name)) if name else bool(models)
        if not stands_in:
            yield at.warning(("components", index, "replicas"), "is 0, and no other component serves the model: requests for it fail")


def _model(component: Fields) -> str:
    """The model that a worker serves, as far as its command line says."""
    return find_model(split_words(find_main(component)[0]))


_ACCOUNT = "system:serviceaccount:"
_PLANNER = "planner-serviceaccount"


@differs("the stored object's adapter protects the replicas too, so one update can't disable it and change them")
@rule("DYN714", where=GRAPH_COMPONENT, on=(UPDATE,), needs=("operatorPrincipal",), stage=Stage.OWNERSHIP, ratchets=False)
def scaling_adapter_owns_replicas(at: At) -> Findings:
    """The replicas of a component change although a scaling adapter owns them.

    Why
        With the adapter enabled, an autoscaler or the planner writes the replicas; a second writer would make the number flap. Enable or
        disable the adapter in one update and change the replicas in another, so that neither happens by accident.

    Fix
        Scale through the DynamoGraphDeploymentScalingAdapter of the {service}, or disable the adapter first and scale afterwards.

    Example
        +# user: system:serviceaccount:dynamo-system:operator
         spec: {components: [{name: worker, replicas: 1, scalingAdapter: {}}]}
         --- # becomes
         spec:
           components:
             - name: worker
               replicas: 2  # expect
               scalingAdapter: {}

        -spec: {components: [{name: worker, replicas: 1, scalingAdapter: {}}]}
        +spec: {components: [{name: worker, scalingAdapter: {}}]}
         --- # becomes
         spec:
           components:
             - name: worker
        -      replicas: 2  # expect
        +      replicas: 1
        +      scalingAdapter: {}
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
    replicas = service.get("replicas")
    return 1 if replicas is None else int(replicas)


def _may_scale(at: At) -> bool:
    """Whether the caller is the planner of some namespace or the operator itself; a user that is not known is neither."""
    user = at.review.user
    if not user.startswith(_ACCOUNT):  # an operator outside of the cluster has another name
        return bool(user) and user == at.review.facts.operatorPrincipal
    parts = user.split(":")
    return (len(parts) == 4 and parts[3] == _PLANNER) or user == at.fact("operatorPrincipal")
