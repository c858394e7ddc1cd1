"""The volume claims of a v1alpha1 graph."""

from __future__ import annotations

from ...conversion.lens.protocol import Fields
from .graph import Graph
from .objects import make_child


def claims(graph: Graph) -> list[Fields]:
    """One claim for each named entry to create; the others must exist."""
    return [_claim(graph, entry) for entry in graph.claims if entry.get("name") and entry.get("create") is True]


def _claim(graph: Graph, entry: Fields) -> Fields:
    # always set: an empty class means no class
    spec: Fields = {"storageClassName": entry.get("storageClass") or ""}
    if entry.get("volumeAccessMode"):
        spec["accessModes"] = [entry["volumeAccessMode"]]
    if entry.get("size") is not None:
        spec["resources"] = {"requests": {"storage": entry["size"]}}
    return make_child("v1", "PersistentVolumeClaim", str(entry["name"]), graph.namespace, owner=graph.object, spec=spec)
