"""Containers of a pod: the component type's default and its environment, overridden by the user's.

So is the main one, the sidecar that the user named, as a frontend, and the sidecar `runtime`, which runs in place of the main one.
"""

from typing import Final

from ....conversion.lens.protocol import Fields
from ....policies.engines import ENGINES_SINCE, RUNTIME, SPREAD_FLAGS, find_sidecar
from .. import names
from ..discovery import choose_backend, is_per_container
from ..errors import RenderError
from ..framework import has_flag, has_native_picker, path_of_main, runtime_of
from ..merge import merge_env, merge_override, object_items
from ..settings import ETCD, KUBERNETES, Settings
from ..workload import PodPlan

KINDS: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_TELEMETRY_PORT: Final = 19090  # of NIXL
_PLANNER_PORT: Final = 9085
_SHELL: Final = ("/bin/sh", "-c")
# variables of the container that holds the engine
_OF_ENGINES: Final = frozenset(
    {
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS",
        "DYN_HEALTH_CHECK_ENABLED",
        "NIXL_TELEMETRY_ENABLE",
        "NIXL_TELEMETRY_EXPORTER",
        "NIXL_TELEMETRY_PROMETHEUS_PORT",
        "DYN_FORWARDPASS_METRIC_PORT",
    }
)
PARENT: Final = "DYN_PARENT_DGD_K8S_NAME"  # the graph of a pod, or its component where that belongs to none


def _default_env(plan: PodPlan, kind: str, settings: Settings, container: str) -> list[Fields]:
    """The variables of a container of a component type; a frontend sidecar gets the worker's namespace."""
    values = {
        "DYN_NAMESPACE": plan.dynamo_namespace,
        "DYN_COMPONENT": kind,
        PARENT: plan.parent,
        "DYN_PARENT_DGD_K8S_NAMESPACE": plan.namespace,
        **_discovery(plan, settings, container),
        **_make_typed_env(plan, kind, settings),
    }
    fields = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid"}
    return [
        *({"name": name, "value": value} if value else {"name": name} for name, value in values.items()),
        *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()),
    ]


def give_infrastructure(container: Fields, settings: Settings) -> None:
    """Give a container, in place, the addresses of services that the operator was configured with, unless its author sets them."""
    known = settings.infrastructure
    values = {
        "NATS_SERVER": known.nats_address,
        "ETCD_ENDPOINTS": known.etcd_address,
        "MODEL_EXPRESS_URL": known.model_express_url,
        "PROMETHEUS_ENDPOINT": known.prometheus_endpoint,
    }
    known_env = [{"name": name, "value": value} for name, value in values.items() if value]
    container["env"] = merge_env(known_env, object_items(container.get("env")))


def _discovery(plan: PodPlan, settings: Settings, container: str) -> dict[str, str]:
    # the runtime knows only etcd and Kubernetes
    out = {} if choose_backend(plan.annotations, settings) == ETCD else {"DYN_DISCOVERY_BACKEND": KUBERNETES}
    return {**out, "CONTAINER_NAME": container, "DYN_KUBE_DISCOVERY_MODE": "container"} if is_per_container(plan.annotations) else out


