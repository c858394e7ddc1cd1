"""Reads the state of one component's object and its children that rendering respects. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...kube.protocol import Node
from ..common.keys import controller_reference
from ..common.resources import GRAPH
from ..render.merge import object_items
from ..render.names import COMPONENT_TYPE, SUB_TYPE, WORKER
from ..render.observed import Observed
from ..render.pod.container import PARENT
from ..render.workload import read_graph_label


def observe_component(component: Node, children: Sequence[Node], *, beside_graph: bool = False) -> Observed:
    """The state of one component's object: whether its Service or workload has the selectors of older releases, and whose it was.

    `beside_graph` says that the graph which its label names is there. Costs one look at each variable of its containers.
    """
    name = frozenset({str(component["metadata"]["name"])})
    left = beside_graph or any(read_graph_label(component) in _parent_graphs(one) for one in children)
    found = Observed(left=name if left else frozenset())
    kind = (component.get("spec") or {}).get("type")
    if kind not in ("prefill", "decode"):
        return found
    told = [_pod_selector(one) for one in children]
    old = any(one.get(COMPONENT_TYPE) == WORKER and one.get(SUB_TYPE, "") in ("", kind) for one in told)
    return found._replace(old_selectors=name if old else frozenset())


def is_of_a_graph(component: Node) -> bool:
    """Whether a graph controls the component."""
    return (controller_reference(component) or {}).get("kind") == GRAPH


def _pod_selector(child: Node) -> dict[str, str]:
    """The pod selector of a child, if it has one."""
    if child["kind"] == "Service":
        return (child.get("spec") or {}).get("selector") or {}
    return (_pod_template(child).get("metadata") or {}).get("labels") or {}


def _parent_graphs(child: Node) -> set[str]:
    """The graphs that the pods of a child are told that they belong to."""
    containers = object_items((_pod_template(child).get("spec") or {}).get("containers"))
    variables = [one for each in containers for one in object_items(each.get("env")) if one.get("name") == PARENT]
    return {str(one.get("value")) for one in variables}


def _pod_template(child: Node) -> Node:
    spec = child.get("spec") or {}
    templates = {"Deployment": spec.get("template"), "LeaderWorkerSet": (spec.get("leaderWorkerTemplate") or {}).get("workerTemplate")}
    return templates.get(child["kind"]) or {}
