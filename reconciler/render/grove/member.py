"""A component for Grove: with the graph's data in its template, and its cliques' labels."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.reconciler.checkpoint.restore import unmarked
from dynamo_webhooks.reconciler.render import discovery
from dynamo_webhooks.reconciler.render.framework import framework_of
from dynamo_webhooks.reconciler.render.graph import object_name, selects, template_annotations, template_labels
from dynamo_webhooks.reconciler.render.kv_transfer import apply_kv_transfer
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import (
    BASE_MODEL_HASH,
    COMPONENT,
    COMPONENT_CLASS,
    COMPONENT_TYPE,
    DECODE,
    DISCOVERY_BACKEND,
    ENABLE_METRICS,
    GRAPH_NAME,
    METRICS_ENABLED,
    NAMESPACE,
    PREFILL,
    RESTART_AT,
    SELECTOR,
    SUB_TYPE,
    TOPOLOGY_LABEL,
    WORKER,
    digest,
)
from dynamo_webhooks.reconciler.render.pod.plan import PodPlan
from dynamo_webhooks.reconciler.render.split import give_env, propagated

if TYPE_CHECKING:
    from collections.abc import Collection

    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph, Member
    from dynamo_webhooks.reconciler.render.settings import Settings

QUEUE: Final = "kai.scheduler/queue"
QUEUE_SAID: Final = "nvidia.com/kai-scheduler-queue"
_USUAL_QUEUE: Final = "dynamo"
KAI: Final = "kai-scheduler"


class GroveMember(NamedTuple):
    """One component, ready to be made into cliques."""

    member: Member
    plan: PodPlan  # without a role
    labels: dict[str, str]
    annotations: dict[str, str]


def grove_member(graph: Graph, member: Member, settings: Settings, restart: str) -> GroveMember:
    """Read a component.

    Raises: RenderError if its framework contradicts its command.
    """
    component: Fields = copy.deepcopy(member.fields)
    template = component.get("podTemplate") or {}
    component["podTemplate"] = template
    give_env(graph, template)
    label_key = apply_kv_transfer(graph, member, template)
    written = propagated(graph, template_annotations(member))
    annotations = {**texts(graph.spec.get("annotations")), **texts(member.alpha.get("annotations")), **written}
    annotations.pop(TOPOLOGY_LABEL, None)  # the place comes only from the graph's policy
    # discovery ignores annotations of a v1alpha1 service
    followed = {**texts(graph.spec.get("annotations")), **written}
    annotations[DISCOVERY_BACKEND] = discovery.backend(followed, settings)
    annotations |= {TOPOLOGY_LABEL: label_key} if label_key else {}
    annotations |= {RESTART_AT: restart} if restart else {}
    plan = PodPlan(
        component=component,
        name=member.name,
        type=member.type,
        parent=graph.name,
        namespace=graph.namespace,
        dynamo_namespace=member.dynamo_namespace,
        framework=framework_of(component, str(graph.spec.get("backendFramework") or ""), (*member.path, "podTemplate")),
        worker_hash="",  # Grove replaces pods itself
        annotations=followed,
        hints=annotations,
        path=member.path,
    )
    return GroveMember(member, plan, _labels(graph, member, followed, settings), dict(sorted(unmarked(annotations).items())))


def with_old_selectors(graph: Graph, names: Collection[str]) -> Graph:
    """The graph with these components labelled as by older releases: `worker` with a sub-type."""
    return graph._replace(members=[one._replace(type=WORKER) if one.name in names else one for one in graph.members]) if names else graph


def uses_kai(component: Fields, settings: Settings) -> bool:
    """Whether the KAI scheduler places a component's pods: if there is one, and the user chose no other."""
    chosen = ((component.get("podTemplate") or {}).get("spec") or {}).get("schedulerName") or KAI
    return settings.kai and chosen == KAI


def _labels(graph: Graph, member: Member, followed: dict[str, str], settings: Settings) -> dict[str, str]:
    said = {**texts(graph.spec.get("labels")), **texts(member.alpha.get("labels")), **template_labels(member)}
    out = unmarked(said)
    out |= {SELECTOR: object_name(graph, member), GRAPH_NAME: graph.name, COMPONENT: member.name}
    out[NAMESPACE] = selects(member)[NAMESPACE]
    if member.type:
        out[COMPONENT_TYPE] = member.type
    if member.is_worker and graph.picker:
        out[COMPONENT_CLASS] = WORKER
    role = member.type if member.type in (PREFILL, DECODE) else str(member.alpha.get("subComponentType") or "")
    if role:
        out[SUB_TYPE] = role
    model = str((member.fields.get("modelRef") or {}).get("name") or "")
    if model:
        out[BASE_MODEL_HASH] = digest(model)
    if graph.annotations.get(ENABLE_METRICS) != "false":
        out[METRICS_ENABLED] = "true"
    if uses_kai(member.fields, settings):
        out[QUEUE] = graph.annotations.get(QUEUE_SAID) or _USUAL_QUEUE
    return dict(sorted((out | discovery.labels(followed, settings)).items()))
