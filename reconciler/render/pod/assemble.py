"""Assembles a pod spec. The order of steps determines the order of lists, so it is part of the behaviour."""

import copy
import re
from typing import Any, Final

from ....api.line import Line
from ....api.quantity import is_quantity, is_zero
from ....conversion.lens.protocol import Fields
from ....policies.component.elastic_ep import is_elastic_on_ray
from ....policies.components import read_pod
from ....policies.engines import find_sidecar
from ....policies.frameworks import SGLANG, TRTLLM, VLLM
from ..discovery import uses_kubernetes
from ..errors import RenderError
from ..framework import add_flags, has_flag, has_native_picker, main_of
from ..gms import CONTROL_PATH, wire
from ..graph import INTER_POD, is_inter_pod, read_experimental
from ..merge import merge_override, object_items, put_named
from ..multinode import trtllm, vllm
from ..multinode.gpus import count_gpus
from ..multinode.role import Role
from ..names import (
    EPP,
    FORWARD_PASS_PORT,
    MAIN,
    PICKER_ACCOUNT,
    PICKER_CONFIG,
    PLANNER,
    PLANNER_ACCOUNT,
    SYSTEM_PORT,
    claim_template,
    discovery_account,
)
from ..settings import Settings
from ..workload import PodPlan
from .container import KINDS, complete_frontend, complete_runtime, drop_probes, give_infrastructure, make_main_container, port
from .registries import add_pull_secrets

_SHARED_MEMORY: Final = "shared-memory"
_SHARED_MEMORY_PATH: Final = "/dev/shm"  # noqa: S108 - where programs expect it


def make_pod_spec(plan: PodPlan, settings: Settings) -> Fields:
    """The spec of one pod, without the orchestrator's additions. Raises: RenderError if the component has no valid pod."""
    spec = make_plain_pod_spec(plan, settings)
    shared = read_experimental(plan.component, "gpuMemoryService")
    if shared is not None and shared.get("mode") != INTER_POD:
        clients = {MAIN, *(str(name) for name in shared.get("extraClientContainers") or ())}
        wire(spec, clients, MAIN, claim_template(plan.parent, plan.name))
    double_engine(spec, plan)
    if not spec.get("serviceAccountName") and settings.service_account:
        spec["serviceAccountName"] = settings.service_account
    return spec


def make_plain_pod_spec(plan: PodPlan, settings: Settings) -> Fields:
    """The spec of one pod without shared GPUs and failover, as for checkpoints. Raises: RenderError if the component has no valid pod."""
    user: Fields = copy.deepcopy(read_pod(plan.component))
    main, inherited = _main(plan, user, settings)
    spec = _merge_spec(plan, user, settings)
    add_shared_memory(spec, main, plan.component.get("sharedMemorySize"))
    others = [container for container in object_items(user.get("containers")) if container.get("name") != MAIN]
    spec["containers"] = [main, *others]
    complete_frontend(spec, plan, inherited, settings)
    complete_runtime(spec, plan, settings)
    change_pod(spec, main, plan, settings)
    _settle(spec, main)
    add_pull_secrets(spec, plan.annotations, settings)
    return spec


def _main(plan: PodPlan, user: Fields, settings: Settings) -> tuple[Fields, list[Fields]]:
    """The main container, and its mounts before framework and shared memory, which a sidecar inherits."""
    cache = make_cache_mount(plan)
    written = main_of({"podTemplate": {"spec": user}})
    if cache:
        # a v1alpha1 cache mount may lack its path, which then follows from the framework
        mounts = [
            cache if mount.get("name") == cache["name"] and not mount.get("mountPath") else mount
            for mount in object_items(written.get("volumeMounts"))
        ]
        written = {**written, "volumeMounts": mounts}
    bare = find_sidecar(settings.line, plan.component) is not None
    main = make_main_container(plan, written, settings, bare=bare)
    mounts = object_items(main.get("volumeMounts"))
    if cache:
        # a v1alpha1 flag may already have mounted the cache
        mounts = [*(mount for mount in mounts if mount.get("mountPath") != cache["mountPath"]), cache]
    if mounts:
        main["volumeMounts"] = mounts
    if not bare:
        give_infrastructure(main, settings)
    change_main(main, plan, settings)
    return main, [dict(mount) for mount in mounts]


def _merge_spec(plan: PodPlan, user: Fields, settings: Settings) -> Fields:
    """The type's default pod spec overridden by the user's, without containers."""
    picker = plan.type == EPP
    base: Fields = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 130 if picker else 60}  # the picker drains longer
    if plan.type == PLANNER:
        base["serviceAccountName"] = PLANNER_ACCOUNT
    elif picker:
        base["serviceAccountName"] = PICKER_ACCOUNT
    spec = merge_override(base, {name: value for name, value in user.items() if name != "containers"})
    if picker:
        # the picker's two volumes stay unless the user has volumes of these names
        own = object_items(spec.get("volumes"))
        spec["volumes"] = [
            volume for volume in _picker_volumes(plan, settings) if volume["name"] not in {mine.get("name") for mine in own}
        ] + own
    if user.get("securityContext") is None:
        spec["securityContext"] = {"fsGroup": 1000}  # so that a user without root can write to mounted volumes
    if not spec.get("serviceAccountName") and uses_kubernetes(plan.annotations, settings):
        spec["serviceAccountName"] = discovery_account(plan.parent)
    return spec


