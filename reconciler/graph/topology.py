"""The node label by which a graph's KV caches stay near, where the graph names a topology of Grove instead. One read a pass."""

from __future__ import annotations

from ...kube.capability import TOPOLOGY_LABELS, Presence
from ...kube.errors import ForbiddenError, NotServedError
from ...kube.protocol import Node
from ...kube.resources import TOPOLOGY_BINDINGS
from ..common.problems import explain_missing_permission
from ..engine.work import Work
from ..render.graph import Graph
from ..render.kv_transfer import key_in, label_key, read_topology, with_label_key
from ..render.without_effect import Note


async def resolve_topology(work: Work, graph: Node) -> tuple[Node, str]:
    """The graph with the label that its topology means, or why there is none; then its workers stay as they are. Raises: ApiError."""
    name, domain = read_topology(graph)
    if not name:
        return graph, ""
    field = "spec.experimental.kvTransferPolicy.clusterTopologyName"
    try:
        found = await work.cluster.get(TOPOLOGY_BINDINGS, name)
    except ForbiddenError as error:
        return graph, f"{field}: the reconciler lacks a permission: {error.message}; {explain_missing_permission('orchestrators')}"
    except NotServedError:
        found = None
    key = key_in(found, domain)
    if key:
        return with_label_key(graph, key), ""
    what = "which is not there" if found is None else f'which has no level of the domain "{domain[:80]}" with a key'
    return graph, f'{field}: must name a ClusterTopologyBinding, got "{name[:80]}", {what}'


def note_unlabelled(work: Work, graph: Graph) -> list[Note]:
    """That a graph's policy has no effect where nobody labels its pods with their place."""
    if not any(label_key(graph, one) for one in graph.members) or work.known().get(TOPOLOGY_LABELS.name) is not Presence.FORBIDDEN:
        return []
    lacking, remedy = work.lacking(TOPOLOGY_LABELS.name), explain_missing_permission(TOPOLOGY_LABELS.name, "topologyLabels")
    text = f"has no effect: workers don't know their place, as the reconciler lacks a permission to label pods ({lacking}); {remedy}"
    return [Note(("spec", "experimental", "kvTransferPolicy"), text)]