def _make_typed_env(plan: PodPlan, kind: str, settings: Settings) -> dict[str, str]:
    if kind == names.FRONTEND:
        return {"DYNAMO_PORT": str(names.HTTP_PORT), "DYN_HTTP_PORT": str(names.HTTP_PORT), "DYN_NAMESPACE_PREFIX": plan.dynamo_namespace}
    if kind in names.WORKERS:
        suffix = {"DYN_NAMESPACE_WORKER_SUFFIX": plan.worker_hash} if plan.worker_hash else {}
        return {
            "DYN_SYSTEM_ENABLED": "true",
            "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
            "DYN_SYSTEM_PORT": str(names.SYSTEM_PORT),
            "DYN_HEALTH_CHECK_ENABLED": "true" if runtime_of(plan.component, settings.line) else "false",
            "NIXL_TELEMETRY_ENABLE": "n",
            "NIXL_TELEMETRY_EXPORTER": "prometheus",
            "NIXL_TELEMETRY_PROMETHEUS_PORT": str(_TELEMETRY_PORT),
            "DYN_FORWARDPASS_METRIC_PORT": str(names.FORWARD_PASS_PORT),
            **suffix,
        }
    if kind == names.PLANNER:
        return {"DYN_SYSTEM_PORT": str(names.SYSTEM_PORT), "PLANNER_PROMETHEUS_PORT": str(_PLANNER_PORT)}
    if kind == names.EPP:
        return {
            "DYN_NAMESPACE_PREFIX": plan.dynamo_namespace,
            "USE_STREAMING": "true",
            "RUST_LOG": "debug,dynamo_llm::kv_router=trace",
            "DYN_ENFORCE_DISAGG": "false",
            **({"DYN_EPP_REPLICA_SYNC_PORT": "9092"} if has_native_picker(plan.component, settings.line) else {}),
        }
    return {}


def _default_container(plan: PodPlan, kind: str, settings: Settings, name: str = names.MAIN) -> Fields:
    """The default container of a component type, without an image. `name` is what discovery calls it."""
    out: Fields = {"name": name}
    if kind == names.FRONTEND:
        out |= {"command": ["python3"], "args": ["-m", "dynamo.frontend"], "ports": [port("http", names.HTTP_PORT)]}
    elif kind in names.WORKERS:
        out |= {"command": [*_SHELL], "ports": [port("system", names.SYSTEM_PORT), port("nixl", _TELEMETRY_PORT)]}
    elif kind == names.PLANNER:
        out |= {"command": [*_SHELL], "ports": [port("metrics", _PLANNER_PORT), port("system", names.SYSTEM_PORT)]}
    elif kind == names.EPP:
        out |= _picker(plan, native=has_native_picker(plan.component, settings.line))
    else:
        out |= {"command": [*_SHELL]}
    probes = _default_probes(kind, patient=bool(runtime_of(plan.component, settings.line)))
    return {**out, "env": _default_env(plan, kind, settings, name), **probes}


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


def make_main_container(plan: PodPlan, user: Fields, settings: Settings, *, bare: bool) -> Fields:
    """The main container; a `bare` one, beside a sidecar with the defaults, is its author's. Raises: RenderError if a mount lacks parts."""
    default = {} if bare else _default_container(plan, plan.type, settings)
    if plan.is_launched_by_author:
        default = {name: value for name, value in default.items() if name not in ("command", "args")}
    out = {**user, "name": names.MAIN} if bare else overlay_container(default, {**user, "name": names.MAIN})
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
        "--pool-group": names.POOL_GROUP,
        "-v": "4",
        "--zap-encoder": "json",
        "--grpc-port": str(names.EPP_GRPC_PORT),
        "--grpc-health-port": "9003",
        "--config-file": f"/etc/epp/{names.PICKER_CONFIG}",
    }
    ports = [port("grpc", names.EPP_GRPC_PORT), port("grpc-health", 9003), port("metrics", 9090)]
    config = {"name": "epp-config", "mountPath": "/etc/epp", "readOnly": True}
    cache = {"name": "hf-cache", "mountPath": "/home/nonroot/.cache"}
    if native:
        return {"ports": ports, "volumeMounts": [cache]}
    return {"args": [word for flag in flags.items() for word in flag], "ports": ports, "volumeMounts": [config, cache]}