def _picker_volumes(plan: PodPlan, settings: Settings) -> list[Fields]:
    cache: Fields = {"name": "hf-cache", "emptyDir": {}}
    if has_native_picker(plan.component, settings.line):
        return [cache]
    reference = (plan.component.get("eppConfig") or {}).get("configMapRef") or {}
    source: Fields = {
        "name": reference.get("name") or f"{plan.parent}-epp-config",
        "items": [{"key": reference.get("key") or PICKER_CONFIG, "path": PICKER_CONFIG}],
    }
    source |= {"optional": reference["optional"]} if reference.get("optional") is not None else {}
    return [{"name": "epp-config", "configMap": source}, cache]


def add_shared_memory(spec: Fields, main: Fields, size: Any) -> None:
    """Add a memory-backed /dev/shm to a pod spec and a container, in place, or remove it for size 0."""
    if size is not None and is_quantity(size) and is_zero(size):
        return
    put_named(spec, "volumes", {"name": _SHARED_MEMORY, "emptyDir": {"medium": "Memory", "sizeLimit": size or "8Gi"}})
    mounts = [mount for mount in object_items(main.get("volumeMounts")) if str(mount.get("mountPath")) != _SHARED_MEMORY_PATH]
    main["volumeMounts"] = [*mounts, {"name": _SHARED_MEMORY, "mountPath": _SHARED_MEMORY_PATH}]


