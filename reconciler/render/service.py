"""The Service of each component, and the headless one of each model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render import discovery
from dynamo_webhooks.reconciler.render.names import (
    BASE_MODEL,
    BASE_MODEL_HASH,
    COMPONENT,
    COMPONENT_TYPE,
    EPP,
    EPP_GRPC_PORT,
    FRONTEND,
    HTTP_PORT,
    LEADER,
    MANAGED,
    NAMESPACE,
    OPERATOR,
    ROLE,
    SYSTEM_PORT,
    digest,
    dns,
)
from dynamo_webhooks.reconciler.render.objects import child

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.settings import Settings
    from dynamo_webhooks.reconciler.render.workload import Workload

_MODEL: Final = "dynamo-model-"


def is_served(kind: str, annotations: Mapping[str, str], settings: Settings) -> bool:
    """Whether a component of a type has a Service: discovery by Kubernetes and frontends need one."""
    return kind == FRONTEND or discovery.by_kubernetes(annotations, settings)


def services(workload: Workload, settings: Settings) -> list[Fields]:
    """The Service of a component, if it has one."""
    annotations = workload.template_annotations
    if not is_served(workload.type, annotations, settings):
        return []
    labels = {**workload.labels, **discovery.labels(annotations, settings)}
    out = child(
        "v1",
        "Service",
        dns(workload.name),
        workload.namespace,
        labels=labels,
        annotations=workload.annotations,
        owner=workload.object,
    )
    # selects both generations during a roll
    selector = {COMPONENT_TYPE: workload.type, NAMESPACE: workload.selected_namespace, COMPONENT: workload.component}
    if workload.nodes > 1:
        selector[ROLE] = LEADER
    out["spec"] = {"ports": [service_port(workload.type)], "selector": selector}
    return [out]


def service_port(kind: str) -> Fields:
    """The port of a component's Service; it has no endpoints if the container lacks that port's name."""
    if kind == FRONTEND:
        return {"name": "http", "port": HTTP_PORT, "targetPort": "http", "protocol": "TCP"}
    if kind == EPP:
        return {"name": "grpc", "port": EPP_GRPC_PORT, "targetPort": EPP_GRPC_PORT, "protocol": "TCP", "appProtocol": "http2"}
    return {"name": "system", "port": SYSTEM_PORT, "targetPort": "system", "protocol": "TCP"}


def is_model_service(kind: str, name: str) -> bool:
    """Whether an object is the Service of a model, which graphs of a namespace share."""
    return kind == "Service" and name.startswith(_MODEL)


def model_services(component: Fields, namespace: str, owner: Fields) -> list[Fields]:
    """The headless Service of a component's model, if it names one; one for each model and namespace.

    The graph owns it, because components and generations may change.
    """
    model = str((component.get("modelRef") or {}).get("name") or "")
    if not model:
        return []
    mark = {BASE_MODEL_HASH: digest(model)}
    out = child(
        "v1",
        "Service",
        f"{_MODEL}{digest(model)}",
        namespace,
        labels={**mark, MANAGED: OPERATOR},
        annotations={BASE_MODEL: model},
        owner=owner,
    )
    port = {"name": "system", "port": SYSTEM_PORT, "targetPort": SYSTEM_PORT, "protocol": "TCP"}
    out["spec"] = {"clusterIP": "None", "ports": [port], "selector": mark}
    return [out]
