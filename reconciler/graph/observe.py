"""Reads the state of a graph that a pass depends on."""

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence

from ...kube.capability import TOPOLOGY_LABELS, Presence
from ...kube.errors import ForbiddenError, NotServedError
from ...kube.protocol import Node
from ...kube.resources import CRDS, TOPOLOGY_BINDINGS
from ..checkpoint.restoring import is_unlisted
from ..common.conditions import READY, condition_of
from ..common.problems import SLOW_RETRY_SECONDS, UNLISTED_RETRY_SECONDS, Refusal, explain_cut, explain_missing_permission
from ..common.resources import CLIQUES, COMPONENT, WORKER_METADATA
from ..common.workers import count_registered
from ..engine.cluster_settings import read_facts, render_settings
from ..engine.context import Context
from ..render.disaggregated_set import explain_absence, find_obstacle, is_disaggregated
from ..render.errors import RenderError
from ..render.graph import Graph, read_graph
from ..render.grove.clique_set import CLIQUE_SETS_DEFINITION, does_definition_pack_by_name, does_set_pack_by_name, is_constrained
from ..render.grove.member import keep_scheduler
from ..render.kv_transfer import find_domain_key, find_label_key, read_topology, with_label_key
from ..render.names import DISAGGREGATED, TOPOLOGY_LABEL, WORKLOAD_PROVIDER
from ..render.observed import NOTHING
from ..render.template import read_pod_templates
from ..render.without_effect import Note
from ..workload.kept import keep_facts, keep_settings
from ..workload.orchestrator import Orchestrator, find_blocking_pods, find_orchestrator, make_orchestrator_condition
from ..workload.pods import runs_on_leader_worker_sets
from ..workload.prerequisites import read_claims
from ..workload.pull_secrets import observe_pull_secrets
from .clique_set import read_cliques
from .clique_status import list_below, observe_on_grove
from .generations import component_of
from .report import REFUSED, UNAVAILABLE, UNSUPPORTED
from .set_status import find_set, read_set_status
from .snapshots import choose_restore_on_grove, observe_snapshots
from .values import GraphState


async def observe(context: Context, obj: Node) -> GraphState | Refusal:
    """Read a graph's state as far as its pass may act on it. Raises: ApiError, StandDownError."""
    if cut := explain_cut(obj):
        return Refusal(REFUSED, cut)
    if unset := _explain_lost_provider(context, obj):
        return Refusal(REFUSED, unset)
    orchestrator = find_orchestrator(context, obj)
    lws = any(runs_on_leader_worker_sets(component) for component in list_components(context, obj))
    facts = keep_facts(read_facts(context), context.cache.owned(obj))
    if orchestrator.runs:  # what runs is not refused for what the cluster has come to serve, or serves no more
        facts = facts._replace(grove=orchestrator.grove)
    runs = orchestrator.runs and condition_of(obj.get("status") or {}, READY).get("reason") != REFUSED
    if message := context.judge.refusal(obj, facts._replace(lws=True) if lws else facts, runs=runs):
        return Refusal(REFUSED, message)
    if orchestrator.lost and not orchestrator.moving:
        condition = make_orchestrator_condition(orchestrator, obj)
        return Refusal(condition.reason, condition.message, SLOW_RETRY_SECONDS) if condition else Refusal("", "", SLOW_RETRY_SECONDS)
    if orchestrator.grove:
        obj, lacking = await _resolve_topology(context, obj)
        if lacking:
            return Refusal(REFUSED, lacking, SLOW_RETRY_SECONDS)
    try:
        return await _observe_graph(context, obj, orchestrator, lws=lws)
    except RenderError as error:
        return Refusal(REFUSED, str(error), SLOW_RETRY_SECONDS)  # a missing claim may be created


async def _observe_graph(context: Context, obj: Node, orchestrator: Orchestrator, *, lws: bool) -> GraphState | Refusal:
    settings = render_settings(context, obj["metadata"]["namespace"])
    graph = read_graph(obj, settings.line)
    if is_disaggregated(graph.annotations, settings.line):
        if why := explain_absence(settings):
            return Refusal(UNAVAILABLE, f"{WORKLOAD_PROVIDER} {why}", SLOW_RETRY_SECONDS)
        if (obstacle := find_obstacle(graph, settings.line)) is not None:
            return Refusal(UNSUPPORTED, str(obstacle))
    claims = await read_claims(context, (member.fields for member in graph.members), graph.namespace)
    if orchestrator.grove:
        await read_cliques(context, graph)
    settings = keep_settings(settings, context.cache.owned(obj))._replace(claims=claims)
    if orchestrator.grove:
        settings = settings._replace(service_account="")
    snapshots = observe_snapshots(context, graph, settings)
    if snapshots.wanted and is_unlisted(context, settings):
        return Refusal("", "", UNLISTED_RETRY_SECONDS)
    settings = settings._replace(lws=settings.lws or lws, checkpoints=settings.checkpoints._replace(create_missing=snapshots.off is None))
    on_grove = NOTHING
    if orchestrator.grove:
        sets = [child for child in context.cache.owned(obj) if child["kind"] == CLIQUES]
        settings = keep_scheduler(graph, sets, settings)._replace(explicit_packing=await _packs_by_name(context, graph, sets))
        on_grove = observe_on_grove(graph, sets, [child for clique_set in sets for child in list_below(context.cache, clique_set)])
        if snapshots.wanted:
            on_grove = on_grove._replace(grove=True, checkpoints=frozenset(snapshots.existing))
            snapshots = await choose_restore_on_grove(context, graph, snapshots, settings, on_grove)
    blocker = await find_blocking_pods(context, obj, orchestrator)
    condition, owned = make_orchestrator_condition(orchestrator, obj, blocker), context.cache.owned(obj)
    state = GraphState(graph, orchestrator, settings, owned, snapshots, on_grove, blocker=blocker, orchestrator_condition=condition)
    made = find_set(owned)
    on_set = read_set_status(graph, made, context.cache.owned(made) if made is not None else (), settings.line)
    registered, pull_secrets = _count_registered(context, obj), observe_pull_secrets(context, obj)
    return state._replace(on_set=on_set, pull_secrets=pull_secrets, registered=registered, notes=note_unlabelled(context, graph))


