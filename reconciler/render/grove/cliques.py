"""The cliques of one component: equal pods that are placed together. Several nodes, or shared GPUs, make several cliques."""

from __future__ import annotations

from collections.abc import Mapping

from ....conversion.lens.protocol import Fields
from .. import discovery
from ..checkpoint.restore import Restore, restore_pod_metadata, restore_pod_spec, targets_of
from ..framework import TRTLLM
from ..graph import is_inter_pod, replicas_in
from ..multinode.role import Role, grove_rank, grove_roles
from ..names import ENGINE_GROUP, TOPOLOGY_LABEL, lower_name
from ..pod.assemble import pod_spec
from ..settings import Settings
from . import inter_pod, names, override
from .member import GroveMember
from .schedulers import choose_scheduler


def cliques(one: GroveMember, settings: Settings, restore: Restore | None = None) -> list[Fields]:
    """The cliques of a component, in the order of their names. With `restore` its pods are restored from a snapshot.

    Raises: RenderError if the component has no valid pods.
    """
    member = one.member
    if is_inter_pod(member.fields):
        inter_pod.check_failover(member)
        return [made for rank in range(member.nodes) for made in _rank(one, rank, settings)]
    if member.nodes > 1:
        return _leader_and_workers(one, settings)
    made = _alone(one, settings)
    if restore is not None:
        targets = targets_of(one.plan.component)
        restore_pod_spec(made["spec"]["podSpec"], targets, restore, member.path)
        marks = {name: made[name] for name in ("labels", "annotations")}
        made |= restore_pod_metadata(marks, targets, restore)
    return [made]


def _alone(one: GroveMember, settings: Settings) -> Fields:
    """The only clique of a component; one that is in a scaling group is one replica of it."""
    member, pod = one.member, _pod(one, None, settings)
    if names.is_grouped(member):
        return _clique(one, lower_name(member.name), 1, pod)
    made = _clique(one, lower_name(member.name), replicas_in(member.fields), pod, least=names.least(member))
    return _constrained(made, override.of_component(member))


def _leader_and_workers(one: GroveMember, settings: Settings) -> list[Fields]:
    member, (leads, works) = one.member, grove_roles(one.member.name, one.member.nodes)
    leader = _clique(one, names.leader(member), 1, _pod(one, leads, settings))
    others = member.nodes - 1
    of_workers = one.workers or one
    workers = _clique(of_workers, names.workers(member), others, _pod(of_workers, works, settings), least=others)
    if one.plan.framework == TRTLLM and not one.workers:
        # the leader starts processes on the workers, which must exist
        leader["spec"]["startsAfter"] = [names.workers(member)]
    return [_constrained(leader, override.of_role(member, "leader")), _constrained(workers, override.of_role(member, "worker"))]


def _rank(one: GroveMember, rank: int, settings: Settings) -> list[Fields]:
    """The server of a rank, and the engines that start after it."""
    member, count = one.member, inter_pod.gpus(one.member)
    pod = _pod(one, None, settings)
    inter_pod.make_server(pod, one.plan, rank, count)
    found = discovery.labels(one.plan.annotations, settings)
    server = _clique(one, names.server(member, rank), 1, pod)
    # a server receives no requests
    server["labels"] = {key: value for key, value in one.labels.items() if key not in found}
    server["annotations"] = {key: value for key, value in one.annotations.items() if key != TOPOLOGY_LABEL}
    role = grove_rank(member.name, member.nodes, rank) if member.nodes > 1 else None
    pod = _pod(one, role, settings)
    failover = is_inter_pod(member.fields, "failover")
    inter_pod.make_engine(pod, one.plan, rank, failover=failover)
    replicas = inter_pod.engines(member)
    engine = _clique(one, names.engine(member, rank), replicas, pod, least=1 if failover else replicas)
    engine["spec"]["startsAfter"] = [names.server(member, rank)]
    if failover:
        engine["labels"] = dict(sorted({**one.labels, ENGINE_GROUP: "true"}.items()))
    return [server, engine]


def _clique(one: GroveMember, name: str, replicas: int, pod: Mapping[str, object], *, least: int = 1) -> Fields:
    return {
        "name": name,
        "labels": one.labels,
        "annotations": one.annotations,
        "spec": {"roleName": name, "replicas": replicas, "minAvailable": least, "podSpec": pod},
    }


def _constrained(clique: Fields, constraint: Fields) -> Fields:
    return {**clique, "topologyConstraint": constraint} if constraint else clique


def _pod(one: GroveMember, role: Role | None, settings: Settings) -> Fields:
    spec = pod_spec(one.plan._replace(role=role), settings)
    if scheduler := choose_scheduler(one.plan.component, settings):
        spec["schedulerName"] = scheduler
    return spec
