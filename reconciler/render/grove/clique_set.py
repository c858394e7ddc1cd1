"""The PodCliqueSet of a graph, all its components in one object, and where Grove packs its cliques: in its own words, since line 1.5."""

from collections.abc import Iterable, Mapping
from typing import Final

from ....api.paths import Path, format_path, lookup
from ....conversion.lens.protocol import Fields
from ....policies.annotations import GROVE_UPDATE_STRATEGY
from ....policies.engines import list_roles
from ....policies.frameworks import TRTLLM, VLLM
from ....policies.grove import list_grove_strategies
from ....policies.provider_override import API_VERSION, CLIQUE, FIELD, SCALING_GROUP, SET
from .. import discovery
from ..checkpoint.restore import Restore, list_targets, restore_pod_metadata, restore_pod_spec
from ..errors import RenderError
from ..gms import SOCKET_DIRECTORY, add_toleration, count_gpus, drop_gpus, make_claim_spec
from ..graph import Graph, Member, check_templates, is_inter_pod, measure_size, read_experimental, read_replicas
from ..merge import object_items, put_named, string_map
from ..multinode.role import Role, check_nodes, make_grove_rank, make_grove_roles
from ..names import ENGINE_GROUP, GRAPH_NAME, MAIN, TOPOLOGY_LABEL, lower_name
from ..objects import make_child
from ..pod.assemble import LOCK, make_pod_spec
from ..pod.container import drop_probes
from ..settings import Settings
from ..template import list_own_templates
from ..workload import PodPlan
from . import names
from .member import GroveMember, choose_scheduler, read_grove_member

MAX_REQUEST_BYTES: Final = 3 * 1024 * 1024  # which API servers fix
_TOPOLOGY: Final = "topologyConstraint"
_SCHEMA: Final = ("schema", "openAPIV3Schema")
_CONSTRAINT: Final = (*_SCHEMA, *(step for name in ("spec", "template", _TOPOLOGY) for step in ("properties", name)), "properties")
CLIQUE_SETS_DEFINITION: Final = "podcliquesets.grove.io"
MIN_CLIQUE_BYTES: Final = 2000  # of one that shares GPUs, without its author's fields


def make_clique_set(graph: Graph, settings: Settings, restarts: Mapping[str, str], restores: Mapping[str, Restore]) -> list[Fields]:
    """The set of a graph, none without components. Raises: RenderError if one has no valid pods: the set is made whole or not at all."""
    if not graph.members:
        return []
    for member in graph.members:
        check_nodes(member.nodes, member.path)
        _check_roles(member)
        check_templates(graph, member)
    _check_names(graph.members)
    _check_size(graph)
    # Grove doesn't use accounts of the namespace
    ours = settings._replace(service_account="")
    cliques = [
        clique
        for member in graph.members
        for clique in make_cliques(read_grove_member(graph, member, ours, restarts.get(member.name, "")), ours, restores.get(member.name))
    ]
    labels = {**string_map(graph.spec.get("labels")), GRAPH_NAME: graph.name}
    annotations = string_map(graph.spec.get("annotations"))
    out = make_child(API_VERSION, "PodCliqueSet", names.set_name(graph), labels=labels, annotations=annotations, owner=graph.object)
    strategy = graph.annotations.get(GROVE_UPDATE_STRATEGY)
    update_strategy = {"updateStrategy": {"type": strategy}} if strategy in list_grove_strategies(graph.line) else {}
    out["spec"] = {
        **update_strategy,
        "replicas": 1,
        "template": {**_template(graph, cliques, by_name=settings.packs_by_name), "terminationDelay": settings.termination_delay},
    }
    return [out]


def _check_names(members: Iterable[Member]) -> None:
    """Raises: RenderError if two components would make a clique of one name."""
    owners: dict[str, Member] = {}
    for member in members:
        for name in names.cliques(member):
            other = owners.setdefault(name, member)
            if other is not member:
                does = f"would make the PodClique {name} of Grove, as {format_path(other.path)} ({other.name}) does"
                raise RenderError((*member.path, "name"), f"must be another one: {member.name} {does}; rename one of both")


