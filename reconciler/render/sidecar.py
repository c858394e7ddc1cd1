"""A frontend in the worker's pod: the container that the user named, completed as a frontend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.merge import items, merged_env
from dynamo_webhooks.reconciler.render.names import FRONTEND
from dynamo_webhooks.reconciler.render.pod.container import default_container, overlaid
from dynamo_webhooks.reconciler.render.pod.env import infrastructure_env

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.pod.plan import PodPlan
    from dynamo_webhooks.reconciler.render.settings import Settings


def complete(spec: Fields, plan: PodPlan, inherited: list[Fields], settings: Settings) -> None:
    """Complete the sidecar in a pod spec, in place, with the main container's mounts.

    Raises: RenderError if no container has the name.
    """
    name = plan.component.get("frontendSidecar")
    if not name:
        return
    containers = items(spec.get("containers"))
    index = next((index for index, one in enumerate(containers) if one.get("name") == name), None)
    if index is None:
        raise RenderError((*plan.path, "frontendSidecar"), f"must be the name of a container of the pod template, got {str(name)[:80]!r}")
    out = overlaid(default_container(plan, FRONTEND, settings), containers[index])
    out["env"] = merged_env(infrastructure_env(settings), items(out.get("env")))
    mounts = items(out.get("volumeMounts"))
    paths, names = {one.get("mountPath") for one in mounts}, {one.get("name") for one in mounts}
    mounts += [one for one in inherited if one.get("mountPath") not in paths and one.get("name") not in names]
    if mounts:
        out["volumeMounts"] = mounts
    containers[index] = out
    spec["containers"] = containers