def _settle(spec: Fields, main: Fields) -> None:
    """Add a claim's volume for each mount without one, and list each volume once, ordered by the main container's mounts."""
    mounted = [mount["name"] for mount in object_items(main.get("volumeMounts"))]
    volumes = {volume.get("name"): volume for volume in object_items(spec.get("volumes"))}
    claimed = {name: {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in map(str, mounted)}
    if ordered := claimed | volumes:
        spec["volumes"] = list(ordered.values())


def make_cache_mount(plan: PodPlan) -> Fields | None:
    """The mount of the compilation cache, or None. Raises: RenderError without a path for a framework that has no default."""
    cache = plan.component.get("compilationCache")
    if not cache:
        return None
    path = cache.get("mountPath") or ("/root/.cache/vllm" if plan.framework == VLLM else "")
    if not path:
        where = (*plan.path, "compilationCache", "mountPath")
        raise RenderError(where, "must say where the cache is mounted; only vLLM has a usual place")
    return {"name": str(cache.get("pvcName") or ""), "mountPath": path}


def change_main(main: Fields, plan: PodPlan, settings: Settings) -> None:
    """Change the main container for the framework, in place."""
    if is_inter_pod(plan.component):  # the engine loads its weights from the memory service
        if not has_flag(main, "--load-format"):
            add_flags(main, "--load-format gms", plan.framework)
        if plan.framework == VLLM:
            main["env"] = [*object_items(main.get("env")), {"name": "DYN_VLLM_GMS_SHADOW_MODE", "value": "true"}]
    if plan.role is not None:
        _span_nodes(main, plan, plan.role, settings)
    elif plan.framework == VLLM and settings.line >= Line.V1_5 and is_elastic_on_ray(main):
        vllm.start_ray(main)
    cache = make_cache_mount(plan)
    if cache and plan.framework == VLLM:
        # after the sorted variables, as recorded; a repeated name can't be applied, and the last one counts
        put_named(main, "env", {"name": "VLLM_CACHE_ROOT", "value": cache["mountPath"]})


def _span_nodes(main: Fields, plan: PodPlan, role: Role, settings: Settings) -> None:
    named = vllm.names_roles(plan.hints)
    if plan.is_launched_by_author:
        _help_author(main, plan, role, settings)
    elif plan.framework in (VLLM, SGLANG):
        if plan.framework == VLLM:
            vllm.change_main(main, role, plan.hints, count_gpus(plan.component, plan.path, settings.claims))
        else:  # every node gets the first one's address, and its own rank
            addressed = role.by_names() if named else role
            flags = f"--dist-init-addr {addressed.host}:29500 --nnodes {role.nodes} --node-rank {addressed.rank}"
            add_flags(main, flags, SGLANG, shell=addressed.needs_shell)
        if not role.leader:
            drop_probes(main)
    elif plan.framework == TRTLLM:
        trtllm.change_main(main, role, settings.ssh_secret, count_gpus(plan.component, plan.path, settings.claims))
    if named or plan.is_launched_by_author:
        put_named(main, "env", *role.env)


def _help_author(main: Fields, plan: PodPlan, role: Role, settings: Settings) -> None:
    """Complete a node that its author starts, by what no template can say; a probe that he wrote stays."""
    written = {kind: main[kind] for kind in KINDS if main_of(plan.component).get(kind) is not None}
    if plan.framework == TRTLLM:
        trtllm.mount_keys(main, settings.ssh_secret)
        if not role.leader:
            trtllm.set_sshd_probe(main)
    elif not role.leader and any(has_flag(main, flag) for flag in ("--headless", *(("--node-rank",) if plan.framework == SGLANG else ()))):
        drop_probes(main)  # of an engine that only its leader serves
    main |= written
    if plan.framework == VLLM and vllm.uses_processes(plan.hints):
        vllm.give_address(main)
        vllm.give_port(main)


def change_pod(spec: Fields, main: Fields, plan: PodPlan, settings: Settings) -> None:
    """Change a pod spec for the framework, in place, if its replica has several pods."""
    if plan.role is None:
        return
    if plan.framework == VLLM:
        vllm.change_pod(spec, main, plan.role, plan.parent, by_author=plan.is_launched_by_author)
    elif plan.framework == TRTLLM:
        trtllm.change_pod(spec, settings.ssh_secret, trtllm.own_name(plan.parent) if settings.key_per_graph else settings.ssh_secret)


LOCK: Final = "failover.lock"
_PORT_DISTANCE: Final = 100  # between the master ports of the two engines
_DROPPED: Final = frozenset({"DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", "DYN_HEALTH_CHECK_ENABLED"})
_FLAG: Final = "--master-port"
_IN_TEXT: Final = re.compile(r"(--master-port[ =])([0-9]{1,5})(?![0-9])")


def double_engine(spec: Fields, plan: PodPlan) -> None:
    """Replace the main container by two engines, in place, for intra-pod failover. Raises: RenderError for an unsupported framework."""
    wanted = read_experimental(plan.component, "failover")
    if wanted is None or wanted.get("mode") == INTER_POD:
        return
    if plan.framework != VLLM:
        path = (*plan.path, "experimental", "failover")
        raise RenderError(path, f'needs vLLM, got "{plan.framework}"' if plan.framework else "needs vLLM, which the command doesn't call")
    containers = object_items(spec.get("containers"))
    main = next(container for container in containers if container.get("name") == MAIN)
    others = [container for container in containers if container is not main]
    nodes = plan.role.nodes if plan.role is not None else 1
    spec["containers"] = [*(_engine(main, number, nodes) for number in range(2)), *others]


def _engine(main: Fields, number: int, nodes: int) -> Fields:
    out = copy.deepcopy(main)
    out["name"] = f"engine-{number}"
    named = f"system-{number}"
    out["ports"] = [port(named, SYSTEM_PORT + number)]
    for kind in KINDS:
        handler = (out.get(kind) or {}).get("httpGet")
        if handler:
            handler["port"] = named
    variables = _env(number, nodes)
    # replaces the user's: a repeated name can't be applied
    gone = _DROPPED | {variable["name"] for variable in variables}
    out["env"] = [variable for variable in object_items(out.get("env")) if variable.get("name") not in gone] + variables
    if number:
        _move_master_port(out)
    return out


def _env(number: int, nodes: int) -> list[Fields]:
    values = {
        "ENGINE_ID": str(number),
        "CONTAINER_NAME": f"engine-{number}",
        "FAILOVER_LOCK_PATH": f"{CONTROL_PATH}/{LOCK}",
        "DYN_SYSTEM_STARTING_HEALTH_STATUS": "notready",
        "DYN_SYSTEM_PORT": str(SYSTEM_PORT + number),
        "DYN_SYSTEM_ENABLED": "true",
        "DYN_FORWARDPASS_METRIC_PORT": str(FORWARD_PASS_PORT + number),
        "DYN_VLLM_GMS_SHADOW_MODE": "true",
        "VLLM_NIXL_SIDE_CHANNEL_PORT": str(5600 + number),
        "DYN_VLLM_KV_EVENT_PORT": str(20080 + number),
    }
    if nodes > 1:
        values["NNODES"] = str(nodes)
    return [{"name": name, "value": value} for name, value in values.items()]


def _move_master_port(engine: Fields) -> None:
    """Give the second engine another master port, from the written one or the default."""
    for part in ("args", "command"):
        words, moved = _move_ports(engine.get(part) or [])
        if moved:
            engine[part] = words
            return
    engine["args"] = [*(engine.get("args") or []), _FLAG, str(29500 + _PORT_DISTANCE)]


def _move_ports(words: list[Any]) -> tuple[list[Any], bool]:
    for index, word in enumerate(words):
        text = str(word)
        if text == _FLAG and index + 1 < len(words) and str(words[index + 1]).isdecimal():
            return [*words[: index + 1], str(int(words[index + 1]) + _PORT_DISTANCE), *words[index + 2 :]], True
        if _IN_TEXT.search(text):
            changed = _IN_TEXT.sub(lambda match: f"{match[1]}{int(match[2]) + _PORT_DISTANCE}", text, count=1)
            return [*words[:index], changed, *words[index + 1 :]], True
    return words, False
