"""The node label by which a graph's KV caches stay near, where the graph names a topology of Grove instead. One read a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.kube.errors import ForbiddenError, NotServedError
from dynamo_webhooks.kube.resources import TOPOLOGY_BINDINGS
from dynamo_webhooks.reconciler.loop.problems import grant
from dynamo_webhooks.reconciler.render.kv_transfer import asked_topology, key_in, with_label_key

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work


class Placed(NamedTuple):
    """A graph with its label, or why there is none; then its workers stay as they are."""

    graph: Node
    lacking: str = ""


async def placed(work: Work, graph: Node) -> Placed:
    """The graph with the label that its topology means. Raises: ApiError."""
    name, domain = asked_topology(graph)
    if not name:
        return Placed(graph)
    field = "spec.experimental.kvTransferPolicy.clusterTopologyName"
    try:
        found = await work.cluster.get(TOPOLOGY_BINDINGS, name)
    except ForbiddenError as error:
        return Placed(graph, f"{field}: the reconciler lacks a permission: {error.message}; {grant('orchestrators')}")
    except NotServedError:
        found = None
    key = key_in(found, domain)
    if key:
        return Placed(with_label_key(graph, key))
    what = "which is not there" if found is None else f'which has no level of the domain "{domain[:80]}" with a key'
    return Placed(graph, f'{field}: must name a ClusterTopologyBinding, got "{name[:80]}", {what}')
