"""All children of one object, as a list whose order never changes. What can't be rendered is told beside what can."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ...api.line import OLDEST, Line
from ...api.paths import Key
from ...api.quantity import is_quantity, parse
from ...conversion.lens.protocol import Fields
from ...policies.engines import ENGINES_SINCE, list_templates
from . import discovery, generation, gms, names, without_effect
from .checkpoint import job
from .checkpoint.identity import identity_hash
from .checkpoint.restore import Restore, restore_pod_metadata, restore_pod_spec, strip_restore_marks, targets_of
from .errors import RenderError
from .framework import main_of, path_of_main
from .generation import share
from .graph import Graph, Member, at_start, both_versions, experimental, object_name, read_graph, replicas_in, start_waiting
from .grove.clique_set import clique_set
from .grove.member import with_old_selectors
from .merge import string_map
from .multinode import trtllm, vllm
from .multinode.gpus import USUAL, count_claimed
from .multinode.role import Role, check_nodes, lws_roles
from .names import API_VERSION, ENABLE_GROVE, GRAPH_NAME, WORKLOAD_PROVIDER, is_provided_by_grove
from .names import COMPONENT as COMPONENT_LABEL
from .objects import canonical, make_child
from .observed import NOTHING, Observed
from .pod.assemble import pod_spec
from .service import model_services, picker_objects, services, services_on_grove
from .settings import Settings
from .split import component_object
from .without_effect import Note
from .workload import Workload, owning_graph, read_workload, uses_old_selectors

GRAPH: Final = "DynamoGraphDeployment"
COMPONENT: Final = "DynamoComponentDeployment"
CHECKPOINT: Final = "DynamoCheckpoint"
# what others need first comes first; kinds that are not here come last, by name
_NEEDED: Final = ("ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Secret", "PersistentVolumeClaim", "ResourceClaimTemplate")
_OURS: Final = (CHECKPOINT, "DynamoGraphDeploymentScalingAdapter", COMPONENT)
_ORDER: Final = (*_NEEDED, *_OURS, "PodCliqueSet", "LeaderWorkerSet", "Deployment", "Job", "Service", "Ingress", "InferencePool")


class Rendered(NamedTuple):
    """The children, and what of the object could not become any. Where there are problems nothing must be pruned."""

    children: list[Fields]
    problems: list[RenderError]
    notes: Sequence[Note] = ()  # fields of the object that nothing acts on


def render(obj: Fields, settings: Settings, observed: Observed = NOTHING) -> Rendered:
    """All children of an object of either version, down to those of a graph's components. Never raises for what the schema admits."""
    own = direct_children(obj, settings, observed)
    made = [one for one in own.children if obj.get("kind") == GRAPH and one["kind"] in (COMPONENT, CHECKPOINT)]
    if not made:
        return own
    members = read_graph(obj, settings.line).members
    return _ordered(_joined([own, *(_below(one, members, settings, observed) for one in made)]))._replace(notes=own.notes)


def direct_children(obj: Fields, settings: Settings, observed: Observed = NOTHING) -> Rendered:
    """The children that one object owns or asks for itself, none for other kinds; a graph's components have children of their own."""
    kind = obj.get("kind")
    if kind == GRAPH:
        try:
            graph = read_graph(obj, settings.line)
        except RenderError as error:
            return Rendered([], [error])
        return graph_children(graph, settings, observed)
    if kind == COMPONENT:
        made = _ordered(_collected(component_children, obj, settings, observed))
        if made.problems or owning_graph(obj.get("metadata") or {}):
            return made
        new, old = both_versions(obj, settings.line)
        return made._replace(notes=without_effect.of_component(new.get("spec") or {}, old.get("spec") or {}, settings))
    if kind == CHECKPOINT and settings.pod_snapshots:
        why = f"must not be {CHECKPOINT}: the kind is gone since operator 1.5; delete it, and name a PodSnapshot"
        return Rendered([], [RenderError(("kind",), why)])
    if kind == CHECKPOINT:
        return _collected(job.jobs, obj, settings.checkpoints)
    return Rendered([], [])


