"""The volume claims that a v1alpha1 graph asks for. Mounting them is the components' business."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.render.objects import child

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph


def claims(graph: Graph) -> list[Fields]:
    """One claim for each named entry that is to be created; the others must exist already, which only a cluster can tell."""
    return [_claim(graph, entry) for entry in graph.claims if entry.get("name") and entry.get("create") is True]


def _claim(graph: Graph, entry: Fields) -> Fields:
    out = child("v1", "PersistentVolumeClaim", str(entry["name"]), graph.namespace, owner=graph.object)
    # the class is always said: an empty one means that no class is to be chosen
    spec: Fields = {"storageClassName": entry.get("storageClass") or ""}
    if entry.get("volumeAccessMode"):
        spec["accessModes"] = [entry["volumeAccessMode"]]
    if entry.get("size") is not None:
        spec["resources"] = {"requests": {"storage": entry["size"]}}
    out["spec"] = spec
    return out
