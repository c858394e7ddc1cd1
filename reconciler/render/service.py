"""Access to components: by a Service, an Ingress or Istio; the Services of models, and the pool of the endpoint picker."""

from collections.abc import Mapping
from typing import Final

from ...api.operator.controllers import Istio
from ...conversion.lens.protocol import Fields
from . import discovery, names
from .errors import RenderError
from .framework import has_native_picker
from .graph import Graph, Member, make_selector, object_name, read_template_labels
from .merge import object_items, string_map
from .objects import make_child
from .settings import Settings
from .workload import Workload, owning_graph
from .yaml_text import format_yaml

_MODEL: Final = "dynamo-model-"
_LOCAL: Final = "local"  # default suffix of hosts


def _is_served(kind: str, annotations: Mapping[str, str], settings: Settings) -> bool:
    """Whether a component of a type has a Service: discovery by Kubernetes and frontends need one."""
    return kind == names.FRONTEND or discovery.uses_kubernetes(annotations, settings)


def make_services(workload: Workload, settings: Settings, owner: Fields | None = None) -> list[Fields]:
    """Make the objects by which a component is reached, owned by its object without another `owner`.

    The Service of its model is the graph's, because components and generations may change.
    """
    out = [] if owning_graph(workload.object["metadata"]) else make_model_services(workload.spec, workload.object)
    owner = owner or workload.object
    out += _make_routes(workload.name, workload.type, workload.graph, workload.alpha, owner, settings)
    annotations = workload.template_annotations
    if not _is_served(workload.type, annotations, settings):
        return out
    labels = {**workload.labels, **discovery.make_labels(annotations, settings)}
    # selects both generations during a roll
    selector = {names.COMPONENT_TYPE: workload.type, names.NAMESPACE: workload.selected_namespace, names.COMPONENT: workload.component}
    if workload.nodes > 1:
        selector[names.ROLE] = names.LEADER
    name, spec = names.dns_name(workload.name), {"ports": [_port(workload.type)], "selector": selector}
    return [make_child("v1", "Service", name, labels=labels, annotations=workload.annotations, owner=owner, spec=spec), *out]


def make_grove_services(graph: Graph, member: Member, settings: Settings) -> list[Fields]:
    """Make what a component on Grove is reached by. Its Service follows the graph's annotations, not the pod template's."""
    out = make_model_services(member.fields, graph.object)
    out += _make_routes(object_name(graph, member), member.type, graph.name, member.alpha, graph.object, settings)
    if not _is_served(member.type, graph.annotations, settings):
        return out
    labels = {
        **string_map(graph.spec.get("labels")),
        **string_map(member.alpha.get("labels")),
        **read_template_labels(member),
        **discovery.make_labels(graph.annotations, settings),
    }
    name, spec = names.dns_name(object_name(graph, member)), {"ports": [_port(member.type)], "selector": make_selector(member)}
    return [make_child("v1", "Service", name, labels=labels, owner=graph.object, spec=spec), *out]


def _port(kind: str) -> Fields:
    """The port of a component's Service; it has no endpoints if the container lacks that port's name."""
    if kind == names.FRONTEND:
        return {"name": "http", "port": names.HTTP_PORT, "targetPort": "http", "protocol": "TCP"}
    if kind == names.EPP:
        return {"name": "grpc", "port": names.EPP_GRPC_PORT, "targetPort": names.EPP_GRPC_PORT, "protocol": "TCP", "appProtocol": "http2"}
    return {"name": "system", "port": names.SYSTEM_PORT, "targetPort": "system", "protocol": "TCP"}


def is_model_service(kind: str, name: str) -> bool:
    """Whether an object is the Service of a model, which graphs of a namespace share."""
    return kind == "Service" and name.startswith(_MODEL)


def make_model_services(component: Fields, owner: Fields) -> list[Fields]:
    """The headless Service of a component's model, if it names one; one for each model and namespace."""
    model = str((component.get("modelRef") or {}).get("name") or "")
    if not model:
        return []
    mark = {names.BASE_MODEL_HASH: names.digest(model)}
    port = {"name": "system", "port": names.SYSTEM_PORT, "targetPort": names.SYSTEM_PORT, "protocol": "TCP"}
    labels, annotations = {**mark, names.MANAGED: names.OPERATOR}, {names.BASE_MODEL: model}
    name, spec = f"{_MODEL}{names.digest(model)}", {"clusterIP": "None", "ports": [port], "selector": mark}
    return [make_child("v1", "Service", name, labels=labels, annotations=annotations, owner=owner, spec=spec)]


