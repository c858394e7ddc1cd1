"""Sidecars of a worker: the container that the user named, completed as a frontend, and `runtime`, which runs in place of the main one."""

from __future__ import annotations

from ....conversion.lens.protocol import Fields
from ....policies.engines import ENGINES_SINCE, RUNTIME, find_sidecar
from ..errors import RenderError
from ..merge import merge_env, object_items
from ..names import FRONTEND, MAIN
from ..probes import RUNTIME_PROBES
from ..settings import Settings
from .container import default_container, overlay_container
from .env import infrastructure_env
from .plan import PodPlan


def complete(spec: Fields, plan: PodPlan, inherited: list[Fields], settings: Settings) -> None:
    """Complete the sidecar in a pod spec, in place, with the main container's mounts.

    Raises: RenderError if no container has the name.
    """
    name = plan.component.get("frontendSidecar")
    if not name:
        return
    containers = object_items(spec.get("containers"))
    index = next((index for index, one in enumerate(containers) if one.get("name") == name), None)
    if index is None:
        raise RenderError((*plan.path, "frontendSidecar"), f"must be the name of a container of the pod template, got {str(name)[:80]!r}")
    called = str(name) if settings.line >= ENGINES_SINCE else MAIN
    out = overlay_container(default_container(plan, FRONTEND, settings, called), containers[index])
    out["env"] = merge_env(infrastructure_env(settings), object_items(out.get("env")))
    mounts = object_items(out.get("volumeMounts"))
    paths, names = {one.get("mountPath") for one in mounts}, {one.get("name") for one in mounts}
    mounts += [one for one in inherited if one.get("mountPath") not in paths and one.get("name") not in names]
    if mounts:
        out["volumeMounts"] = mounts
    containers[index] = out
    spec["containers"] = containers


def complete_runtime(spec: Fields, plan: PodPlan, settings: Settings) -> None:
    """Give the sidecar `runtime` of a pod spec, in place, the defaults that a main container has without it."""
    found = find_sidecar(settings.line, {**plan.component, "podTemplate": {"spec": spec}})
    if found is None:
        return
    default = {**default_container(plan, plan.type, settings, RUNTIME), **RUNTIME_PROBES}
    if not found.get("command") and not found.get("args"):
        del default["command"]  # a shell without a script would hide what the image starts
    found.update(overlay_container(default, found))
    found["env"] = merge_env(infrastructure_env(settings), object_items(found.get("env")))
