"""The roles of the pods of a replica that spans several nodes."""

from collections.abc import Iterator

from ..at import At, Findings
from ..components import LPX, count_nodes, is_multinode
from ..engines import list_roles
from ..review import UPDATE, Fields
from ..rule import COMPONENT, Stage, rule

_KNOWN = ("leader", "worker")


def _spans_nodes(component: Fields) -> bool:
    """Whether the roles are those of several nodes."""
    return component.get("type") != LPX and is_multinode(component)


def count_roles(component: Fields) -> Iterator[tuple[int, Fields, int]]:
    """The roles of a component on several nodes with their places, and how many pods a replica has of each."""
    counts = {"leader": 1, "worker": count_nodes(component) - 1} if _spans_nodes(component) else {}
    yield from ((index, role, counts[role["name"]]) for index, role in list_roles(component) if role.get("name") in counts)


@rule("DYN230", where=COMPONENT, when="roles", stage=Stage.COMPONENT, ratchets=False, since="1.5")
def roles_need_multinode(at: At) -> Findings:
    """A component on one node has roles.

    Why
        Leader and workers are the pods of one replica that spans several nodes. On one node, a replica is a single pod.

    Fix
        Remove `roles`, or set `multinode`.

    Example
         {worker with an image}
        +      multinode: {nodeCount: 2}
               roles: [{name: leader}, {name: worker}]  # expect
    """
    if at.value.get("type") != LPX and at.value.get("multinode") is None:
        yield at.forbidden("roles", "must be unset for a component on one node: roles divide the pods of a replica on several nodes")


@rule("DYN231", where=COMPONENT, when="roles", stage=Stage.COMPONENT, ratchets=False, since="1.5")
def roles_name_unknown(at: At) -> Findings:
    """A role is neither leader nor worker.

    Why
        A replica on several nodes consists of a leader and workers.

    Fix
        Name the roles `leader` and `worker`.

    Example
         {worker with an image}
               multinode: {nodeCount: 2}
               roles:  # expect: roles-incomplete
        +        - name: worker
                 - {name: leader}
        -        - {name: helper}  # expect
    """
    for index, role in list_roles(at.value) if _spans_nodes(at.value) else ():
        if (name := role.get("name")) not in _KNOWN:
            yield at.not_supported(("roles", index, "name"), name, _KNOWN)


@rule("DYN232", where=COMPONENT, when="roles", stage=Stage.COMPONENT, ratchets=False, since="1.5")
def roles_incomplete(at: At) -> Findings:
    """A component on several nodes doesn't list both of its roles.

    Why
        List both roles or none.

    Fix
        Add the missing role.

    Example
         {worker with an image}
               multinode: {nodeCount: 2}
        -      roles: [{name: leader}]  # expect
        +      roles: [{name: leader}, {name: worker}]
    """
    there = {role.get("name") for _, role in list_roles(at.value)}
    for name in _KNOWN if _spans_nodes(at.value) else ():
        if name not in there:
            yield at.required("roles", f'must have the role "{name}" beside the other, got none')


@rule("DYN233", where=COMPONENT, when="roles", stage=Stage.COMPONENT, ratchets=False, since="1.6")
def roles_replicas_mismatch(at: At) -> Findings:
    """The replicas of a role don't match the number of nodes.

    Why
        One node of a replica runs the leader, and each other node runs a worker.

    Fix
        Leave `replicas` of the role out to use the default, or change `multinode.nodeCount`.

    Example
         {worker with an image}
               multinode: {nodeCount: 3}
               roles:
        -        - {name: leader, replicas: 2}  # expect
        +        - {name: leader, replicas: 1}
                 - {name: worker, replicas: 2}
    """
    for index, role, wanted in count_roles(at.value):
        if (replicas := role.get("replicas")) not in (None, wanted):
            yield at.invalid(("roles", index, "replicas"), replicas, f"must be {wanted} beside multinode.nodeCount {count_nodes(at.value)}")


@rule("DYN724", where=COMPONENT, on=(UPDATE,), when="roles", stage=Stage.IMMUTABLE, ratchets=False, since="1.6")
def roles_immutable(at: At) -> Findings:
    """The role names of a component change.

    Why
        Each role has its own objects in the cluster, which can't be converted to those of another role.

    Fix
        Restore the old roles, in any order, or create another graph.

    Example
         {worker with an image}
               multinode: {nodeCount: 2}
               roles: [{name: leader}, {name: worker}]
         --- # becomes
         {worker with an image}
               multinode: {nodeCount: 2}
               roles:  # expect: roles-incomplete, roles-immutable
        +        - name: worker
                 - {name: leader}
        -        - {name: helper}  # expect: roles-name-unknown
    """
    if LPX in (at.value.get("type"), (at.old or {}).get("type")):
        return  # a draft may get a conductor, and two independent components may become a pair
    before, now = ({role.get("name") for _, role in list_roles(part or {})} for part in (at.old, at.value))
    if before and now and before != now:
        yield at.immutable("roles", "must keep their names after creation")


@rule("DYN728", where=COMPONENT, on=(UPDATE,), stage=Stage.IMMUTABLE, ratchets=False, since="1.6")
def roles_meaning_immutable(at: At) -> Findings:
    """An update adds or removes roles that change the component's behaviour.

    Why
        You may add or remove roles only if that changes nothing but the pod templates. An override changes more.

    Fix
        Add or remove the roles without `providerOverride`, and the override in another update.

    Example
        -metadata: {annotations: {nvidia.com/workload-provider: grove}}
         {worker}
               podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
               multinode: {nodeCount: 2}
         --- # becomes
        -metadata: {annotations: {nvidia.com/workload-provider: grove}}
         {worker}
               podTemplate: {spec: {containers: [{name: main, image: "example/vllm:1.6.0"}]}}
               multinode: {nodeCount: 2}
               roles:  # expect
                 - name: leader
        -          {override of a clique}
        -            value: {topologyConstraint: {packDomain: rack}}
                 - {name: worker}
    """
    if at.old is None or LPX in (at.value.get("type"), at.old.get("type")):
        return
    before, now = list_roles(at.old), list_roles(at.value)
    if bool(before) is not bool(now) and any(role.get("providerOverride") is not None for _, role in (*before, *now)):
        yield at.forbidden("roles", "must be added and removed without a providerOverride, which changes what the component means")
