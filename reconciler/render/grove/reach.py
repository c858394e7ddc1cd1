"""Services and ingresses of a component on Grove, owned by the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.render import discovery
from dynamo_webhooks.reconciler.render.graph import object_name, selects, template_labels
from dynamo_webhooks.reconciler.render.ingress import ways_in
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import dns
from dynamo_webhooks.reconciler.render.objects import child
from dynamo_webhooks.reconciler.render.service import is_served, model_services, service_port

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph, Member
    from dynamo_webhooks.reconciler.render.settings import Settings


def grove_services(graph: Graph, member: Member, settings: Settings) -> list[Fields]:
    """The Service of a component, if it has one, by the graph's annotations, not the pod template's."""
    if not is_served(member.type, graph.annotations, settings):
        return []
    labels = {
        **texts(graph.spec.get("labels")),
        **texts(member.alpha.get("labels")),
        **template_labels(member),
        **discovery.labels(graph.annotations, settings),
    }
    out = child("v1", "Service", dns(object_name(graph, member)), graph.namespace, labels=labels, owner=graph.object)
    return [{**out, "spec": {"ports": [service_port(member.type)], "selector": selects(member)}}]


def grove_models(graph: Graph, member: Member, settings: Settings) -> list[Fields]:  # noqa: ARG001 - all three are called alike
    """The headless Service of a component's model."""
    return model_services(member.fields, graph.namespace, graph.object)


def grove_ways_in(graph: Graph, member: Member, settings: Settings) -> list[Fields]:
    """Ingress and VirtualService of a component, if wanted."""
    return ways_in(object_name(graph, member), graph.namespace, member.type, graph.name, member.alpha, graph.object, settings)