def _check_size(graph: Graph) -> None:
    """Raises: RenderError for a set that no API server takes, before it is rendered: of a short graph that may take a minute."""
    shared, least = measure_size(graph.spec.get("env")), 0
    for member in graph.members:
        pod = (
            shared
            + max(measure_size(template) for template in list_own_templates({**member.fields}))
            + (MIN_CLIQUE_BYTES if is_inter_pod(member.fields) else 0)
        )
        least += pod * len(names.cliques(member))
        if least > MAX_REQUEST_BYTES:
            text = f"must be short enough for a PodCliqueSet of {MAX_REQUEST_BYTES} bytes, which is all that an API server takes"
            raise RenderError(
                (*member.path, "podTemplate"), f"{text}; it would have {least} at least: use fewer nodes, or shorter templates"
            )


def _template(graph: Graph, cliques: list[Fields], *, by_name: bool) -> Fields:
    waits = any(clique["spec"].get("startsAfter") for clique in cliques)
    out: Fields = {
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        "cliqueStartupType": "CliqueStartupTypeExplicit" if waits else "CliqueStartupTypeAnyOrder",
        "cliques": cliques,
    }
    groups = [_group(member) for member in graph.members if names.is_grouped(member)]
    templates = [template for member in graph.members if is_inter_pod(member.fields) for template in make_claim_templates(member)]
    if graph.spec.get("priorityClassName"):
        out["priorityClassName"] = graph.spec["priorityClassName"]
    out |= {
        **({"podCliqueScalingGroups": groups} if groups else {}),
        **({"resourceClaimTemplates": templates} if templates else {}),
        **_constraint(graph.spec, ("spec",), SET, ("spec", "template")),
    }
    if by_name:
        name = str((graph.spec.get(_TOPOLOGY) or {}).get("clusterTopologyName") or "")
        for holder in _list_holders(out):
            holder[_TOPOLOGY] = _pack_by_name(holder[_TOPOLOGY], name)
    return out


def _list_holders(template: Fields) -> list[Fields]:
    """The template of a set, its groups and its cliques, as far as they are constrained."""
    every = (template, *object_items(template.get("podCliqueScalingGroups")), *object_items(template.get("cliques")))
    return [holder for holder in every if holder.get(_TOPOLOGY)]


def _pack_by_name(constraint: Fields, name: str) -> Fields:
    """A constraint as Grove has it from 0.1.0-alpha.10 on, which refuses `packDomain` in new sets."""
    domain = constraint.get("packDomain")
    if not domain or "pack" in constraint:
        return constraint
    rest = {key: value for key, value in constraint.items() if key != "packDomain"}
    return {**({"topologyName": name} if name else {}), "pack": {"required": domain}, **rest}


def does_set_pack_by_name(clique_set: Fields) -> bool | None:
    """Read from a set how it is constrained, which can't change; None for one without constraints."""
    constraints = [holder[_TOPOLOGY] for holder in _list_holders((clique_set.get("spec") or {}).get("template") or {})]
    return all("packDomain" not in constraint for constraint in constraints) if constraints else None


def does_definition_pack_by_name(definition: Fields | None) -> bool | None:
    """Read from the definition of sets which constraints it knows; None if it can't be read."""
    for version in object_items(lookup(definition, ("spec", "versions")) if definition else None):
        fields = lookup(version, _CONSTRAINT)
        if version.get("served") and isinstance(fields, dict):
            return "pack" in fields
    return None


def _group(member: Member) -> Fields:
    """The scaling group of a component. Grove refuses a set with one of no replicas: it is made with the fewest, then scaled to zero."""
    return {
        "name": lower_name(member.name),
        "cliqueNames": names.cliques(member),
        "replicas": read_replicas(member.fields) or names.least(member),
        "minAvailable": names.least(member),
        **({"resourceSharing": list_shared_claims(member)} if is_inter_pod(member.fields) else {}),
        **_constraint(member.fields, member.path, SCALING_GROUP),
    }


