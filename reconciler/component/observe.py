"""Reads the state of a component that a pass depends on."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from ...kube.protocol import Node
from ..checkpoint.restoring import RestoreChoice, choose_restore, find_pod_templates, follow_failures, is_unlisted, read_checkpoint_block
from ..common.conditions import condition_of, is_true
from ..common.keys import Key, controller_reference, key_of
from ..common.problems import SLOW_RETRY_SECONDS, UNLISTED_RETRY_SECONDS, Refusal, explain_cut
from ..common.resources import GRAPH
from ..engine.cluster_settings import read_facts, render_settings
from ..engine.context import Context
from ..render.children import render_direct
from ..render.errors import RenderError
from ..render.graph import read_replicas
from ..render.merge import object_items
from ..render.names import COMPONENT_TYPE, SELECTOR, SUB_TYPE, WORKER
from ..render.observed import NOTHING, ObservedState
from ..render.pod.container import PARENT
from ..render.settings import Settings
from ..render.workload import read_graph_label
from ..workload.kept import keep_facts, keep_settings
from ..workload.pods import runs_on_leader_worker_sets
from ..workload.prerequisites import read_claims
from ..workload.pull_secrets import PullSecrets, observe_pull_secrets

REFUSED: Final = "ValidationFailed"  # reasons of refusals
FAILED: Final = "ReconcileError"
AVAILABLE: Final = "Available"  # the condition


class ComponentState(NamedTuple):
    """The state at the start of a pass."""

    component: Node
    settings: Settings = Settings()
    owned: Sequence[Any] = ()  # its children
    observed: ObservedState = NOTHING
    cold: Node | None = None  # the Deployment without a snapshot, if the component has a checkpoint
    choice: RestoreChoice = RestoreChoice()  # of the snapshot
    pull_secrets: PullSecrets | None = None


async def observe(context: Context, obj: Node) -> ComponentState | Refusal:
    """Read a component's state as far as its pass may act on it. Raises: ApiError, StandDownError."""
    owned = context.cache.owned(obj)
    wide, facts = runs_on_leader_worker_sets(obj), keep_facts(read_facts(context), owned)
    refusal = explain_cut(obj)
    if not refusal and not is_of_a_graph(obj):  # one of a graph was judged with that
        runs = bool(owned) and condition_of(obj.get("status") or {}, AVAILABLE).get("reason") != REFUSED
        refusal = context.judge.refusal(obj, facts._replace(lws=True) if wide else facts, runs=runs)
    if refusal:
        return Refusal(REFUSED, refusal)
    settings = keep_settings(render_settings(context, obj["metadata"]["namespace"]), owned)
    if read_checkpoint_block(obj) is not None and is_unlisted(context, settings):
        return Refusal("", "", UNLISTED_RETRY_SECONDS)
    claims = await read_claims(context, [obj.get("spec") or {}], obj["metadata"]["namespace"])
    settings = settings._replace(lws=settings.lws or wide, claims=claims)
    graph = context.cache.get(Key(GRAPH, key_of(obj).namespace, read_graph_label(obj)))
    observed = observe_component(obj, owned, beside_graph=graph is not None)
    try:
        state = await _observe_restore(context, ComponentState(obj, settings, owned, observed))
    except RenderError as error:
        return Refusal(FAILED, str(error), SLOW_RETRY_SECONDS)
    return state._replace(pull_secrets=observe_pull_secrets(context, obj))


async def _observe_restore(context: Context, state: ComponentState) -> ComponentState:
    """Read what the pods of a component with a checkpoint are restored from. Costs one more render. Raises: ApiError, RenderError."""
    obj, settings = state.component, state.settings
    if read_checkpoint_block(obj) is None:
        return state
    cold = next((child for child in render_direct(obj, settings, state.observed).children if child["kind"] == "Deployment"), None)
    choice = await choose_restore(context, obj, find_pod_templates(context, cold) if cold is not None else None, settings)
    if cold is not None and (live := context.cache.get(key_of(cold))) is not None:
        labels, replicas = f"{SELECTOR}={key_of(cold).name}", read_replicas(live.get("spec") or {})
        choice = await follow_failures(context, obj, choice, labels, replicas, ready=is_ready(live))
    return state._replace(cold=cold, choice=choice)


def observe_component(component: Node, children: Sequence[Node], *, beside_graph: bool = False) -> ObservedState:
    """Observe the selectors of a component's children, and whether it was a graph's; `beside_graph`: the graph of its label exists."""
    name = frozenset({str(component["metadata"]["name"])})
    left = beside_graph or any(read_graph_label(component) in _parent_graphs(child) for child in children)
    observed = ObservedState(orphans=name if left else frozenset())
    kind = (component.get("spec") or {}).get("type")
    if kind not in ("prefill", "decode"):
        return observed
    selectors = [_pod_selector(child) for child in children]
    old = any(selector.get(COMPONENT_TYPE) == WORKER and selector.get(SUB_TYPE, "") in ("", kind) for selector in selectors)
    return observed._replace(old_selectors=name if old else frozenset())


def is_of_a_graph(component: Node) -> bool:
    """Whether a graph controls the component."""
    return (controller_reference(component) or {}).get("kind") == GRAPH


def _pod_selector(child: Node) -> dict[str, str]:
    """The pod selector of a child, if it has one."""
    if child["kind"] == "Service":
        return (child.get("spec") or {}).get("selector") or {}
    return (_pod_template(child).get("metadata") or {}).get("labels") or {}


def _parent_graphs(child: Node) -> set[str]:
    """List the graphs that the environment of a child's pods names as their own."""
    containers = object_items((_pod_template(child).get("spec") or {}).get("containers"))
    variables = [variable for each in containers for variable in object_items(each.get("env")) if variable.get("name") == PARENT]
    return {str(variable.get("value")) for variable in variables}


def _pod_template(child: Node) -> Node:
    spec = child.get("spec") or {}
    templates = {"Deployment": spec.get("template"), "LeaderWorkerSet": (spec.get("leaderWorkerTemplate") or {}).get("workerTemplate")}
    return templates.get(child["kind"]) or {}


def is_ready(workload: Node, workers: Iterable[Node | None] = ()) -> bool:
    """Whether a Deployment, or a LeaderWorkerSet with the StatefulSets of its `workers`, is up to date and available."""
    spec, status = workload.get("spec") or {}, workload.get("status") or {}
    desired = read_replicas(spec)
    if desired == 0:
        return not spec.get("paused")
    available = is_true(status, AVAILABLE)
    if workload["kind"] != "Deployment":
        running = all(
            worker is not None and count(worker.get("status") or {}, "readyReplicas") >= worker["spec"]["replicas"] for worker in workers
        )
        return count(status, "readyReplicas") >= desired and available and running
    current = (status.get("observedGeneration") or 0) >= workload["metadata"].get("generation", 0)
    enough = count(status, "updatedReplicas") >= desired and count(status, "availableReplicas") >= desired
    return not spec.get("paused") and current and enough and count(status, "replicas") == desired and available


def count(status: Node, name: str) -> int:
    """A figure of a status; 0 for one that it lacks."""
    return int(status.get(name) or 0)