def complete_frontend(spec: Fields, plan: PodPlan, inherited: list[Fields], settings: Settings) -> None:
    """Complete the frontend in a pod spec, in place, with the main container's mounts. Raises: RenderError if no container has its name."""
    name = plan.component.get("frontendSidecar")
    if not name:
        return
    containers = object_items(spec.get("containers"))
    index = next((index for index, container in enumerate(containers) if container.get("name") == name), None)
    if index is None:
        raise RenderError((*plan.path, "frontendSidecar"), f"must be the name of a container of the pod template, got {str(name)[:80]!r}")
    known_as = str(name) if settings.line >= ENGINES_SINCE else names.MAIN
    out = overlay_container(_default_container(plan, names.FRONTEND, settings, known_as), containers[index])
    give_infrastructure(out, settings)
    mounts = object_items(out.get("volumeMounts"))
    paths, called = {mount.get("mountPath") for mount in mounts}, {mount.get("name") for mount in mounts}
    mounts += [mount for mount in inherited if mount.get("mountPath") not in paths and mount.get("name") not in called]
    if mounts:
        out["volumeMounts"] = mounts
    containers[index] = out
    spec["containers"] = containers


def complete_runtime(spec: Fields, plan: PodPlan, settings: Settings) -> None:
    """Give the sidecar `runtime` of a pod spec, in place, the defaults that a main container has without it, or remove it from a worker."""
    sidecar = find_sidecar(settings.line, {**plan.component, "podTemplate": {"spec": spec}})
    if sidecar is None:
        return
    if plan.role is not None and not plan.role.leader and not has_flag(spec["containers"][0], SPREAD_FLAGS.get(plan.framework, "")):
        spec["initContainers"] = [container for container in object_items(spec["initContainers"]) if container is not sidecar]
        return  # only the leader serves the engine that spans the nodes
    default = {**_default_container(plan, plan.type, settings, RUNTIME), **_RUNTIME_PROBES, "ports": [port("system", names.SYSTEM_PORT)]}
    del default["command"]
    default["env"] = [variable for variable in default["env"] if variable["name"] not in _OF_ENGINES]
    sidecar.update(overlay_container(default, sidecar))
    give_infrastructure(sidecar, settings)


def _default_probes(kind: str, *, patient: bool) -> Fields:
    """The probes of a component type; none for the default type. A `patient` worker is asked three times before it is restarted."""
    if kind == names.FRONTEND:
        return {
            "livenessProbe": _http("/live", "http", initialDelaySeconds=15, periodSeconds=10, timeoutSeconds=1, failureThreshold=3),
            "readinessProbe": _http("/health", "http", initialDelaySeconds=10, periodSeconds=10, timeoutSeconds=3, failureThreshold=3),
        }
    if kind in names.WORKERS or kind == names.PLANNER:
        failures = 3 if patient and kind in names.WORKERS else 1
        return {
            "livenessProbe": _http("/live", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=failures),
            "readinessProbe": _http("/health", "system", periodSeconds=10, timeoutSeconds=4, failureThreshold=3),
            # two hours: large models take long to load
            "startupProbe": _http("/live", "system", periodSeconds=10, timeoutSeconds=5, failureThreshold=720),
        }
    if kind == names.EPP:
        handler = {"grpc": {"port": 9003, "service": "inference-extension"}}
        steady = {**handler, "initialDelaySeconds": 5, "periodSeconds": 10}
        return {
            "livenessProbe": steady,
            "readinessProbe": dict(steady),
            "startupProbe": {**handler, "periodSeconds": 10, "failureThreshold": 180},
        }
    return {}


def _http(path: str, port: str, **figures: int) -> Fields:
    # ports by name, so that users can change their numbers
    return {"httpGet": {"path": path, "port": port}, **figures}


# of the sidecar `runtime`: it has no weights to load, and the engine starts after it
_RUNTIME_PROBES: Final[Fields] = {
    "livenessProbe": _http("/live", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=3),
    "readinessProbe": _http("/health", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=3),
    "startupProbe": _http("/live", "system", periodSeconds=2, timeoutSeconds=1, failureThreshold=30),
}


def drop_probes(main: Fields) -> None:
    """Remove the probes of a container, in place: only the leader answers them."""
    for kind in KINDS:
        main.pop(kind, None)