def make_cliques(on_grove: GroveMember, settings: Settings, restore: Restore | None = None) -> list[Fields]:
    """The cliques of a component, in the order of their names. Raises: RenderError if the component has no valid pods."""
    member = on_grove.member
    if is_inter_pod(member.fields):
        check_failover(member)
        return [clique for rank in range(member.nodes) for clique in _rank(on_grove, rank, settings)]
    if member.nodes > 1:
        return _leader_and_workers(on_grove, settings)
    clique = _alone(on_grove, settings)
    if restore is not None:
        targets = list_targets(on_grove.plan.component)
        restore_pod_spec(clique["spec"]["podSpec"], targets, restore, member.path)
        marks = {name: clique[name] for name in ("labels", "annotations")}
        clique |= restore_pod_metadata(marks, targets, restore)
    return [clique]


def _alone(on_grove: GroveMember, settings: Settings) -> Fields:
    """The only clique of a component; one that is in a scaling group is one replica of it."""
    member, pod = on_grove.member, _pod(on_grove, None, settings)
    if names.is_grouped(member):
        return _clique(on_grove, lower_name(member.name), 1, pod)
    clique = _clique(on_grove, lower_name(member.name), read_replicas(member.fields), pod, least=names.least(member))
    return {**clique, **_constraint(member.fields, member.path, CLIQUE)}


def _leader_and_workers(on_grove: GroveMember, settings: Settings) -> list[Fields]:
    member, (leads, works) = on_grove.member, make_grove_roles(on_grove.member.name, on_grove.member.nodes)
    leader = _clique(on_grove, names.leader(member), 1, _pod(on_grove, leads, settings))
    others = member.nodes - 1
    of_workers = on_grove.workers or on_grove
    workers = _clique(of_workers, names.workers(member), others, _pod(of_workers, works, settings), least=others)
    if on_grove.plan.framework == TRTLLM and not on_grove.workers:
        # the leader starts processes on the workers, which must exist
        leader["spec"]["startsAfter"] = [names.workers(member)]
    return [{**leader, **_role_constraint(member, "leader")}, {**workers, **_role_constraint(member, "worker")}]


def _rank(on_grove: GroveMember, rank: int, settings: Settings) -> list[Fields]:
    """The server of a rank, and the engines that start after it."""
    member, count = on_grove.member, count_rank_gpus(on_grove.member)
    pod = _pod(on_grove, None, settings)
    make_server(pod, on_grove.plan, rank, count)
    discovery_labels = discovery.make_labels(on_grove.plan.annotations, settings)
    server = _clique(on_grove, names.server(member, rank), 1, pod)
    # a server receives no requests
    server["labels"] = {key: value for key, value in on_grove.labels.items() if key not in discovery_labels}
    server["annotations"] = {key: value for key, value in on_grove.annotations.items() if key != TOPOLOGY_LABEL}
    role = make_grove_rank(member.name, member.nodes, rank) if member.nodes > 1 else None
    pod = _pod(on_grove, role, settings)
    failover = is_inter_pod(member.fields, "failover")
    make_engine(pod, on_grove.plan, rank, failover=failover)
    replicas = count_engines(member)
    engine = _clique(on_grove, names.engine(member, rank), replicas, pod, least=1 if failover else replicas)
    engine["spec"]["startsAfter"] = [names.server(member, rank)]
    if failover:
        engine["labels"] = dict(sorted({**on_grove.labels, ENGINE_GROUP: "true"}.items()))
    return [server, engine]


def _clique(on_grove: GroveMember, name: str, replicas: int, pod: Mapping[str, object], *, least: int = 1) -> Fields:
    return {
        "name": name,
        "labels": on_grove.labels,
        "annotations": on_grove.annotations,
        "spec": {"roleName": name, "replicas": replicas, "minAvailable": least, "podSpec": pod},
    }


