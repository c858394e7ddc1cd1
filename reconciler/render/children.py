"""All children of one object, as a list whose order never changes, beside the problems of those that can't be rendered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...api.line import Line
from ...conversion.lens.protocol import Fields
from . import accounts, generation, gms, without_effect
from .checkpoint import job
from .checkpoint.identity import hash_identity
from .component import explain_no_orchestrator, render_component
from .disaggregated_set import list_roles, set_children
from .errors import RenderError
from .graph import Graph, Member, convert_both, object_name, read_experimental, read_graph, read_replicas, start_waiting
from .grove.clique_set import make_clique_set
from .grove.member import with_old_selectors
from .multinode import trtllm, vllm
from .names import API_VERSION, ENABLE_GROVE, GRAPH_NAME, WORKLOAD_PROVIDER, is_provided_by_grove
from .names import COMPONENT as COMPONENT_LABEL
from .objects import make_child
from .observed import NOTHING, ObservedState
from .service import make_grove_services, make_model_services, make_picker_objects
from .settings import Settings
from .split import make_component
from .without_effect import Note
from .workload import owning_graph

GRAPH: Final = "DynamoGraphDeployment"
COMPONENT: Final = "DynamoComponentDeployment"
CHECKPOINT: Final = "DynamoCheckpoint"
# sort keys: characters with which no field's name begins
_FIRST: Final = {name: chr(number) for number, name in enumerate(("apiVersion", "kind", "metadata", "name", "namespace"))}
# what others need first comes first; kinds that are not here come last, by name
_NEEDED: Final = ("ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Secret", "PersistentVolumeClaim", "ResourceClaimTemplate")
_OURS: Final = (CHECKPOINT, "DynamoGraphDeploymentScalingAdapter", COMPONENT)
_ORDER: Final = (
    *_NEEDED,
    *_OURS,
    "PodCliqueSet",
    "DisaggregatedSet",
    "LeaderWorkerSet",
    "Deployment",
    "Job",
    "Service",
    "Ingress",
    "InferencePool",
)


class RenderedChildren(NamedTuple):
    """The rendered children, and the errors of others. While there are errors, nothing must be pruned."""

    children: list[Fields]
    problems: list[RenderError]
    notes: Sequence[Note] = ()  # fields of the object that nothing acts on


def render(obj: Fields, settings: Settings, observed: ObservedState = NOTHING) -> RenderedChildren:
    """All children of an object of either version, down to those of a graph's components. Never raises for what the schema admits."""
    own = render_direct(obj, settings, observed)
    parents = [child for child in own.children if obj.get("kind") == GRAPH and child["kind"] in (COMPONENT, CHECKPOINT)]
    if not parents:
        return own
    members = read_graph(obj, settings.line).members
    return _sort(_join([own, *(_render_below(child, members, settings, observed) for child in parents)]))._replace(notes=own.notes)


def render_direct(obj: Fields, settings: Settings, observed: ObservedState = NOTHING) -> RenderedChildren:
    """The children that one object owns or asks for itself, none for other kinds; a graph's components have children of their own."""
    kind = obj.get("kind")
    if kind == GRAPH:
        try:
            graph = read_graph(obj, settings.line)
        except RenderError as error:
            return RenderedChildren([], [error])
        return render_graph(graph, settings, observed)
    if kind == COMPONENT:
        made = _sort(_collect(render_component, obj, settings, observed))
        if made.problems or owning_graph(obj.get("metadata") or {}):
            return made
        new, old = convert_both(obj, settings.line)
        return made._replace(notes=without_effect.list_component_notes(new.get("spec") or {}, old.get("spec") or {}, settings))
    if kind == CHECKPOINT and settings.pod_snapshots:
        why = f"must not be {CHECKPOINT}: the kind is gone since operator 1.5; delete it, and name a PodSnapshot"
        return RenderedChildren([], [RenderError(("kind",), why)])
    if kind == CHECKPOINT:
        return _collect(job.make_job_objects, obj, settings.checkpoints)
    return RenderedChildren([], [])


