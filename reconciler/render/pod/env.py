"""The default environment of containers, overridden by the user's."""

from __future__ import annotations

from ....conversion.lens.protocol import Fields
from ..discovery import backend, in_containers
from ..framework import has_native_picker, runtime_of
from ..names import EPP, FORWARD_PASS_PORT, FRONTEND, HTTP_PORT, MAIN, PLANNER, SYSTEM_PORT, WORKERS
from ..settings import ETCD, KUBERNETES, Settings
from .plan import PodPlan

NIXL_TELEMETRY_PORT = 19090
PLANNER_PORT = 9085
PARENT = "DYN_PARENT_DGD_K8S_NAME"  # the graph of a pod, or its component where that belongs to none


def default_env(plan: PodPlan, kind: str, settings: Settings, container: str = MAIN) -> list[Fields]:
    """The variables of a container of a component type; a frontend sidecar gets the worker's namespace."""
    values = {
        "DYN_NAMESPACE": plan.dynamo_namespace,
        "DYN_COMPONENT": kind,
        PARENT: plan.parent,
        "DYN_PARENT_DGD_K8S_NAMESPACE": plan.namespace,
        **_discovery(plan, settings, container),
        **_typed(plan, kind, settings),
    }
    fields = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid"}
    return [{"name": name, "value": value} if value else {"name": name} for name, value in values.items()] + [
        from_field(name, path) for name, path in fields.items()
    ]


def infrastructure_env(settings: Settings) -> list[Fields]:
    """The addresses of services that the operator was configured with."""
    known = settings.infrastructure
    values = {
        "NATS_SERVER": known.nats_address,
        "ETCD_ENDPOINTS": known.etcd_address,
        "MODEL_EXPRESS_URL": known.model_express_url,
        "PROMETHEUS_ENDPOINT": known.prometheus_endpoint,
    }
    return [{"name": name, "value": value} for name, value in values.items() if value]


def from_field(name: str, path: str) -> Fields:
    """A variable that takes its value from a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _discovery(plan: PodPlan, settings: Settings, container: str) -> dict[str, str]:
    # the runtime knows only etcd and Kubernetes
    out = {} if backend(plan.annotations, settings) == ETCD else {"DYN_DISCOVERY_BACKEND": KUBERNETES}
    return {**out, "CONTAINER_NAME": container, "DYN_KUBE_DISCOVERY_MODE": "container"} if in_containers(plan.annotations) else out


def _typed(plan: PodPlan, kind: str, settings: Settings) -> dict[str, str]:
    if kind == FRONTEND:
        return {"DYNAMO_PORT": str(HTTP_PORT), "DYN_HTTP_PORT": str(HTTP_PORT), "DYN_NAMESPACE_PREFIX": plan.dynamo_namespace}
    if kind in WORKERS:
        suffix = {"DYN_NAMESPACE_WORKER_SUFFIX": plan.worker_hash} if plan.worker_hash else {}
        return {
            "DYN_SYSTEM_ENABLED": "true",
            "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
            "DYN_SYSTEM_PORT": str(SYSTEM_PORT),
            "DYN_HEALTH_CHECK_ENABLED": "true" if runtime_of(plan.component, settings.line) else "false",
            "NIXL_TELEMETRY_ENABLE": "n",
            "NIXL_TELEMETRY_EXPORTER": "prometheus",
            "NIXL_TELEMETRY_PROMETHEUS_PORT": str(NIXL_TELEMETRY_PORT),
            "DYN_FORWARDPASS_METRIC_PORT": str(FORWARD_PASS_PORT),
            **suffix,
        }
    if kind == PLANNER:
        return {"DYN_SYSTEM_PORT": str(SYSTEM_PORT), "PLANNER_PROMETHEUS_PORT": str(PLANNER_PORT)}
    if kind == EPP:
        return {
            "DYN_NAMESPACE_PREFIX": plan.dynamo_namespace,
            "USE_STREAMING": "true",
            "RUST_LOG": "debug,dynamo_llm::kv_router=trace",
            "DYN_ENFORCE_DISAGG": "false",
            **({"DYN_EPP_REPLICA_SYNC_PORT": "9092"} if has_native_picker(plan.component, settings.line) else {}),
        }
    return {}
