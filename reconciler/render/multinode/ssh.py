"""The SSH key pair of MPI's processes. Rendering has placeholders: the loop creates the pair once."""

from __future__ import annotations

from typing import Final

from ....conversion.lens.protocol import Fields
from ..graph import Graph
from ..names import MANAGED_BY, OPERATOR
from ..objects import make_child
from ..settings import Settings
from .trtllm import PRIVATE, PUBLIC

GENERATED: Final = "<generated>"  # not base64, so that it can't be applied by mistake


def secrets(graph: Graph, settings: Settings) -> list[Fields]:
    """The Secret in the graph's namespace and its source, for graphs with multinode components; or the graph's own.

    All graphs share the first two, so they have no owner. An existing one doesn't change.
    """
    if not settings.ssh_secret or all(one.nodes == 1 for one in graph.members):
        return []
    if settings.key_per_graph:
        return [_secret(own_name(graph.name), graph.namespace, graph.object)]
    places = sorted({graph.namespace, settings.ssh_secret_namespace or graph.namespace})
    return [_secret(settings.ssh_secret, place) for place in places]


def own_name(graph: str) -> str:
    """The Secret of a graph that shares its keys with no other."""
    return f"{graph}-mpi-ssh"


def _secret(name: str, namespace: str, owner: Fields | None = None) -> Fields:
    data = {PRIVATE: GENERATED, PUBLIC: GENERATED}
    return make_child("v1", "Secret", name, namespace, labels={MANAGED_BY: OPERATOR}, owner=owner, data=data)