def _make_routes(service: str, kind: str, graph: str, alpha: Fields, owner: Fields, settings: Settings) -> list[Fields]:
    """Ingress and VirtualService to a Service, as a v1alpha1 service says; else, for frontends of a graph, as the configuration says."""
    ingress, ours, name = alpha.get("ingress"), settings.ingress, names.dns_name(service)
    if ingress is not None:
        if not ingress.get("enabled"):  # an empty one means none
            return []
        host = f"{ingress.get('hostPrefix') or ''}{ingress.get('host') or ''}.{ingress.get('hostSuffix') or _LOCAL}"
        class_name, tls = str(ingress.get("ingressControllerClassName") or ""), str((ingress.get("tls") or {}).get("secretName") or "")
        gateway = str(ingress.get("virtualServiceGateway") or "") if ingress.get("useVirtualService") else ""
    elif kind == names.FRONTEND and graph:
        host = f"{graph}.{ours.host_suffix or _LOCAL}"
        class_name, tls, gateway = ours.controller_class_name, ours.controller_tls_secret_name, ours.virtual_service_gateway
    else:
        return []
    out, to = [], {"number": names.HTTP_PORT}
    if class_name:
        paths = [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": name, "port": to}}}]
        spec: Fields = {"ingressClassName": class_name, "rules": [{"host": host, "http": {"paths": paths}}]}
        spec |= {"tls": [{"hosts": [host], "secretName": tls}]} if tls else {}
        out.append(make_child("networking.k8s.io/v1", "Ingress", name, owner=owner, spec=spec))
    if gateway and ours.virtual_service_gateway:  # without the operator's gateway VirtualServices have no effect
        http = [{"match": [{"uri": {"prefix": "/"}}], "route": [{"destination": {"host": name, "port": to}}]}]
        spec = {"hosts": [host], "gateways": [gateway], "http": http}
        out.append(make_child("networking.istio.io/v1beta1", "VirtualService", name, owner=owner, spec=spec))
    return out


def make_picker_objects(graph: Graph, settings: Settings) -> list[Fields]:
    """Configuration, pool and mesh rule of the graph's picker. Raises: RenderError if the picker has no configuration."""
    picker = graph.picker
    if picker is None:
        return []
    owner, service = graph.object, object_name(graph, picker)
    marks = {names.GRAPH_NAME: graph.name, names.COMPONENT: picker.name, names.COMPONENT_TYPE: names.EPP}
    out = []
    if not has_native_picker(picker.fields, settings.line) and (config := _config(picker)) is not None:
        data = {names.PICKER_CONFIG: format_yaml(_add_types(config))}
        out.append(make_child("v1", "ConfigMap", f"{graph.name}-epp-config", labels=marks, owner=owner, data=data))
    spec: Fields = {
        "targetPorts": [{"number": names.HTTP_PORT}],
        "selector": {"matchLabels": {names.COMPONENT_CLASS: names.WORKER, names.NAMESPACE: picker.dynamo_namespace}},
        "endpointPickerRef": {"kind": "Service", "name": service, "port": {"number": names.EPP_GRPC_PORT}},
    }
    out.append(make_child(f"{names.POOL_GROUP}/v1", "InferencePool", f"{graph.name}-pool", labels=marks, owner=owner, spec=spec))
    if settings.istio and settings.mesh is not None:
        # the picker uses TLS itself: without the rule proxies would wrap it twice
        name = names.dns_name(service)
        spec = {"host": f"{name}.{graph.namespace}.svc.cluster.local", "trafficPolicy": {"tls": _tls(settings.mesh)}}
        out.append(make_child("networking.istio.io/v1beta1", "DestinationRule", name, owner=owner, spec=spec))
    return out


def _config(picker: Member) -> Fields | None:
    """Return what the picker's ConfigMap is to hold; None where the graph names one that is there."""
    epp_config = picker.fields.get("eppConfig") or {}
    config: Fields | None = epp_config.get("config")
    if config is None and not (epp_config.get("configMapRef") or {}).get("name"):
        raise RenderError((*picker.path, "eppConfig"), "must hold config or name a ConfigMap in configMapRef")
    return config


def _add_types(config: Fields) -> Fields:
    """A configuration as the Go operator writes it, with its types' required fields. The picker reads both."""
    profiles = [_profile(profile) for profile in object_items(config.get("schedulingProfiles"))]
    plugins = [{"name": "", "parameters": None, **plugin} for plugin in object_items(config.get("plugins"))]
    lists = {"plugins": plugins, "schedulingProfiles": profiles}
    out = {**config, **{name: None if config.get(name) is None else made for name, made in lists.items()}}
    out |= {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}
    detector = config.get("saturationDetector")
    return out if detector is None else {**out, "saturationDetector": {"metricsStalenessThreshold": "0s", **detector}}


def _profile(profile: Fields) -> Fields:
    plugins = profile.get("plugins")
    return {**profile, "plugins": None if plugins is None else [{"weight": None, **plugin} for plugin in object_items(plugins)]}


def _tls(mesh: Istio) -> Fields:
    out: Fields = {"mode": mesh.tls_mode, "insecureSkipVerify": mesh.insecure_skip_verify}
    if mesh.tls_mode == "MUTUAL":
        out |= {"clientCertificate": mesh.client_certificate, "privateKey": mesh.private_key, "caCertificates": mesh.ca_certificates}
    return out