def graph_children(graph: Graph, settings: Settings, observed: Observed) -> Rendered:
    """As `direct_children`, of a graph that has been read."""
    if why := names.explain_unrendered_provider(graph.annotations, settings.line):
        return Rendered([], [RenderError(("metadata", "annotations", Key(WORKLOAD_PROVIDER)), why)])
    grove = on_grove(graph, settings, observed)
    parts = [
        _collected(discovery.shared_accounts, graph, settings),
        _collected(_claims, graph),
        _collected(discovery.rights, graph, settings),
        *(_collected(_claim_templates, graph, member, settings) for member in graph.members),
        *(_collected(_checkpoints, graph, member, settings, observed) for member in graph.members),
        _collected(_adapters, graph),
        _collected(picker_objects, graph, settings),
        _collected(vllm.config_maps, graph),
        _collected(trtllm.secrets, graph, settings),
        _grove(graph, settings, observed) if grove else _components(graph, settings, observed),
    ]
    return _ordered(_joined(parts))._replace(notes=without_effect.of_graph(graph, grove=grove, settings=settings))


def _checkpoints(graph: Graph, member: Member, settings: Settings, observed: Observed) -> list[Fields]:
    return job.checkpoints(graph, member, settings, is_there=member.name in observed.checkpoints)


def on_grove(graph: Graph, settings: Settings, observed: Observed = NOTHING) -> bool:
    """Whether the graph becomes one PodCliqueSet, and no objects of components."""
    return goes_to_grove(graph.annotations, settings) if observed.grove is None else observed.grove


def goes_to_grove(annotations: Mapping[str, str], settings: Settings) -> bool:
    """The same of a graph with these annotations that runs nowhere yet."""
    if (remembered := is_provided_by_grove(annotations)) is not None:
        return remembered
    return settings.grove and annotations.get(ENABLE_GROVE, "").lower() != "false"


def worker_hash(graph: Graph, line: Line, observed: Observed = NOTHING) -> str:
    """The generation that the workers of a graph belong to. Raises: RenderError as `worker_hashes`."""
    return worker_hashes(graph, line, observed).now


def worker_hashes(graph: Graph, line: Line, observed: Observed = NOTHING) -> generation.Digests:
    """The same, beside what earlier releases called it. Raises: RenderError where a worker can't be made into an object."""
    framework = graph.framework
    workers = [one for one in graph.members if one.is_worker]
    objects = [component_object(graph, one, generation.PLACEHOLDER, observed.frameworks.get(one.name, framework)) for one in workers]
    return generation.worker_digests(objects, line)


def _below(one: Fields, members: list[Member], settings: Settings, observed: Observed) -> Rendered:
    """The children of an object that a graph has just made; a problem is told of the graph's own field."""
    made = direct_children(one, settings, observed)
    if one["kind"] == COMPONENT:
        path = next(member.path for member in members if member.name == one["spec"]["name"])
        return Rendered(made.children, [RenderError((*path, *error.path[1:]), error.reason) for error in made.problems])
    path = (*next(member.path for member in members if _asks_for(member, one)), "experimental", "checkpoint")
    return Rendered(made.children, [RenderError(path, error.reason) for error in made.problems])


def _asks_for(member: Member, made: Fields) -> bool:
    identity = (experimental(member.fields, "checkpoint") or {}).get("identity")
    return isinstance(identity, dict) and identity_hash(identity) == identity_hash(made["spec"]["identity"])


def _components(graph: Graph, settings: Settings, observed: Observed) -> Rendered:
    try:
        framework = graph.framework
        name = observed.worker_hash or worker_hash(graph, settings.line, observed)
    except RenderError as error:
        return Rendered([], [error])
    marks = generation.restart_marks(graph, observed)

    def one(member: Member) -> list[Fields]:
        if member.nodes > 1 and not settings.lws:
            raise RenderError((*member.path, "multinode"), no_orchestrator(settings, _no_grove(graph)))
        made = component_object(graph, member, name, observed.frameworks.get(member.name, framework), restart=marks.get(member.name, ""))
        if member.name in observed.replicas:
            made["spec"]["replicas"] = observed.replicas[member.name]
        return [made, *model_services(member.fields, graph.object)]

    return _joined(_collected(one, member) for member in graph.members)


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
    for member in (one for one in graph.members if one.fields.get("scalingAdapter") is not None):
        name, marks = object_name(graph, member), {GRAPH_NAME: graph.name, COMPONENT_LABEL: member.name}
        spec = {"replicas": replicas_in(member.fields), "dgdRef": {"name": graph.name, "componentName": member.name}}
        out.append(make_child(API_VERSION, kind, name, labels=marks, owner=graph.object, spec=spec))
    return out


def _no_grove(graph: Graph) -> str:
    """Why a graph does not run on Grove where that is served."""
    if is_provided_by_grove(graph.annotations) is False:
        return f"the annotation {WORKLOAD_PROVIDER} keeps the graph from Grove"
    kept = graph.annotations.get(ENABLE_GROVE, "").lower() == "false"
    why = "keeps the graph from Grove" if kept else 'must be "true" to move the graph to Grove'
    return f"the annotation {ENABLE_GROVE} {why}"


