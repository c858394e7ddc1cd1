"""The main container: the component type's default, overridden by the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.framework import path_of_main
from dynamo_webhooks.reconciler.render.merge import items, merged, merged_env
from dynamo_webhooks.reconciler.render.names import (
    EPP,
    EPP_GRPC_PORT,
    FRONTEND,
    HTTP_PORT,
    MAIN,
    PICKER_CONFIG,
    PLANNER,
    POOL_GROUP,
    SYSTEM_PORT,
    WORKERS,
)
from dynamo_webhooks.reconciler.render.pod.env import NIXL_TELEMETRY_PORT, PLANNER_PORT, default_env
from dynamo_webhooks.reconciler.render.pod.probes import KINDS, default_probes

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.pod.plan import PodPlan
    from dynamo_webhooks.reconciler.render.settings import Settings

PICKER_MOUNTS: Final[tuple[Fields, ...]] = (
    {"name": "epp-config", "mountPath": "/etc/epp", "readOnly": True},
    {"name": "hf-cache", "mountPath": "/home/nonroot/.cache"},
)
_SHELL: Final = ("/bin/sh", "-c")


def default_container(plan: PodPlan, kind: str, settings: Settings) -> Fields:
    """The default container of a component type, without an image."""
    out: Fields = {"name": MAIN}
    if kind == FRONTEND:
        out |= {"command": ["python3"], "args": ["-m", "dynamo.frontend"], "ports": [port("http", HTTP_PORT)]}
    elif kind in WORKERS:
        out |= {"command": [*_SHELL], "ports": [port("system", SYSTEM_PORT), port("nixl", NIXL_TELEMETRY_PORT)]}
    elif kind == PLANNER:
        out |= {"command": [*_SHELL], "ports": [port("metrics", PLANNER_PORT), port("system", SYSTEM_PORT)]}
    elif kind == EPP:
        out |= _picker(plan)
    else:
        out |= {"command": [*_SHELL]}
    return {**out, "env": default_env(plan, kind, settings), **default_probes(kind)}


def overlaid(default: Fields, user: Fields) -> Fields:
    """The default container overridden by the user's: lists and probes are replaced, variables merge by name."""
    out = merged({name: value for name, value in default.items() if name not in KINDS}, {**user, "env": None})
    out["name"] = user.get("name") or default["name"]
    out["env"] = merged_env(items(default.get("env")), items(user.get("env")))
    for kind in KINDS:
        probe = user.get(kind) if user.get(kind) is not None else default.get(kind)
        out.pop(kind, None)
        if probe is not None:
            out[kind] = probe
    return out


def main_container(plan: PodPlan, user: Fields, settings: Settings) -> Fields:
    """The main container of a component.

    Raises: RenderError if a mount lacks a name or a path.
    """
    out = overlaid(default_container(plan, plan.type, settings), {**user, "name": MAIN})
    for index, mount in enumerate(items(out.get("volumeMounts"))):
        for field in ("name", "mountPath"):
            if not mount.get(field):
                path = (*path_of_main(plan.component, plan.path), "volumeMounts", index, field)
                raise RenderError(path, "must not be empty in a mount of the main container")
    return out


def port(name: str, number: int) -> Fields:
    """A port of a container."""
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _picker(plan: PodPlan) -> Fields:
    flags = {
        "--pool-name": f"{plan.parent}-pool",
        "--pool-namespace": plan.namespace,
        "--pool-group": POOL_GROUP,
        "-v": "4",
        "--zap-encoder": "json",
        "--grpc-port": str(EPP_GRPC_PORT),
        "--grpc-health-port": "9003",
        "--config-file": f"/etc/epp/{PICKER_CONFIG}",
    }
    return {
        "args": [word for flag in flags.items() for word in flag],
        "ports": [port("grpc", EPP_GRPC_PORT), port("grpc-health", 9003), port("metrics", 9090)],
        "volumeMounts": [dict(mount) for mount in PICKER_MOUNTS],
    }
