"""The set of a graph's components."""

from ..at import At, Findings
from ..components import list_components
from ..review import UPDATE
from ..rule import GRAPH, GRAPH_OBJECT, Stage, differs, rule
from ..words import format_words, quote_all


@rule("DYN708", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_service_set_immutable(at: At) -> Findings:
    """A component is added to an existing graph, removed from it, or renamed.

    Why
        The pods of a graph are created as one set, which can change the number of replicas but not its members.

    Fix
        Keep the names. To stop a {service}, set its `replicas` to 0; for other {services}, create another graph.

    Example
        -spec: {components: [{name: frontend}, {name: worker}]}
        +spec: {components: [{name: frontend}, {name: worker, replicas: 2}]}
         --- # becomes
         spec:
        -  components: [{name: decoder}, {name: frontend}]  # expect
        +  components: [{name: frontend}, {name: worker, replicas: 0}]
    """
    if at.old is None:
        return
    now, before = ({name for _, name, _ in list_components(obj.get("spec") or {})} for obj in (at.value, at.old))
    if not now or not before or now == before:  # no components at all: dgd-services-required speaks, and the graph may get them back
        return
    changes = [f"{word} {quote_all(names)}" for word, names in (("added", now - before), ("removed", before - now)) if names]
    text = format_words("must keep the {services} that the graph was created with: {changes}", changes="; ".join(changes))
    yield at.forbidden("spec.components", text)


@differs("an update of a stored graph without components is refused, too: a write in v1alpha1 without conversion empties graphs")
@rule("DYN101", where=GRAPH, stage=Stage.SHAPE, ratchets=False)
def dgd_services_required(at: At) -> Findings:
    """A graph has no components.

    Why
        A graph consists of components. Without any, there is nothing to deploy; usually the indentation is wrong. If no update has the
        components, and the file does, the definition's conversion strategy is `None`: then a write in the other version empties graphs.

    Fix
        Add at least one {service} under `spec.{services}`. If they vanished, repair the definition first (`dynamo-webhooks doctor`).

    Example
         spec:
        -  components: []  # expect
        +  components: [{name: frontend, type: frontend}]

        -spec: {components: []}
        +spec: {components: []}
         --- # becomes
         metadata: {labels: {team: search}}
         spec:
        -  components: []  # expect
        +  components: [{name: frontend, type: frontend}]
    """
    if not at.components:
        yield at.required("components", format_words("must hold at least one {service}, got none"))
