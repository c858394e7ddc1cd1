"""The Service of a component on Grove, owned by the graph."""

from __future__ import annotations

from ....conversion.lens.protocol import Fields
from .. import discovery
from ..graph import Graph, Member, object_name, selects, template_labels
from ..merge import string_map
from ..names import dns_name
from ..objects import make_child
from ..service import is_served, service_port
from ..settings import Settings


def grove_services(graph: Graph, member: Member, settings: Settings) -> list[Fields]:
    """The Service of a component, if it has one, by the graph's annotations, not the pod template's."""
    if not is_served(member.type, graph.annotations, settings):
        return []
    labels = {
        **string_map(graph.spec.get("labels")),
        **string_map(member.alpha.get("labels")),
        **template_labels(member),
        **discovery.labels(graph.annotations, settings),
    }
    name, spec = dns_name(object_name(graph, member)), {"ports": [service_port(member.type)], "selector": selects(member)}
    return [make_child("v1", "Service", name, graph.namespace, labels=labels, owner=graph.object, spec=spec)]