def render_graph(graph: Graph, settings: Settings, observed: ObservedState) -> RenderedChildren:
    """As `render_direct`, of a graph that has been read."""
    grove = runs_on_grove(graph, settings, observed)
    parts = [
        _collect(accounts.make_shared_accounts, graph, settings),
        _collect(_claims, graph),
        _collect(accounts.make_graph_account, graph, settings),
        *(_collect(_claim_templates, graph, member, settings) for member in graph.members),
        *(_collect(_checkpoints, graph, member, settings, observed) for member in graph.members),
        _collect(_adapters, graph),
        _collect(make_picker_objects, graph, settings),
        _collect(vllm.make_config_maps, graph),
        _collect(trtllm.make_secrets, graph, settings),
        _grove(graph, settings, observed) if grove else _components(graph, settings, observed),
    ]
    return _sort(_join(parts))._replace(notes=without_effect.list_graph_notes(graph, grove=grove, settings=settings))


def _checkpoints(graph: Graph, member: Member, settings: Settings, observed: ObservedState) -> list[Fields]:
    return job.make_checkpoints(graph, member, settings, is_there=member.name in observed.checkpoints)


def runs_on_grove(graph: Graph, settings: Settings, observed: ObservedState = NOTHING) -> bool:
    """Whether the graph becomes one PodCliqueSet, and no objects of components."""
    return goes_to_grove(graph.annotations, settings) if observed.grove is None else observed.grove


def goes_to_grove(annotations: Mapping[str, str], settings: Settings) -> bool:
    """Decides whether a graph with these annotations that runs nowhere yet becomes one PodCliqueSet, and no objects of components."""
    if (remembered := is_provided_by_grove(annotations)) is not None:
        return remembered
    return settings.grove and annotations.get(ENABLE_GROVE, "").lower() != "false"


def compute_worker_hash(graph: Graph, line: Line, observed: ObservedState = NOTHING) -> str:
    """The generation that the workers of a graph belong to. Raises: RenderError as `compute_worker_hashes`."""
    return compute_worker_hashes(graph, line, observed).now


def compute_worker_hashes(graph: Graph, line: Line, observed: ObservedState = NOTHING) -> generation.WorkerDigests:
    """Computes the workers' generation, and what earlier releases called it. Raises: RenderError where one can't be made into an object."""
    framework = graph.framework
    workers = [worker for worker in graph.members if worker.is_worker]
    objects = [make_component(graph, worker, generation.PLACEHOLDER, observed.frameworks.get(worker.name, framework)) for worker in workers]
    return generation.compute_digests(objects, line)


def _render_below(child: Fields, members: list[Member], settings: Settings, observed: ObservedState) -> RenderedChildren:
    """Renders the children of an object that a graph has just rendered; a problem names the graph's own field."""
    rendered = render_direct(child, settings, observed)
    if child["kind"] == COMPONENT:
        path = next(member.path for member in members if member.name == child["spec"]["name"])
        return RenderedChildren(rendered.children, [RenderError((*path, *error.path[1:]), error.reason) for error in rendered.problems])
    path = (*next(member.path for member in members if _asks_for(member, child)), "experimental", "checkpoint")
    return RenderedChildren(rendered.children, [RenderError(path, error.reason) for error in rendered.problems])


def _asks_for(member: Member, checkpoint: Fields) -> bool:
    identity = (read_experimental(member.fields, "checkpoint") or {}).get("identity")
    return isinstance(identity, dict) and hash_identity(identity) == hash_identity(checkpoint["spec"]["identity"])


def _components(graph: Graph, settings: Settings, observed: ObservedState) -> RenderedChildren:
    try:
        framework = graph.framework
        name = observed.worker_hash or compute_worker_hash(graph, settings.line, observed)
    except RenderError as error:
        return RenderedChildren([], [error])
    marks = generation.list_restart_marks(graph, observed)

    def make_objects(member: Member) -> list[Fields]:
        if member.nodes > 1 and not settings.lws:
            raise RenderError((*member.path, "multinode"), explain_no_orchestrator(settings, _no_grove(graph)))
        child = make_component(graph, member, name, observed.frameworks.get(member.name, framework), restart=marks.get(member.name, ""))
        if member.name in observed.replicas:
            child["spec"]["replicas"] = observed.replicas[member.name]
        return [child, *make_model_services(member.fields, graph.object)]

    together = {member.name for member in list_roles(graph, settings.line).values()}
    alone = (_collect(make_objects, member) for member in graph.members if member.name not in together)
    return _join([_collect(set_children, graph, name, marks, settings, observed), *alone])


