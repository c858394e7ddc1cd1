"""The endpoint picker of a graph: configuration and inference pool. Its pod is a usual one."""

from ...api.operator.controllers import Istio
from ...conversion.lens.protocol import Fields
from . import names
from .errors import RenderError
from .framework import has_native_picker
from .graph import Graph, Member, object_name
from .merge import object_items
from .objects import make_child, yaml_text
from .settings import Settings


def picker_objects(graph: Graph, settings: Settings) -> list[Fields]:
    """Configuration, pool and mesh rule of the graph's picker. Raises: RenderError if the picker has no configuration."""
    picker = graph.picker
    if picker is None:
        return []
    owner, service = graph.object, object_name(graph, picker)
    marks = {names.GRAPH_NAME: graph.name, names.COMPONENT: picker.name, names.COMPONENT_TYPE: names.EPP}
    out = []
    if not has_native_picker(picker.fields, settings.line) and (config := _config(picker)) is not None:
        data = {names.PICKER_CONFIG: yaml_text(_typed(config))}
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
    """What the picker's ConfigMap is to hold; None where the graph names one that is there."""
    asked = picker.fields.get("eppConfig") or {}
    config: Fields | None = asked.get("config")
    if config is None and not (asked.get("configMapRef") or {}).get("name"):
        raise RenderError((*picker.path, "eppConfig"), "must hold config or name a ConfigMap in configMapRef")
    return config


def _typed(config: Fields) -> Fields:
    """A configuration as the Go operator writes it, with its types' required fields. The picker reads both."""
    profiles = [_profile(one) for one in object_items(config.get("schedulingProfiles"))]
    plugins = [{"name": "", "parameters": None, **one} for one in object_items(config.get("plugins"))]
    lists = {"plugins": plugins, "schedulingProfiles": profiles}
    out = {**config, **{name: None if config.get(name) is None else made for name, made in lists.items()}}
    out |= {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}
    detector = config.get("saturationDetector")
    return out if detector is None else {**out, "saturationDetector": {"metricsStalenessThreshold": "0s", **detector}}


def _profile(profile: Fields) -> Fields:
    plugins = profile.get("plugins")
    return {**profile, "plugins": None if plugins is None else [{"weight": None, **one} for one in object_items(plugins)]}


def _tls(mesh: Istio) -> Fields:
    out: Fields = {"mode": mesh.tls_mode, "insecureSkipVerify": mesh.insecure_skip_verify}
    if mesh.tls_mode == "MUTUAL":
        out |= {"clientCertificate": mesh.client_certificate, "privateKey": mesh.private_key, "caCertificates": mesh.ca_certificates}
    return out
