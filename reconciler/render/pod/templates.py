"""The pod templates of whatever controls pods, live or rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields


def templates(one: Fields) -> Fields:
    """The pod templates of a controller, by what they are called in it; none of what controls no pods."""
    spec = one.get("spec") or {}
    if one["kind"] == "Deployment":
        return {"template": spec["template"]}
    if one["kind"] == "LeaderWorkerSet":
        inner = spec["leaderWorkerTemplate"]
        return {name: inner[name] for name in ("leaderTemplate", "workerTemplate") if inner.get(name)}
    if one["kind"] == "PodCliqueSet":
        cliques = spec["template"]["cliques"]
        keys = ("labels", "annotations")
        return {
            f"cliques[{clique['name']}]": {**{key: clique.get(key) for key in keys}, "spec": clique["spec"]["podSpec"]}
            for clique in cliques
        }
    return {}