def _pod(on_grove: GroveMember, role: Role | None, settings: Settings) -> Fields:
    spec = make_pod_spec(on_grove.plan._replace(role=role), settings)
    if scheduler := choose_scheduler(on_grove.plan.component, settings):
        spec["schedulerName"] = scheduler
    return spec


def _constraint(holder: Fields, path: Path, target: str, steps: tuple[str, ...] = ()) -> Fields:
    """The field that says where to pack: in Grove's own words, else in the operator's. Raises: RenderError as `_read_override`."""
    constraint = _read_override(holder, path, target, steps) or _own_constraint(holder)
    return {_TOPOLOGY: constraint} if constraint else {}


def _role_constraint(member: Member, role: str) -> Fields:
    """Make the constraint of a leader's or workers' clique, in Grove's words only. Raises: RenderError as `_read_override`."""
    roles = ((index, each) for index, each in list_roles(member.fields) if each.get("name") == role)
    constraint = next((_read_override(each, (*member.path, "roles", index), CLIQUE) for index, each in roles), {})
    return {_TOPOLOGY: constraint} if constraint else {}


def _check_roles(member: Member) -> None:
    """Refuse overrides of a leader or workers that the component hasn't. Raises: RenderError."""
    if member.nodes > 1 and not is_inter_pod(member.fields):
        return
    for index, role in list_roles(member.fields):
        if role.get(FIELD) is not None:
            path = (*member.path, "roles", index, FIELD)
            raise RenderError(path, "must be absent: only a component on several nodes, not sharing GPUs between pods, has these roles")


def _own_constraint(holder: Fields) -> Fields:
    """The constraint in the operator's words."""
    domain = (holder.get(_TOPOLOGY) or {}).get("packDomain")
    return {"packDomain": domain} if domain else {}


def is_constrained(graph: Graph) -> bool:
    """Whether a graph says anything of where Grove packs its pods."""
    roles = (role for member in graph.members for _, role in list_roles(member.fields))
    holders = (graph.spec, *(member.fields for member in graph.members), *roles)
    return any(_own_constraint(holder) or holder.get(FIELD) is not None for holder in holders)


def _read_override(holder: Fields, path: Path, target: str, steps: tuple[str, ...] = ()) -> Fields:
    """The constraint in an override of one target; empty without. Raises: RenderError if the override is not one of this target."""
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


_VOLUME: Final = "gms-shared"
_SHARED: Final = "/run/gms/shared"
_SERVE: Final = f"""\
rm -f {_SHARED}/gms_*.sock
trap 'ending=1; trap "" TERM INT; kill 0' TERM INT
python3 -m gpu_memory_service.cli.server &
server=$!
wait "$server"
status=$?
# a signal ends that wait early; the shell remembers how the server itself ends
if [ -n "$ending" ]; then
  wait "$server"
  status=$?
fi
exit "$status"
"""


def count_engines(member: Member) -> int:
    """The engines of each rank: one, and those on standby."""
    failover = (member.fields.get("experimental") or {}).get("failover") or {}
    if not is_inter_pod(member.fields, "failover"):
        return 1
    shadows = failover.get("numShadows")
    return 1 + (shadows if isinstance(shadows, int) else 1)


def check_failover(member: Member) -> None:
    """Refuse intra-pod failover with GPUs shared between pods. Raises: RenderError with the path of the mode."""
    if read_experimental(member.fields, "failover") is not None and not is_inter_pod(member.fields, "failover"):
        path = (*member.path, "experimental", "failover", "mode")
        raise RenderError(path, "must be InterPod where gpuMemoryService.mode is; use one mode for both")


def count_rank_gpus(member: Member) -> int:
    """The GPUs of one rank. Raises: RenderError if there are none."""
    count = count_gpus(member.fields, member.path)
    if not count:
        raise RenderError((*member.path, "experimental", "gpuMemoryService"), "needs GPUs to share: the main container asks for none")
    return count


