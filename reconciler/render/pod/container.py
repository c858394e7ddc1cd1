"""The main container: the component type's default, overridden by the user's."""

from __future__ import annotations

from typing import Final

from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..framework import has_native_picker, path_of_main, runtime_of
from ..merge import merge_env, merge_override, object_items
from ..names import EPP, EPP_GRPC_PORT, FRONTEND, HTTP_PORT, MAIN, PICKER_CONFIG, PLANNER, POOL_GROUP, SYSTEM_PORT, WORKERS
from ..probes import KINDS, default_probes
from ..settings import Settings
from .env import NIXL_TELEMETRY_PORT, PLANNER_PORT, default_env
from .plan import PodPlan

PICKER_MOUNTS: Final[tuple[Fields, ...]] = (  # the first is the configuration
    {"name": "epp-config", "mountPath": "/etc/epp", "readOnly": True},
    {"name": "hf-cache", "mountPath": "/home/nonroot/.cache"},
)
_SHELL: Final = ("/bin/sh", "-c")


def default_container(plan: PodPlan, kind: str, settings: Settings, name: str = MAIN) -> Fields:
    """The default container of a component type, without an image. `name` is what discovery calls it."""
    out: Fields = {"name": name}
    if kind == FRONTEND:
        out |= {"command": ["python3"], "args": ["-m", "dynamo.frontend"], "ports": [port("http", HTTP_PORT)]}
    elif kind in WORKERS:
        out |= {"command": [*_SHELL], "ports": [port("system", SYSTEM_PORT), port("nixl", NIXL_TELEMETRY_PORT)]}
    elif kind == PLANNER:
        out |= {"command": [*_SHELL], "ports": [port("metrics", PLANNER_PORT), port("system", SYSTEM_PORT)]}
    elif kind == EPP:
        out |= _picker(plan, native=has_native_picker(plan.component, settings.line))
    else:
        out |= {"command": [*_SHELL]}
    probes = default_probes(kind, patient=bool(runtime_of(plan.component, settings.line)))
    return {**out, "env": default_env(plan, kind, settings, name), **probes}


def overlay_container(default: Fields, user: Fields) -> Fields:
    """The default container overridden by the user's: lists and probes are replaced, variables merge by name."""
    out = merge_override({name: value for name, value in default.items() if name not in KINDS}, {**user, "env": None})
    out["name"] = user.get("name") or default["name"]
    out["env"] = merge_env(object_items(default.get("env")), object_items(user.get("env")))
    for kind in KINDS:
        probe = user.get(kind) if user.get(kind) is not None else default.get(kind)
        out.pop(kind, None)
        if probe is not None:
            out[kind] = probe
    return out


def main_container(plan: PodPlan, user: Fields, settings: Settings, *, bare: bool) -> Fields:
    """The main container of a component; a `bare` one, beside a sidecar that has the defaults, is its author's alone.

    Raises: RenderError if a mount lacks a name or a path.
    """
    default = {} if bare else default_container(plan, plan.type, settings)
    if plan.is_launched_by_author:
        default = {name: value for name, value in default.items() if name not in ("command", "args")}
    out = {**user, "name": MAIN} if bare else overlay_container(default, {**user, "name": MAIN})
    for index, mount in enumerate(object_items(out.get("volumeMounts"))):
        for field in ("name", "mountPath"):
            if not mount.get(field):
                path = (*path_of_main(plan.component, plan.path), "volumeMounts", index, field)
                raise RenderError(path, "must not be empty in a mount of the main container")
    return out


def port(name: str, number: int) -> Fields:
    """A port of a container."""
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _picker(plan: PodPlan, *, native: bool) -> Fields:
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
        **({} if native else {"args": [word for flag in flags.items() for word in flag]}),
        "ports": [port("grpc", EPP_GRPC_PORT), port("grpc-health", 9003), port("metrics", 9090)],
        "volumeMounts": [dict(mount) for mount in PICKER_MOUNTS[native:]],
    }
