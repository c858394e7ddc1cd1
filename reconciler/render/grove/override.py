"""Topology constraints in Grove's own words, which line 1.5 lets a graph say in place of its own. Cost: one look at each block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.api.paths import lookup
from dynamo_webhooks.policies.provider_override import API_VERSION, CLIQUE, FIELD, ROLES, SCALING_GROUP, SET
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.graph import is_inter_pod
from dynamo_webhooks.reconciler.render.grove import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph, Member

_TOPOLOGY: Final = "topologyConstraint"


def of_set(graph: Graph) -> Fields:
    """The constraint of a graph's whole set: the override's, or the graph's own.

    Raises: RenderError if the override is not one of a set.
    """
    return _said(graph.spec, ("spec",), SET, ("spec", "template")) or own(graph.spec)


def of_component(member: Member) -> Fields:
    """The constraint of a component's scaling group, or of its only clique. Raises: RenderError as `of_set`."""
    target = SCALING_GROUP if names.is_grouped(member) else CLIQUE
    return _said(member.fields, member.path, target) or own(member.fields)


def of_role(member: Member, role: str) -> Fields:
    """The constraint of the clique of a leader or of workers. Raises: RenderError as `of_set`."""
    nodes = member.fields.get("multinode") or {}
    return _said(nodes.get(role) or {}, (*member.path, "multinode", role), CLIQUE)


def check_roles(member: Member) -> None:
    """Refuse overrides of a leader or workers that the component hasn't. Raises: RenderError."""
    if member.nodes > 1 and not is_inter_pod(member.fields):
        return
    for role in ROLES:
        if ((member.fields.get("multinode") or {}).get(role) or {}).get(FIELD) is not None:
            path = (*member.path, "multinode", role, FIELD)
            raise RenderError(path, "must be absent: only a component on several nodes, not sharing GPUs between pods, has these roles")


def own(holder: Fields) -> Fields:
    """The constraint in the operator's words."""
    domain = (holder.get(_TOPOLOGY) or {}).get("packDomain")
    return {"packDomain": domain} if domain else {}


def is_constrained(graph: Graph) -> bool:
    """Whether a graph says anything of where Grove packs its pods."""
    return any(own(holder) or holder.get(FIELD) is not None for holder in _holders(graph))


def _holders(graph: Graph) -> Iterator[Fields]:
    yield graph.spec
    for one in graph.members:
        yield one.fields
        yield from (block for role in ROLES if isinstance(block := (one.fields.get("multinode") or {}).get(role), dict))


def _said(holder: Fields, path: Path, target: str, steps: tuple[str, ...] = ()) -> Fields:
    block = holder.get(FIELD)
    if block is None:
        return {}
    where = (*path, FIELD)
    if (version := block.get("apiVersion")) != API_VERSION:
        raise RenderError((*where, "apiVersion"), f"must be {API_VERSION}, got {str(version)[:80]!r}")
    if (named := block.get("target")) not in (None, "", target):
        raise RenderError((*where, "target"), f"must be {target} at this place, got {str(named)[:80]!r}; leave it out")
    inner = ("value", *steps, _TOPOLOGY)
    value = lookup(block, inner)
    if not isinstance(value, dict):
        raise RenderError((*where, *inner), "must be an object: a topology constraint is all that can be overridden")
    return value
