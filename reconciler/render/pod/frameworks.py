"""A framework's changes of a pod: to the main container before assembly, and to the pod after it."""

from ....api.line import Line
from ....conversion.lens.protocol import Fields
from ....policies.component.elastic_ep import is_elastic_on_ray
from ..errors import RenderError
from ..framework import SGLANG, TRTLLM, VLLM, add_flags, has_flag
from ..graph import is_inter_pod
from ..merge import object_items, put_named
from ..multinode import trtllm, vllm
from ..multinode.device_claims import count_gpus
from ..multinode.role import Role
from ..settings import Settings
from ..workload import PodPlan
from .container import drop_probes


def cache_mount(plan: PodPlan) -> Fields | None:
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
    cache = cache_mount(plan)
    if cache and plan.framework == VLLM:
        # after the sorted variables, as recorded; a repeated name can't be applied, and the last one counts
        put_named(main, "env", {"name": "VLLM_CACHE_ROOT", "value": cache["mountPath"]})


def _span_nodes(main: Fields, plan: PodPlan, role: Role, settings: Settings) -> None:
    if plan.is_launched_by_author:
        if plan.framework == VLLM and vllm.uses_processes(plan.hints):
            vllm.give_address(main)
    elif plan.framework in (VLLM, SGLANG):
        if plan.framework == VLLM:
            vllm.change_main(main, role, plan.hints, count_gpus(plan.component, plan.path, settings.claims))
        else:  # every node gets the first one's address, and its own rank
            flags = f"--dist-init-addr {role.host}:29500 --nnodes {role.nodes} --node-rank {role.rank}"
            add_flags(main, flags, SGLANG, shell=role.needs_shell)
        if not role.leader:
            drop_probes(main)
    elif plan.framework == TRTLLM:
        trtllm.change_main(main, role, settings.ssh_secret, count_gpus(plan.component, plan.path, settings.claims))


def change_pod(spec: Fields, main: Fields, plan: PodPlan, settings: Settings) -> None:
    """Change a pod spec for the framework, in place, if its replica has several pods."""
    if plan.role is None or plan.is_launched_by_author:
        return
    if plan.framework == VLLM:
        vllm.change_pod(spec, main, plan.role, plan.parent)
    elif plan.framework == TRTLLM:
        trtllm.change_pod(spec, settings.ssh_secret, trtllm.own_name(plan.parent) if settings.key_per_graph else settings.ssh_secret)
