"""A component for Grove: with the graph's data in its template, its cliques' labels, and the scheduler of its pods with its queue."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ....conversion.lens.protocol import Fields
from ....policies.components import read_pod
from ....policies.engines import list_templates
from ....policies.no_effect import KAI_NODE_POOL, KAI_QUEUE, VOLCANO_QUEUE
from .. import discovery, names
from ..checkpoint.restore import strip_restore_marks
from ..graph import Graph, Member, make_selector, object_name, read_template_annotations, read_template_labels
from ..kv_transfer import apply_kv_transfer
from ..merge import string_map
from ..settings import Settings
from ..split import give_env, propagate_annotations
from ..template import list_own_templates, select_role
from ..workload import PodPlan, plan_member

QUEUE: Final = "kai.scheduler/queue"
_KAI: Final = "kai-scheduler"
VOLCANO: Final = "volcano"


class GroveMember(NamedTuple):
    """One component, ready to be made into cliques."""

    member: Member
    plan: PodPlan  # without a role
    labels: dict[str, str]
    annotations: dict[str, str]
    workers: GroveMember | None = None  # the same of its workers, where each role has a template


def read_grove_member(graph: Graph, member: Member, settings: Settings, restart: str) -> GroveMember:
    """Read a component, of roles with templates leader and workers. Raises: RenderError if its framework contradicts its command."""
    if not list_templates(member.fields):
        return _read(graph, member, settings, restart)
    leader, workers = (
        _read(graph, member._replace(fields=select_role(member.fields, name)), settings, restart) for name in (names.LEADER, names.WORKER)
    )
    return leader._replace(workers=workers)


def _read(graph: Graph, member: Member, settings: Settings, restart: str) -> GroveMember:
    component: Fields = copy.deepcopy(member.fields)
    template = component.get("podTemplate") or {}
    component["podTemplate"] = template
    give_env(graph, member, template)
    label_key = apply_kv_transfer(graph, member, template)
    written = propagate_annotations(graph, read_template_annotations(member))
    annotations = {**string_map(graph.spec.get("annotations")), **string_map(member.alpha.get("annotations")), **written}
    annotations.pop(names.TOPOLOGY_LABEL, None)  # the place comes only from the graph's policy
    # discovery ignores annotations of a v1alpha1 service
    followed = {**string_map(graph.spec.get("annotations")), **written}
    annotations[names.DISCOVERY_BACKEND] = discovery.choose_backend(followed, settings)
    annotations |= {names.TOPOLOGY_LABEL: label_key} if label_key else {}
    annotations |= {names.RESTART_AT: restart} if restart else {}
    annotations |= _volcano_annotations(graph.annotations, component, settings)
    plan = plan_member(graph, member, component, followed, annotations)
    return GroveMember(member, plan, _labels(graph, member, followed, settings), dict(sorted(strip_restore_marks(annotations).items())))


def with_old_selectors(graph: Graph, of: Collection[str]) -> Graph:
    """The graph with components of these names labelled as by older releases: `worker` with a sub-type."""
    return (
        graph._replace(members=[member._replace(type=names.WORKER) if member.name in of else member for member in graph.members])
        if of
        else graph
    )


def _labels(graph: Graph, member: Member, followed: dict[str, str], settings: Settings) -> dict[str, str]:
    labels = {**string_map(graph.spec.get("labels")), **string_map(member.alpha.get("labels")), **read_template_labels(member)}
    out = strip_restore_marks(labels)
    out |= {names.SELECTOR: object_name(graph, member), names.GRAPH_NAME: graph.name, names.COMPONENT: member.name}
    out[names.NAMESPACE] = make_selector(member)[names.NAMESPACE]
    if member.type:
        out[names.COMPONENT_TYPE] = member.type
    if member.is_worker and graph.picker:
        out[names.COMPONENT_CLASS] = names.WORKER
    role = member.type if member.type in (names.PREFILL, names.DECODE) else str(member.alpha.get("subComponentType") or "")
    if role:
        out[names.SUB_TYPE] = role
    model = str((member.fields.get("modelRef") or {}).get("name") or "")
    if model:
        out[names.BASE_MODEL_HASH] = names.digest(model)
    if graph.annotations.get(names.ENABLE_METRICS) != "false":
        out[names.METRICS_ENABLED] = "true"
    out |= _kai_labels(graph.annotations, member.fields, settings)
    return dict(sorted((out | discovery.make_labels(followed, settings)).items()))


def choose_scheduler(component: Fields, settings: Settings) -> str:
    """The name of the scheduler: the author's choice, else Volcano or KAI; empty: the cluster's default."""
    chosen = read_pod(component).get("schedulerName")
    return str(chosen or (VOLCANO if settings.volcano else _KAI if settings.kai else ""))


def keep_scheduler(graph: Graph, sets: Sequence[Fields], settings: Settings) -> Settings:
    """The settings with the scheduler that the cluster or the configuration gave the pods of a set: Grove refuses to change it."""
    members = {member.name: list_own_templates({**member.fields}) for member in graph.members}
    cliques = [clique for made in sets for clique in (made.get("spec") or {}).get("template", {}).get("cliques") or ()]
    for clique in cliques:
        labels, live = clique.get("labels") or {}, (clique["spec"].get("podSpec") or {}).get("schedulerName")
        templates = members.get(str(labels.get(names.COMPONENT)))
        if templates and not any((template.get("spec") or {}).get("schedulerName") for template in templates):
            return settings._replace(kai=live == _KAI, volcano=live == VOLCANO)
    return settings._replace(kai=any(QUEUE in (clique.get("labels") or {}) for clique in cliques)) if cliques else settings


def _kai_labels(of_graph: Mapping[str, str], component: Fields, settings: Settings) -> dict[str, str]:
    """Make the labels that KAI reads of its pods; `of_graph` are the graph's annotations."""
    if not settings.kai or choose_scheduler(component, settings) != _KAI:
        return {}
    pool = of_graph.get(KAI_NODE_POOL)
    return {QUEUE: of_graph.get(KAI_QUEUE) or "dynamo"} | ({"kai.scheduler/node-pool": pool} if pool else {})


def _volcano_annotations(of_graph: Mapping[str, str], component: Fields, settings: Settings) -> dict[str, str]:
    """Make the annotations that Volcano reads of its pods; without a queue, it takes its own default."""
    queue = of_graph.get(VOLCANO_QUEUE)
    return {"scheduling.volcano.sh/queue-name": queue} if queue and choose_scheduler(component, settings) == VOLCANO else {}


def list_unused_schedulers(of_graph: Mapping[str, str], components: Sequence[Fields], settings: Settings) -> Iterator[tuple[str, str]]:
    """The graph's annotations for schedulers that place none of its pods, with the reason."""
    chosen = {choose_scheduler(component, settings) for component in components}
    for name in (KAI_QUEUE, KAI_NODE_POOL):
        if name in of_graph and not (settings.kai and _KAI in chosen):
            yield name, "has no effect: there is no KAI scheduler, it is switched off, or it places none of the pods"
    if VOLCANO_QUEUE in of_graph and VOLCANO not in chosen:
        yield VOLCANO_QUEUE, "has no effect: Volcano places none of the pods; set orchestrators.volcanoScheduler.enabled, or schedulerName"
