"""The Service of each component, and the headless one of each model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...conversion.lens.protocol import Fields
from . import discovery, names
from .objects import make_child
from .settings import Settings
from .workload import Workload

_MODEL: Final = "dynamo-model-"


def is_served(kind: str, annotations: Mapping[str, str], settings: Settings) -> bool:
    """Whether a component of a type has a Service: discovery by Kubernetes and frontends need one."""
    return kind == names.FRONTEND or discovery.by_kubernetes(annotations, settings)


def services(workload: Workload, settings: Settings) -> list[Fields]:
    """The Service of a component, if it has one."""
    annotations = workload.template_annotations
    if not is_served(workload.type, annotations, settings):
        return []
    labels = {**workload.labels, **discovery.labels(annotations, settings)}
    # selects both generations during a roll
    selector = {names.COMPONENT_TYPE: workload.type, names.NAMESPACE: workload.selected_namespace, names.COMPONENT: workload.component}
    if workload.nodes > 1:
        selector[names.ROLE] = names.LEADER
    out = make_child(
        "v1",
        "Service",
        names.dns_name(workload.name),
        workload.namespace,
        labels=labels,
        annotations=workload.annotations,
        owner=workload.object,
        spec={"ports": [service_port(workload.type)], "selector": selector},
    )
    return [out]


def service_port(kind: str) -> Fields:
    """The port of a component's Service; it has no endpoints if the container lacks that port's name."""
    if kind == names.FRONTEND:
        return {"name": "http", "port": names.HTTP_PORT, "targetPort": "http", "protocol": "TCP"}
    if kind == names.EPP:
        return {"name": "grpc", "port": names.EPP_GRPC_PORT, "targetPort": names.EPP_GRPC_PORT, "protocol": "TCP", "appProtocol": "http2"}
    return {"name": "system", "port": names.SYSTEM_PORT, "targetPort": "system", "protocol": "TCP"}


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
    mark = {names.BASE_MODEL_HASH: names.digest(model)}
    port = {"name": "system", "port": names.SYSTEM_PORT, "targetPort": names.SYSTEM_PORT, "protocol": "TCP"}
    out = make_child(
        "v1",
        "Service",
        f"{_MODEL}{names.digest(model)}",
        namespace,
        labels={**mark, names.MANAGED: names.OPERATOR},
        annotations={names.BASE_MODEL: model},
        owner=owner,
        spec={"clusterIP": "None", "ports": [port], "selector": mark},
    )
    return [out]
