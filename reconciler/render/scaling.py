"""The adapters through which autoscalers change a component's replicas."""

from __future__ import annotations

from ...conversion.lens.protocol import Fields
from .graph import Graph, Member, object_name, replicas_in
from .names import API_VERSION, COMPONENT, GRAPH_NAME
from .objects import make_child


def adapters(graph: Graph) -> list[Fields]:
    """One adapter for each component that wants one."""
    return [_adapter(graph, one) for one in graph.members if one.fields.get("scalingAdapter") is not None]


def _adapter(graph: Graph, member: Member) -> Fields:
    name, marks = object_name(graph, member), {GRAPH_NAME: graph.name, COMPONENT: member.name}
    spec = {"replicas": replicas_in(member.fields), "dgdRef": {"name": graph.name, "componentName": member.name}}
    kind = "DynamoGraphDeploymentScalingAdapter"
    return make_child(API_VERSION, kind, name, graph.namespace, labels=marks, owner=graph.object, spec=spec)