def _claims(graph: Graph) -> list[Fields]:
    """One volume claim for each named entry to create; the others must exist. Only v1alpha1 has them."""
    return [_claim(graph, entry) for entry in graph.claims if entry.get("name") and entry.get("create") is True]


def _claim(graph: Graph, entry: Fields) -> Fields:
    # always set: an empty class means no class
    spec: Fields = {"storageClassName": entry.get("storageClass") or ""}
    if entry.get("volumeAccessMode"):
        spec["accessModes"] = [entry["volumeAccessMode"]]
    if entry.get("size") is not None:
        spec["resources"] = {"requests": {"storage": entry["size"]}}
    return make_child("v1", "PersistentVolumeClaim", str(entry["name"]), owner=graph.object, spec=spec)


def _adapters(graph: Graph) -> list[Fields]:
    """The adapters through which autoscalers change replicas, of components that want one."""
    out, kind = [], "DynamoGraphDeploymentScalingAdapter"
    for member in (scaled for scaled in graph.members if scaled.fields.get("scalingAdapter") is not None):
        name, marks = object_name(graph, member), {GRAPH_NAME: graph.name, COMPONENT_LABEL: member.name}
        spec = {"replicas": read_replicas(member.fields), "dgdRef": {"name": graph.name, "componentName": member.name}}
        out.append(make_child(API_VERSION, kind, name, labels=marks, owner=graph.object, spec=spec))
    return out


def _no_grove(graph: Graph) -> str:
    """Explains why a graph does not run on Grove where that is served."""
    if is_provided_by_grove(graph.annotations) is False:
        return f"the annotation {WORKLOAD_PROVIDER} keeps the graph from Grove"
    kept = graph.annotations.get(ENABLE_GROVE, "").lower() == "false"
    why = "keeps the graph from Grove" if kept else 'must be "true" to move the graph to Grove'
    return f"the annotation {ENABLE_GROVE} {why}"


def _claim_templates(graph: Graph, member: Member, settings: Settings) -> list[Fields]:
    templates = gms.make_claim_templates(graph, member)
    if templates and not settings.dra:
        path = (*member.path, "experimental", "gpuMemoryService")
        why = "are switched off in the operator" if "dra" in settings.switched_off else "the cluster does not serve"
        raise RenderError(path, f"needs claims of devices (DRA, resource.k8s.io/v1), which {why}")
    return templates


def _grove(graph: Graph, settings: Settings, observed: ObservedState) -> RenderedChildren:
    marks = generation.list_restart_marks(graph, observed)
    graph = with_old_selectors(start_waiting(graph, observed.waiting_components), observed.old_selectors)
    reached = (_collect(make_grove_services, graph, member, settings) for member in graph.members)
    return _join([_collect(make_clique_set, graph, settings, marks, observed.restores), *reached])


def _collect(make: Callable[..., list[Fields]], *of: Any) -> RenderedChildren:
    try:
        return RenderedChildren([_canonicalize(child) for child in make(*of)], [])
    except RenderError as error:
        return RenderedChildren([], [error])


def _join(parts: Iterable[RenderedChildren]) -> RenderedChildren:
    """Joins all parts; an object that several parts make comes from the first, and a problem of several parts is reported once."""
    children: dict[tuple[str, str, str], Fields] = {}
    problems: dict[str, RenderError] = {}
    for part in parts:
        for child in part.children:
            metadata = child["metadata"]
            children.setdefault((child["kind"], metadata["namespace"], metadata["name"]), child)
        for problem in part.problems:
            problems.setdefault(str(problem), problem)
    return RenderedChildren(list(children.values()), list(problems.values()))


def _sort(rendered: RenderedChildren) -> RenderedChildren:
    def sort_key(child: Fields) -> tuple[int, str]:
        kind = child["kind"]
        return (_ORDER.index(kind), "") if kind in _ORDER else (len(_ORDER), kind)

    return RenderedChildren(sorted(rendered.children, key=sort_key), rendered.problems)


def _canonicalize(value: Any) -> Any:
    """A copy with ordered maps: names first, other members sorted."""
    if isinstance(value, dict):
        return {
            name: _canonicalize(item) if isinstance(item, (dict, list)) else item for name, item in sorted(value.items(), key=_key_order)
        }
    return [_canonicalize(item) for item in value] if isinstance(value, list) else value


def _key_order(member: tuple[str, Any]) -> str:
    return _FIRST.get(member[0], member[0])