def _explain_lost_provider(context: Context, graph: Node) -> str:
    """Explain why a graph that runs as a DisaggregatedSet is left unchanged: its annotation was removed. Empty if it was not."""
    made = find_set(context.cache.owned(graph))
    if made is None or WORKLOAD_PROVIDER in (graph["metadata"].get("annotations") or {}):
        return ""
    runs = f"DisaggregatedSet {made['metadata']['name']} runs the graph"
    return f'metadata.annotations[{WORKLOAD_PROVIDER}]: must be "{DISAGGREGATED}", since {runs}; put it back'


async def _packs_by_name(context: Context, graph: Graph, sets: Sequence[Node]) -> bool | None:
    """Find how Grove takes constraints: as in the graph's set, else by the definition, read until there is a set. Raises: ApiError."""
    known = next((by_name for clique_set in sets if (by_name := does_set_pack_by_name(clique_set)) is not None), None)
    if known is None and is_constrained(graph):
        with contextlib.suppress(ForbiddenError, NotServedError):
            known = does_definition_pack_by_name(await context.cluster.get(CRDS, CLIQUE_SETS_DEFINITION))
    return known


def _count_registered(context: Context, graph: Node) -> Mapping[str, int]:
    """Costs a look at each registered worker of the namespace, and nothing while each component has one object."""
    objects = list_components(context, graph)
    if max(Counter(map(component_of, objects)).values(), default=0) < 2:
        return {}
    return count_registered(
        context.cache.all(WORKER_METADATA.kind, graph["metadata"]["namespace"]), [obj["metadata"]["name"] for obj in objects]
    )


def list_components(context: Context, graph: Node) -> list[Node]:
    """The objects of a graph's components that it controls, of all generations."""
    return [child for child in context.cache.owned(graph) if child["kind"] == COMPONENT]


async def _resolve_topology(context: Context, graph: Node) -> tuple[Node, str]:
    """The graph with the label that its topology means, or why there is none; then its workers stay as they are. Raises: ApiError."""
    name, domain = read_topology(graph)
    if not name:
        return graph, ""
    if key := _stored_key(context, graph):
        return with_label_key(graph, key), ""
    field, binding = "spec.experimental.kvTransferPolicy.clusterTopologyName", None
    try:
        with contextlib.suppress(NotServedError):
            binding = await context.cluster.get(TOPOLOGY_BINDINGS, name)
    except ForbiddenError as error:
        return graph, f"{field}: the reconciler lacks a permission: {error.message}; {explain_missing_permission('orchestrators')}"
    key = find_domain_key(binding, domain)
    if key:
        return with_label_key(graph, key), ""
    what = "which is not there" if binding is None else f'which has no level of the domain "{domain[:80]}" with a key'
    return graph, f'{field}: must name a ClusterTopologyBinding, got "{name[:80]}", {what}'


def _stored_key(context: Context, graph: Node) -> str:
    """The label that running pods were made with, which a graph keeps whatever becomes of the topology: its policy can't change."""
    pods = (pod for child in context.cache.owned(graph) if child["kind"] == CLIQUES for pod in read_pod_templates(child).values())
    return next((str(key) for pod in pods if (key := (pod.get("annotations") or {}).get(TOPOLOGY_LABEL))), "")


def note_unlabelled(context: Context, graph: Graph) -> list[Note]:
    """Note that a graph's policy has no effect if the reconciler may not label the pods with their place."""
    if not any(find_label_key(graph, member) for member in graph.members) or context.presence(TOPOLOGY_LABELS) is not Presence.FORBIDDEN:
        return []
    lacking = context.detector.denied.get(TOPOLOGY_LABELS.name, "")
    remedy = explain_missing_permission(TOPOLOGY_LABELS.name, "topologyLabels")
    text = f"has no effect: workers don't know their place, as the reconciler lacks a permission to label pods ({lacking}); {remedy}"
    return [Note(("spec", "experimental", "kvTransferPolicy"), text)]
