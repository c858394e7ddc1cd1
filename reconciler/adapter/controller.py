"""The controller of scaling adapters."""

from collections.abc import Hashable, Iterable

from ...kube.errors import ApiError, InvalidError
from ...kube.protocol import Node
from ...kube.times import format_time
from ..common.keys import Key, is_controlled, key_of
from ..common.problems import SLOW_RETRY_SECONDS, PassResult, Problem, problem_of_error
from ..common.resources import ADAPTER, ADAPTERS, GRAPH, GRAPHS
from ..engine.cache import Cache
from ..engine.context import Context
from ..engine.controller import Controller
from ..engine.watch import Change, Need, Watch
from ..render.graph import count_nodes, read_replicas
from ..render.names import COMPONENT, GRAPH_NAME, LEADER, ROLE
from ..workload.orchestrator import find_orchestrator


def _graph_of(adapter: Node) -> Iterable[Hashable]:
    name = ((adapter.get("spec") or {}).get("dgdRef") or {}).get("name")
    return [adapters_of(Key(GRAPH, key_of(adapter).namespace, str(name)))] if name else []


def adapters_of(graph: Key) -> Hashable:
    """The place in the index of the adapters that name a graph."""
    return ADAPTER, graph


class AdapterController(Controller):
    """Passes numbers between adapters and their graphs."""

    kind = ADAPTER
    watches = (Watch(ADAPTERS, need=Need.OURS, index_values=_graph_of),)

    def keys_of(self, change: Change, cache: Cache) -> Iterable[Key]:
        """The adapters of a changed graph."""
        if change.key.kind == GRAPH and (not change.exists or change.differs(lambda obj: (obj or {}).get("spec"))):
            return cache.index_keys(adapters_of(change.key))
        return ()

    async def reconcile(self, context: Context, obj: Node) -> PassResult:
        """Write an adapter's number into its graph. Raises: ApiError, StandDownError."""
        if await context.finalize_deleted(obj):
            return PassResult()
        spec = obj.get("spec") or {}
        if not spec.get("dgdRef"):
            return await _report_unusable(context, obj, Problem("spec: must name a component and its replicas, got none", "validation"))
        name, component, wanted = str(spec["dgdRef"]["name"]), str(spec["dgdRef"]["componentName"]), int(spec["replicas"])
        graph = context.cache.get(Key(GRAPH, key_of(obj).namespace, name))
        if graph is None:
            return await _report_unusable(context, obj, Problem(f"dgdRef.name: there is no DynamoGraphDeployment {name}", "not_found"))
        members = [member for member in (graph.get("spec") or {}).get("components") or () if member.get("name") == component]
        status = {**(obj.get("status") or {}), "replicas": wanted, "selector": _selector(context, graph, component, members)}
        differs = bool(members) and read_replicas(members[0]) != wanted
        if differs and (obj.get("status") or {}).get("replicas") != wanted:  # not the last agreed number: the adapter has changed
            problem_found = await _scale(context, obj, graph, component, wanted)
            if problem_found is not None:
                return PassResult((problem_found,), SLOW_RETRY_SECONDS)
            status["lastScaleTime"] = format_time(context.clocks.wall())
        elif differs:
            if is_controlled(obj, graph):
                return PassResult()  # the graph's pass writes its number into the adapter, which triggers this one
            status["replicas"] = read_replicas(members[0])
            change = {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}, "spec": {"replicas": status["replicas"]}}
            obj = await context.writer.merge(obj, ADAPTERS, key_of(obj).name, change)
        context.recorder.over(obj)
        await context.writer.patch_status(obj, status)
        return PassResult()


async def _report_unusable(context: Context, adapter: Node, problem: Problem) -> PassResult:
    """Says why an adapter has no effect; a change of it or its graph wakes it."""
    await context.record_event(adapter, "Warning", "UpdateFailed", problem.text, lasting=True)
    return PassResult((problem,))


def prepare_adapter(rendered: Node, cache: Cache) -> Node:
    """The adapter as a graph's pass applies it: with the autoscaler's number, unless the graph's changed since both agreed."""
    live = cache.get(key_of(rendered)) or {}
    agreed = (live.get("status") or {}).get("replicas")
    theirs, ours = (live.get("spec") or {}).get("replicas"), rendered["spec"]["replicas"]
    if theirs is None or theirs == agreed != ours:
        return rendered
    return {**rendered, "spec": {**rendered["spec"], "replicas": theirs}}


def _selector(context: Context, graph: Node, component: str, members: list[Node]) -> str:
    """Select one pod a replica, as autoscalers count: the leader of a LeaderWorkerSet's group. Pods on Grove don't say which leads."""
    selector = f"{COMPONENT}={component},{GRAPH_NAME}={graph['metadata']['name']}"
    led = any(count_nodes(member) > 1 for member in members) and not find_orchestrator(context, graph).grove
    return f"{selector},{ROLE}={LEADER}" if led else selector


async def _scale(context: Context, adapter: Node, graph: Node, component: str, wanted: int) -> Problem | None:
    context.writer.check_may_write(adapter)
    names = [member.get("name") for member in graph["spec"]["components"]]
    at = f"/spec/components/{names.index(component)}"
    steps: list[Node] = [{"op": "test", "path": f"{at}/name", "value": component}, {"op": "add", "path": f"{at}/replicas", "value": wanted}]
    key = key_of(graph)
    try:
        context.cache.add_write(await context.cluster.json_patch(GRAPHS, key.name, steps, key.namespace))
    except InvalidError as error:
        problem = Problem(f"DynamoGraphDeployment {key.name}: {error.message}", "conflict", is_transient=True)
    except ApiError as error:
        problem = problem_of_error(error, f"DynamoGraphDeployment {key.name}")
    else:
        await context.record_event(adapter, "Normal", "Scaled", f"component {component} of graph {key.name} has {wanted} replicas")
        return None
    await context.record_event(adapter, "Warning", "UpdateFailed", problem.text, lasting=True)
    return problem
