"""The adapters through which autoscalers change a component's replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.render.graph import object_name
from dynamo_webhooks.reconciler.render.names import API_VERSION, COMPONENT, GRAPH_NAME
from dynamo_webhooks.reconciler.render.objects import child

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph, Member


def adapters(graph: Graph) -> list[Fields]:
    """One adapter for each component that wants one."""
    return [_adapter(graph, one) for one in graph.members if one.fields.get("scalingAdapter") is not None]


def _adapter(graph: Graph, member: Member) -> Fields:
    marks = {GRAPH_NAME: graph.name, COMPONENT: member.name}
    out = child(
        API_VERSION, "DynamoGraphDeploymentScalingAdapter", object_name(graph, member), graph.namespace, labels=marks, owner=graph.object
    )
    replicas = member.fields.get("replicas")
    out["spec"] = {
        "replicas": 1 if replicas is None else replicas,
        "dgdRef": {"name": graph.name, "componentName": member.name},
    }
    return out