def _claim_templates(graph: Graph, member: Member, settings: Settings) -> list[Fields]:
    made = gms.claim_templates(graph, member)
    if made and not settings.dra:
        path = (*member.path, "experimental", "gpuMemoryService")
        why = "are switched off in the operator" if "dra" in settings.switched_off else "the cluster does not serve"
        raise RenderError(path, f"needs claims of devices (DRA, resource.k8s.io/v1), which {why}")
    return made


def _grove(graph: Graph, settings: Settings, observed: Observed) -> Rendered:
    marks = generation.restart_marks(graph, observed)
    graph = with_old_selectors(start_waiting(graph, observed.waits), observed.old_selectors)
    reached = (_collected(services_on_grove, graph, one, settings) for one in graph.members)
    return _joined([_collected(clique_set, graph, settings, marks, observed.restores), *reached])


def _collected(make: Callable[..., list[Fields]], *of: Any) -> Rendered:
    try:
        return Rendered([canonical(one) for one in make(*of)], [])
    except RenderError as error:
        return Rendered([], [error])


def _joined(parts: Iterable[Rendered]) -> Rendered:
    """All parts as one; an object that several parts make is made by the first, and what several parts stumble over is told once."""
    children: dict[tuple[str, str, str], Fields] = {}
    problems: dict[str, RenderError] = {}
    for part in parts:
        for one in part.children:
            metadata = one["metadata"]
            children.setdefault((one["kind"], metadata["namespace"], metadata["name"]), one)
        for problem in part.problems:
            problems.setdefault(str(problem), problem)
    return Rendered(list(children.values()), list(problems.values()))


def _ordered(rendered: Rendered) -> Rendered:
    def place(one: Fields) -> tuple[int, str]:
        kind = one["kind"]
        return (_ORDER.index(kind), "") if kind in _ORDER else (len(_ORDER), kind)

    return Rendered(sorted(rendered.children, key=place), rendered.problems)


_MAX_SET_NAME_CHARACTERS: Final = 50  # with an index of one digit: 63, as of a label, less the index and the hash with their dashes


def no_orchestrator(settings: Settings, grove_will_not: str) -> str:
    """Why a component can't span several nodes without LeaderWorkerSets, with the reason why Grove doesn't run it."""
    off = settings.switched_off
    if not settings.grove and not off & {"grove", "lws"}:
        return "needs LeaderWorkerSets together with Volcano, or Grove, to span several nodes; the cluster serves neither"
    where = "are switched off in the operator" if "lws" in off else "the cluster does not serve"
    if not settings.grove:
        grove_will_not = "Grove is switched off in the operator" if "grove" in off else "the cluster does not serve Grove"
    return f"needs LeaderWorkerSets together with Volcano to span several nodes, which {where}; {grove_will_not}"


def component_children(obj: Fields, settings: Settings, observed: Observed = NOTHING) -> list[Fields]:
    """All children of one component's object, its workload first. Raises: RenderError if they can't be rendered."""
    name = str((obj.get("metadata") or {}).get("name") or "")
    old = name in observed.old_selectors or uses_old_selectors(obj)
    left = name in observed.left
    made = left or bool(owning_graph(obj.get("metadata") or {}))  # by a graph, which writes it as all lines read it
    workload = read_workload(obj, OLDEST if made else settings.line, old_selectors=old, left=left)
    workload = replace(workload, spec=at_start(workload.spec, waits=name in observed.waits))
    settings = settings._replace(key_per_graph=settings.key_per_graph and bool(workload.graph))
    if workload.nodes == 1:
        return [_deployment(workload, settings, observed.restores.get(name)), *services(workload, settings)]
    if not settings.lws:
        raise RenderError(("spec", "multinode"), no_orchestrator(settings, "Grove runs whole graphs only"))
    return [_leader_worker_set(workload, settings), *services(workload, settings)]


def _deployment(workload: Workload, settings: Settings, restore: Restore | None) -> Fields:
    template = {"metadata": _pod_metadata(workload, settings), "spec": pod_spec(workload.plan_pod(), settings)}
    if restore is not None:
        targets = targets_of(workload.spec)
        restore_pod_spec(template["spec"], targets, restore, ("spec",))
        template["metadata"] = restore_pod_metadata(template["metadata"], targets, restore)
    replicas = {} if workload.spec.get("replicas") is None else {"replicas": workload.spec["replicas"]}
    selector = {"matchLabels": {names.SELECTOR: workload.name}}
    spec = {**replicas, "selector": selector, "strategy": _strategy(workload), "template": template}
    labels, annotations = workload.labels, workload.annotations
    return make_child("apps/v1", "Deployment", workload.name, labels=labels, annotations=annotations, owner=workload.object, spec=spec)