def make_claim_templates(member: Member) -> list[Fields]:
    """The templates of the claims, one for each rank."""
    gms: Fields = (member.fields.get("experimental") or {}).get("gpuMemoryService") or {}
    spec = make_claim_spec("gpu", gms, count_rank_gpus(member))
    return [{"name": names.claim(member, rank), "templateSpec": spec} for rank in range(member.nodes)]


def list_shared_claims(member: Member) -> list[Fields]:
    """The claims that a replica's cliques share."""
    return [
        {
            "name": names.claim(member, rank),
            "scope": "PerReplica",
            "filter": {"childCliqueNames": [names.server(member, rank), names.engine(member, rank)]},
        }
        for rank in range(member.nodes)
    ]


def make_server(spec: Fields, plan: PodPlan, rank: int, count: int) -> None:
    """Change a component's pod spec in place into that of a rank's server."""
    main = _share(spec, rank)
    main["command"], main["args"] = ["bash", "-c"], [_SERVE]
    drop_probes(main)
    # two sockets for each GPU
    ready = f'[ "$(ls {_SHARED} | grep -c "^gms_.*\\.sock$")" -ge {2 * count} ]'
    main["startupProbe"] = {"exec": {"command": ["sh", "-c", ready]}, "periodSeconds": 2, "timeoutSeconds": 2, "failureThreshold": 150}
    values = {"DYN_VLLM_GMS_SHADOW_MODE": "true"} if plan.framework == VLLM else {}
    put_named(main, "env", *({"name": name, "value": value} for name, value in {**values, SOCKET_DIRECTORY: _SHARED}.items()))
    spec["restartPolicy"] = "Always"


def make_engine(spec: Fields, plan: PodPlan, rank: int, *, failover: bool) -> None:
    """Change a component's pod spec in place into that of a rank's engine. One on standby starts as not ready."""
    main = _share(spec, rank)
    main["env"] = [
        variable for variable in object_items(main.get("env")) if variable.get("name") != "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"
    ]
    shadow: list[Fields] = [{"name": "DYN_VLLM_GMS_SHADOW_MODE", "value": "true"}] if plan.framework == VLLM else []
    index = {"fieldRef": {"fieldPath": "metadata.labels['grove.io/podclique-pod-index']"}}
    put_named(
        main,
        "env",
        *shadow,
        {"name": "ENGINE_ID", "valueFrom": index},
        {"name": SOCKET_DIRECTORY, "value": _SHARED},
        {"name": "FAILOVER_LOCK_PATH", "value": f"{_SHARED}/{LOCK}"},
        {"name": "DYN_SYSTEM_STARTING_HEALTH_STATUS", "value": "notready"},
    )
    # a group that has lost an engine is replaced as a whole
    spec["restartPolicy"] = "Never" if failover else "Always"


def _share(spec: Fields, rank: int) -> Fields:
    """Apply what servers and engines share; returns the main container."""
    main = next(container for container in object_items(spec["containers"]) if container.get("name") == MAIN)
    drop_gpus(main)
    add_toleration(spec)
    mount = {"name": _VOLUME, "mountPath": _SHARED, "subPathExpr": f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)/rank-{rank}"}
    main["volumeMounts"] = [*(other for other in object_items(main.get("volumeMounts")) if other.get("mountPath") != _SHARED), mount]
    put_named(spec, "volumes", {"name": _VOLUME, "hostPath": {"path": "/run/gms", "type": "DirectoryOrCreate"}})
    opened = {
        "name": "fix-gms-perms",
        **({"image": main["image"]} if main.get("image") else {}),
        "command": ["sh", "-c", f"chmod 1777 {_SHARED}"],
        "volumeMounts": [dict(mount)],
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False},
    }
    spec["initContainers"] = [*object_items(spec.get("initContainers")), opened]
    return main
