"""The state of a live graph that rendering respects: generation, restarts, selectors of running pods. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.loop.generations import generation_of, is_ready, member_of
from dynamo_webhooks.reconciler.render.merge import items
from dynamo_webhooks.reconciler.render.names import COMPONENT_TYPE, RESTART_AT, SUB_TYPE, WORKER
from dynamo_webhooks.reconciler.render.observed import Observed
from dynamo_webhooks.reconciler.render.pod.env import PARENT
from dynamo_webhooks.reconciler.render.workload import labelled_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.generations import Roll
    from dynamo_webhooks.reconciler.render.graph import Graph


def observed_graph(graph: Graph, roll: Roll, objects: Sequence[Node]) -> Observed:
    """The state of a graph, from its components' objects."""
    asked = str((graph.spec.get("restart") or {}).get("id") or "")
    current = {member_of(one): one for one in objects if generation_of(one) in ("", roll.name)}
    # a new generation begins with the previous mark: set later, its pods would start twice
    oldest_first = sorted(objects, key=lambda one: str(one["metadata"].get("creationTimestamp") or ""))
    told = {member_of(one): one for one in oldest_first} | current
    marks = {name: mark for name, one in told.items() if (mark := restart_mark(one))}
    return Observed(
        worker_hash=roll.name,
        restart_at=marks,
        restarted=frozenset(name for name, one in current.items() if asked and marks.get(name) == asked and is_ready(one)),
        rolling=roll.rolling,
        replicas=roll.replicas,
        frameworks={name: str(one["spec"]["backendFramework"]) for name, one in current.items() if one["spec"].get("backendFramework")},
    )


def observed_component(component: Node, children: Sequence[Node], *, beside_graph: bool = False) -> Observed:
    """The state of one component's object: whether its Service or workload has the selectors of older releases, and whose it was.

    `beside_graph` says that the graph which its label names is there. Costs one look at each variable of its containers.
    """
    name = frozenset({str(component["metadata"]["name"])})
    left = beside_graph or any(labelled_graph(component) in _parents(one) for one in children)
    found = Observed(left=name if left else frozenset())
    kind = (component.get("spec") or {}).get("type")
    if kind not in ("prefill", "decode"):
        return found
    told = [_told(one) for one in children]
    old = any(one.get(COMPONENT_TYPE) == WORKER and one.get(SUB_TYPE, "") in ("", kind) for one in told)
    return found._replace(old_selectors=name if old else frozenset())


def restart_mark(obj: Node) -> str:
    """The restart mark of a component's pods."""
    template = ((obj.get("spec") or {}).get("podTemplate") or {}).get("metadata") or {}
    return str((template.get("annotations") or {}).get(RESTART_AT) or "")


def _told(child: Node) -> dict[str, str]:
    """The pod selector of a child, if it has one."""
    if child["kind"] == "Service":
        return (child.get("spec") or {}).get("selector") or {}
    return (_template(child).get("metadata") or {}).get("labels") or {}


def _parents(child: Node) -> set[str]:
    """The graphs that the pods of a child are told that they belong to."""
    containers = items((_template(child).get("spec") or {}).get("containers"))
    variables = [one for each in containers for one in items(each.get("env")) if one.get("name") == PARENT]
    return {str(one.get("value")) for one in variables}


def _template(child: Node) -> Node:
    spec = child.get("spec") or {}
    templates = {"Deployment": spec.get("template"), "LeaderWorkerSet": (spec.get("leaderWorkerTemplate") or {}).get("workerTemplate")}
    return templates.get(child["kind"]) or {}
