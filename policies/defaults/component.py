"""Defaults of components."""

from collections.abc import Iterator

from ..at import At
from ..component.roles import count_roles
from ..components import LPX
from ..finding import Edit
from ..grove import GROVE, default_provider
from ..review import CREATE, UPDATE, is_line_1_4
from ..rule import COMPONENT, DCD, GRAPH_COMPONENT, default, differs


@default("DYND03", where={DCD: ""}, on=(CREATE,))
def mut_dcd_name(at: At) -> Iterator[Edit]:
    """A standalone component gets the name of its object.

    Why
        The name inside the spec becomes part of labels and Service names; it differs from the object's name only if you set it. An object
        with `generateName` has no name yet, so nothing is copied.

    Before
        metadata: {name: router}
        spec: {name: ""}

    After
        metadata: {name: router}
        spec: {name: router}
    """
    name = at.get("metadata.name")
    if name and not at.get("spec.name"):
        yield at.set("spec.name", name)


@differs("the default applies to updates too; under an adapter the stored number is kept, because 1 would scale down")
@default("DYND01", where=GRAPH_COMPONENT)
def mut_dgd_replicas(at: At) -> Iterator[Edit]:
    """A component without `replicas` gets one replica.

    Why
        Users, adapters and dashboards read the effective number from the object. An explicit 0 stays. If an update omits `replicas` of a
        component with a scaling adapter, the webhook restores the number that the adapter wrote last.

    Before
        spec: {components: [{name: parked, replicas: 0}, {name: worker}]}

        spec: {components: [{name: worker, replicas: 3, scalingAdapter: {}}]}
        --- # becomes
        spec: {components: [{name: worker, scalingAdapter: {}}]}

    After
        spec: {components: [{name: parked, replicas: 0}, {name: worker, replicas: 1}]}

        spec: {components: [{name: worker, replicas: 3, scalingAdapter: {}}]}
    """
    if at.value.get("replicas") is None and at.value.get("type") != LPX:
        yield at.set("replicas", _choose_replicas(at))


def _choose_replicas(at: At) -> int:
    """The number of the stored service where an adapter owns it, else 1."""
    old = at.old if at.review.operation == UPDATE else None
    if old is None or (at.value.get("scalingAdapter") is None and old.get("scalingAdapter") is None):
        return 1
    before = old.get("replicas")
    return 1 if before is None else int(before)


@differs("the stored default is restored on every line, so that a file that omits it can replace the graph")
@default("DYND07", where=GRAPH_COMPONENT, needs=("grove",), since="1.3")
def mut_min_available(at: At) -> Iterator[Edit]:
    """A component on Grove without `minAvailable` gets 1.

    Why
        Grove starts this number of replicas together; its own default is 1. The number can't be changed later. If an update omits the
        default, as a replacement by the same file does, it is restored.

    Before
        # facts: {operatorLine: "1.4"}
        spec: {components: [{name: worker, replicas: 2}]}

        spec: {components: [{name: worker, replicas: 2, minAvailable: 1}]}
        --- # becomes
        spec: {components: [{name: worker, replicas: 3}]}

    After
        spec: {components: [{name: worker, replicas: 2, minAvailable: 1}]}

        spec: {components: [{name: worker, replicas: 3, minAvailable: 1}]}
    """
    if at.value.get("minAvailable") is not None:
        return
    new, kept = at.review.operation == CREATE, (at.old or {}).get("minAvailable") == 1
    if (kept and not new) or (is_line_1_4(at.review) and default_provider(at) == GROVE):
        yield at.set("minAvailable", 1)


@default("DYND09", where=COMPONENT, when="roles", since="1.6")
def mut_role_replicas(at: At) -> Iterator[Edit]:
    """A role of a component on several nodes gets its number of pods.

    Why
        Users read the effective number from the object: one leader, and a worker on each other node.

    Before
        spec: {components: [{name: w, type: worker, multinode: {nodeCount: 4}, roles: [{name: leader}, {name: worker}]}]}

    After
        spec:
          components:
            - name: w
              type: worker
              multinode: {nodeCount: 4}
              roles: [{name: leader, replicas: 1}, {name: worker, replicas: 3}]
    """
    for index, role, wanted in count_roles(at.value):
        if role.get("replicas") is None:
            yield at.set(("roles", index, "replicas"), wanted)
