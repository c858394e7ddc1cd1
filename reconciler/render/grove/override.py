"""Topology constraints in Grove's own words, which a graph may say since line 1.5 in place of its own. Cost: one look at each block."""

from collections.abc import Iterator
from typing import Final

from ....api.paths import Path, lookup
from ....conversion.lens.protocol import Fields
from ....policies.engines import list_roles
from ....policies.provider_override import API_VERSION, CLIQUE, FIELD, SCALING_GROUP, SET
from ..errors import RenderError
from ..graph import Graph, Member, is_inter_pod
from . import names

_TOPOLOGY: Final = "topologyConstraint"


def of_set(graph: Graph) -> Fields:
    """The constraint of a graph's set: the override's, or the graph's own. Raises: RenderError if the override is not one of a set."""
    return _said(graph.spec, ("spec",), SET, ("spec", "template")) or own(graph.spec)


def of_component(member: Member) -> Fields:
    """The constraint of a component's scaling group, or of its only clique. Raises: RenderError as `of_set`."""
    target = SCALING_GROUP if names.is_grouped(member) else CLIQUE
    return _said(member.fields, member.path, target) or own(member.fields)


def of_role(member: Member, role: str) -> Fields:
    """The constraint of the clique of a leader or of workers. Raises: RenderError as `of_set`."""
    found = next(((index, each) for index, each in list_roles(member.fields) if each.get("name") == role), None)
    return {} if found is None else _said(found[1], (*member.path, "roles", found[0]), CLIQUE)


def check_roles(member: Member) -> None:
    """Refuse overrides of a leader or workers that the component hasn't. Raises: RenderError."""
    if member.nodes > 1 and not is_inter_pod(member.fields):
        return
    for index, role in list_roles(member.fields):
        if role.get(FIELD) is not None:
            path = (*member.path, "roles", index, FIELD)
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
        yield from (role for _, role in list_roles(one.fields))


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
