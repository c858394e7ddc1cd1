"""The backend and the set of services of a graph."""

from ..at import At
from ..domain import check_unchanged, list_components, quote_all
from ..review import UPDATE
from ..rule import GRAPH, GRAPH_OBJECT, Hits, Stage, rule
from ..words import format_words


@rule("DYN701", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_backend_immutable(at: At) -> Hits:
    """The backend of a graph changes after creation.

    Why
        Commands, ports, probes and the layout of pods all follow from the backend; running pods can't be carried over to another one.

    Fix
        Put the old value back, or create a second graph with the new backend and delete this one when it serves.

    Example
    ok  metadata: {labels: {team: search}}
        spec: {backendFramework: vllm}
        --- # becomes
    bad spec:
    bad   backendFramework: sglang  # expect: dgd-backend-immutable, warn-backend-framework-change
    ok  metadata: {labels: {team: ranking}}
    ok  spec: {backendFramework: vllm}
    """
    yield from check_unchanged(at, "spec.backendFramework", "graph")


@rule("DYN708", where=GRAPH_OBJECT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False)
def dgd_service_set_immutable(at: At) -> Hits:
    """A service is added to an existing graph, taken from it, or renamed.

    Why
        The pods of a graph are created as one set; a set can change its sizes but not its members.

    Fix
        Keep the names. To park a {service} set its `replicas` to 0; for another set of {services} create another graph.

    Example
    bad spec: {components: [{name: frontend}, {name: worker}]}
    ok  spec: {components: [{name: frontend}, {name: worker, replicas: 2}]}
        --- # becomes
    bad spec:
    bad   components: [{name: decoder}, {name: frontend}]  # expect
    ok  spec: {components: [{name: frontend}, {name: worker, replicas: 0}]}
    """
    if at.old is None:
        return
    now, before = ({name for _, name, _ in list_components(obj.get("spec") or {})} for obj in (at.value, at.old))
    if not now or now == before:  # no components at all: the rule dgd-services-required speaks
        return
    changes = [f"{word} {quote_all(names)}" for word, names in (("added", now - before), ("removed", before - now)) if names]
    text = format_words("must keep the {services} that the graph was created with: {changes}", changes="; ".join(changes))
    yield at.immutable("spec.components", text)


@rule("DYN101", where=GRAPH, stage=Stage.SHAPE)
def dgd_services_required(at: At) -> Hits:
    """A graph has no services.

    Why
        A graph is made of its services. Without any there is nothing to deploy, and an empty graph is nearly always a slip of indentation.

    Fix
        Add at least one {service} under `spec.{services}`.

    Example
    bad spec:
    bad   components: []  # expect
    ok  spec: {components: [{name: frontend, type: frontend}]}
    """
    if not list_components(at.value):
        yield at.required("components", format_words("must hold at least one {service}, got none"))