def _pod_metadata(workload: Workload, settings: Settings) -> Fields:
    """Labels and annotations of a component's pods."""
    labels = {
        **strip_restore_marks(workload.labels),
        names.SELECTOR: workload.name,
        names.NAMESPACE: workload.selected_namespace,
        **discovery.labels(workload.template_annotations, settings),
    }
    if workload.annotations.get(names.ENABLE_METRICS) != "false":
        labels[names.METRICS_ENABLED] = "true"
    if workload.type:
        labels[names.COMPONENT_TYPE] = workload.type
    out: Fields = {"labels": dict(sorted(labels.items()))}
    annotations = strip_restore_marks(workload.annotations)
    return {**out, "annotations": dict(sorted(annotations.items()))} if annotations else out


def _strategy(workload: Workload) -> Fields:
    # includes annotations of a v1alpha1 service, which rolls of generations ignore
    said = {**string_map(workload.alpha.get("annotations")), **workload.template_annotations}
    if said.get(names.STRATEGY) == "Recreate":
        return {"type": "Recreate"}
    figures = {"maxSurge": share(said.get(names.MAX_SURGE, "")), "maxUnavailable": share(said.get(names.MAX_UNAVAILABLE, ""))}
    return {"type": "RollingUpdate", "rollingUpdate": figures}


def _leader_worker_set(workload: Workload, settings: Settings) -> Fields:
    _check(workload, settings)
    leader, worker = lws_roles(workload.nodes)
    spec = {
        "replicas": replicas_in(workload.spec),
        "startupPolicy": "LeaderCreated",
        "leaderWorkerTemplate": {
            "size": workload.nodes,
            "leaderTemplate": _template(workload, leader, settings),
            "workerTemplate": _template(workload, worker, settings),
        },
    }
    # the labels of all children, but not their annotations, as recorded
    api_version, labels = "leaderworkerset.x-k8s.io/v1", workload.labels
    return make_child(api_version, "LeaderWorkerSet", set_name(workload.name), labels=labels, owner=workload.object, spec=spec)


def set_name(component: str) -> str:
    """The name of a component's set; one that is too long for its pods ends with a hash instead.

    A StatefulSet labels its pods with its own name, a dash and ten characters, and the one of a group's workers is named `<set>-<index>`.
    The Go operator makes sets of longer names, too; their workers are never made.
    """
    name = f"{component}-0"
    if len(name) <= _MAX_SET_NAME_CHARACTERS:
        return name
    return f"{name[: _MAX_SET_NAME_CHARACTERS - 9].rstrip('-')}-{names.digest(name)}"


def _template(workload: Workload, role: Role, settings: Settings) -> Fields:
    workload = workload.of_role(names.LEADER if role.leader else names.WORKER)
    metadata = _pod_metadata(workload, settings)
    labels = {**metadata["labels"], names.ROLE: names.LEADER if role.leader else names.WORKER}
    del labels[names.SELECTOR]
    spec = pod_spec(workload.plan_pod(role), settings)
    if not any(one.get("name") == names.MAIN for one in spec["containers"]):
        path = ("spec", "experimental", "failover")
        raise RenderError(path, "must not double the engine within a pod of a LeaderWorkerSet, whose pods need one main container")
    return {"metadata": {**metadata, "labels": dict(sorted(labels.items()))}, "spec": spec}


def _check(workload: Workload, settings: Settings) -> None:
    check_nodes(workload.nodes, ("spec",))
    if settings.line >= ENGINES_SINCE and list_templates(workload.spec):
        return  # whose authors start the nodes
    main = main_of(workload.spec)
    path = path_of_main(workload.spec, ("spec",))
    if not main.get("command") and not main.get("args"):
        raise RenderError(path, "must have a container main with command or args, for nothing else can start on several nodes")
    gpus = ((main.get("resources") or {}).get("limits") or {}).get(USUAL)
    known = count_claimed(workload.spec, ("spec",), settings.claims) if gpus is None else is_quantity(gpus) and parse(gpus)
    if known <= 0:
        raise RenderError((*path, "resources", "limits", USUAL), "must be more than 0 for a component on several nodes")
