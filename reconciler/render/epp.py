"""The endpoint picker of a graph: account, configuration and inference pool. Its pod is a usual one."""

from __future__ import annotations

from typing import Final

from ...api.operator.controllers import Istio
from ...conversion.lens.protocol import Fields
from . import names
from .errors import RenderError
from .framework import has_native_picker
from .graph import Graph, Member, object_name
from .merge import object_items
from .objects import make_child
from .planner import make_shared_account
from .settings import Settings
from .yaml_text import yaml_text

_CONFIG: Final = {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}
_MUTUAL: Final = "MUTUAL"


def rights(graph: Graph, settings: Settings) -> list[Fields]:
    """The picker's account, if the graph has a picker."""
    return make_shared_account(names.PICKER_ACCOUNT, settings.epp_role, graph.namespace, settings) if graph.picker else []


def picker_objects(graph: Graph, settings: Settings) -> list[Fields]:
    """Configuration, pool and mesh rule of the graph's picker.

    Raises: RenderError if the picker has no configuration.
    """
    picker = graph.picker
    if picker is None:
        return []
    config = [] if has_native_picker(picker.fields, settings.line) else _config(graph, picker)
    return [*config, _pool(graph, picker), *_mesh_rule(graph, picker, settings)]


def _labels(graph: Graph, picker: Member) -> dict[str, str]:
    return {names.GRAPH_NAME: graph.name, names.COMPONENT: picker.name, names.COMPONENT_TYPE: names.EPP}


def _config(graph: Graph, picker: Member) -> list[Fields]:
    asked = picker.fields.get("eppConfig") or {}
    config = asked.get("config")
    if config is None:
        if (asked.get("configMapRef") or {}).get("name"):
            return []
        raise RenderError((*picker.path, "eppConfig"), "must hold config or name a ConfigMap in configMapRef")
    name, marks, data = f"{graph.name}-epp-config", _labels(graph, picker), {names.PICKER_CONFIG: yaml_text(_typed(config))}
    return [make_child("v1", "ConfigMap", name, graph.namespace, labels=marks, owner=graph.object, data=data)]


def _typed(config: Fields) -> Fields:
    """A configuration as the Go operator writes it, with its types' required fields. The picker reads both."""
    profiles = [_profile(one) for one in object_items(config.get("schedulingProfiles"))]
    plugins = [{"name": "", "parameters": None, **one} for one in object_items(config.get("plugins"))]
    lists = {"plugins": plugins, "schedulingProfiles": profiles}
    out = {**config, **{name: None if config.get(name) is None else made for name, made in lists.items()}, **_CONFIG}
    detector = config.get("saturationDetector")
    return out if detector is None else {**out, "saturationDetector": {"metricsStalenessThreshold": "0s", **detector}}


def _profile(profile: Fields) -> Fields:
    plugins = profile.get("plugins")
    return {**profile, "plugins": None if plugins is None else [{"weight": None, **one} for one in object_items(plugins)]}


def _pool(graph: Graph, picker: Member) -> Fields:
    name, marks, service = f"{graph.name}-pool", _labels(graph, picker), object_name(graph, picker)
    spec = {
        "targetPorts": [{"number": names.HTTP_PORT}],
        "selector": {"matchLabels": {names.COMPONENT_CLASS: names.WORKER, names.NAMESPACE: picker.dynamo_namespace}},
        "endpointPickerRef": {"kind": "Service", "name": service, "port": {"number": names.EPP_GRPC_PORT}},
    }
    return make_child(f"{names.POOL_GROUP}/v1", "InferencePool", name, graph.namespace, labels=marks, owner=graph.object, spec=spec)


def _mesh_rule(graph: Graph, picker: Member, settings: Settings) -> list[Fields]:
    """The mesh rule for the picker, which uses TLS itself: without it proxies would wrap it twice."""
    if not settings.istio or settings.mesh is None:
        return []
    name = names.dns_name(object_name(graph, picker))
    spec = {"host": f"{name}.{graph.namespace}.svc.cluster.local", "trafficPolicy": {"tls": _tls(settings.mesh)}}
    return [make_child("networking.istio.io/v1beta1", "DestinationRule", name, graph.namespace, owner=graph.object, spec=spec)]


def _tls(mesh: Istio) -> Fields:
    out: Fields = {"mode": mesh.tls_mode, "insecureSkipVerify": mesh.insecure_skip_verify}
    if mesh.tls_mode == _MUTUAL:
        out |= {
            "clientCertificate": mesh.client_certificate,
            "privateKey": mesh.private_key,
            "caCertificates": mesh.ca_certificates,
        }
    return out
