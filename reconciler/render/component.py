"""The children of one component: its Deployment or LeaderWorkerSet, and its Services."""

from dataclasses import replace
from typing import Final

from ...api.line import OLDEST
from ...api.quantity import is_quantity, parse
from ...conversion.lens.protocol import Fields
from ...policies.engines import ENGINES_SINCE, list_templates
from . import discovery, names
from .checkpoint.restore import Restore, list_targets, restore_pod_metadata, restore_pod_spec, strip_restore_marks
from .errors import RenderError
from .framework import main_of, path_of_main
from .generation import share
from .graph import read_replicas, set_start_replicas
from .merge import string_map
from .multinode.gpus import DEFAULT_NAME, count_claimed
from .multinode.role import Role, check_nodes, make_lws_roles
from .objects import make_child
from .observed import NOTHING, ObservedState
from .pod.assemble import make_pod_spec
from .service import make_services
from .settings import Settings
from .workload import Workload, owning_graph, read_workload, uses_old_selectors

_MAX_SET_NAME_CHARACTERS: Final = 50  # with an index of one digit: 63, as of a label, less the index and the hash with their dashes


def explain_no_orchestrator(settings: Settings, grove_will_not: str) -> str:
    """Explain why a component can't span several nodes without LeaderWorkerSets, with the reason why Grove doesn't run it."""
    off = settings.switched_off
    if not settings.grove and not off & {"grove", "lws"}:
        return "needs LeaderWorkerSets together with Volcano, or Grove, to span several nodes; the cluster serves neither"
    where = "are switched off in the operator" if "lws" in off else "the cluster does not serve"
    if not settings.grove:
        grove_will_not = "Grove is switched off in the operator" if "grove" in off else "the cluster does not serve Grove"
    return f"needs LeaderWorkerSets together with Volcano to span several nodes, which {where}; {grove_will_not}"


def render_component(obj: Fields, settings: Settings, observed: ObservedState = NOTHING) -> list[Fields]:
    """All children of one component's object, its workload first. Raises: RenderError if they can't be rendered."""
    name = str((obj.get("metadata") or {}).get("name") or "")
    old = name in observed.old_selectors or uses_old_selectors(obj)
    left = name in observed.orphans
    made = left or bool(owning_graph(obj.get("metadata") or {}))  # by a graph, which writes it as all lines read it
    workload = read_workload(obj, OLDEST if made else settings.line, old_selectors=old, left=left)
    workload = replace(workload, spec=set_start_replicas(workload.spec, waiting=name in observed.waiting_components))
    settings = settings._replace(key_per_graph=settings.key_per_graph and bool(workload.graph))
    if workload.nodes == 1:
        return [_deployment(workload, settings, observed.restores.get(name)), *make_services(workload, settings)]
    if not settings.lws:
        raise RenderError(("spec", "multinode"), explain_no_orchestrator(settings, "Grove runs whole graphs only"))
    # the labels of all children, but not their annotations, as recorded
    api_version, labels, spec = "leaderworkerset.x-k8s.io/v1", workload.labels, make_leader_worker_spec(workload, settings)
    lws = make_child(api_version, "LeaderWorkerSet", set_name(workload.name), labels=labels, owner=workload.object, spec=spec)
    return [lws, *make_services(workload, settings)]


def _deployment(workload: Workload, settings: Settings, restore: Restore | None) -> Fields:
    template = {"metadata": _pod_metadata(workload, settings), "spec": make_pod_spec(workload.plan_pod(), settings)}
    if restore is not None:
        targets = list_targets(workload.spec)
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
        **discovery.make_labels(workload.template_annotations, settings),
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
    annotations = {**string_map(workload.alpha.get("annotations")), **workload.template_annotations}
    if annotations.get(names.STRATEGY) == "Recreate":
        return {"type": "Recreate"}
    figures = {"maxSurge": share(annotations.get(names.MAX_SURGE, "")), "maxUnavailable": share(annotations.get(names.MAX_UNAVAILABLE, ""))}
    return {"type": "RollingUpdate", "rollingUpdate": figures}


def make_leader_worker_spec(workload: Workload, settings: Settings) -> Fields:
    """The spec of a component's LeaderWorkerSet. Raises: RenderError if nothing could start on several nodes."""
    _check(workload, settings)
    leader, worker = make_lws_roles(workload.nodes)
    return {
        "replicas": read_replicas(workload.spec),
        "startupPolicy": "LeaderCreated",
        "leaderWorkerTemplate": {
            "size": workload.nodes,
            "leaderTemplate": _template(workload, leader, settings),
            "workerTemplate": _template(workload, worker, settings),
        },
    }


def set_name(component: str) -> str:
    """The name of a component's set; one that is too long for its pods ends with a hash instead.

    A StatefulSet labels its pods with its own name, a dash and ten characters, and the one of a group's workers is named `<set>-<index>`.
    The Go operator makes sets of longer names, too; their workers are never made.
    """
    return names.shorten_name(f"{component}-0", _MAX_SET_NAME_CHARACTERS)


def _template(workload: Workload, role: Role, settings: Settings) -> Fields:
    workload = workload.of_role(names.LEADER if role.leader else names.WORKER)
    metadata = _pod_metadata(workload, settings)
    labels = {**metadata["labels"], names.ROLE: names.LEADER if role.leader else names.WORKER}
    del labels[names.SELECTOR]
    spec = make_pod_spec(workload.plan_pod(role), settings)
    if not any(container.get("name") == names.MAIN for container in spec["containers"]):
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
    gpus = ((main.get("resources") or {}).get("limits") or {}).get(DEFAULT_NAME)
    known = count_claimed(workload.spec, ("spec",), settings.claims) if gpus is None else is_quantity(gpus) and parse(gpus)
    if known <= 0:
        raise RenderError((*path, "resources", "limits", DEFAULT_NAME), "must be more than 0 for a component on several nodes")
