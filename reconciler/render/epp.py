"""The endpoint picker of a graph: account, configuration and inference pool. Its pod is a usual one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.graph import object_name
from dynamo_webhooks.reconciler.render.merge import items
from dynamo_webhooks.reconciler.render.names import (
    COMPONENT,
    COMPONENT_CLASS,
    COMPONENT_TYPE,
    EPP,
    EPP_GRPC_PORT,
    GRAPH_NAME,
    HTTP_PORT,
    NAMESPACE,
    PICKER_ACCOUNT,
    PICKER_CONFIG,
    POOL_GROUP,
    WORKER,
    dns,
)
from dynamo_webhooks.reconciler.render.objects import child
from dynamo_webhooks.reconciler.render.planner import shared_account
from dynamo_webhooks.reconciler.render.yaml_text import yaml_text

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph, Member
    from dynamo_webhooks.reconciler.render.settings import Mesh, Settings

_CONFIG: Final = {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}
_ISTIO: Final = "istio"
_MUTUAL: Final = "MUTUAL"


def rights(graph: Graph, settings: Settings) -> list[Fields]:
    """The picker's account, if the graph has a picker."""
    return shared_account(PICKER_ACCOUNT, settings.epp_role, graph.namespace, settings) if graph.picker else []


def picker_objects(graph: Graph, settings: Settings) -> list[Fields]:
    """Configuration, pool and mesh rule of the graph's picker.

    Raises: RenderError if the picker has no configuration.
    """
    picker = graph.picker
    if picker is None:
        return []
    return [*_config(graph, picker), _pool(graph, picker), *_mesh_rule(graph, picker, settings)]


def _labels(graph: Graph, picker: Member) -> dict[str, str]:
    return {GRAPH_NAME: graph.name, COMPONENT: picker.name, COMPONENT_TYPE: EPP}


def _config(graph: Graph, picker: Member) -> list[Fields]:
    asked = picker.fields.get("eppConfig") or {}
    config = asked.get("config")
    if config is None:
        if (asked.get("configMapRef") or {}).get("name"):
            return []
        raise RenderError((*picker.path, "eppConfig"), "must hold config or name a ConfigMap in configMapRef")
    out = child("v1", "ConfigMap", f"{graph.name}-epp-config", graph.namespace, labels=_labels(graph, picker), owner=graph.object)
    out["data"] = {PICKER_CONFIG: yaml_text(_typed(config))}
    return [out]


def _typed(config: Fields) -> Fields:
    """A configuration as the Go operator writes it, with its types' required fields. The picker reads both."""
    profiles = [_profile(one) for one in items(config.get("schedulingProfiles"))]
    plugins = [{"name": "", "parameters": None, **one} for one in items(config.get("plugins"))]
    lists = {"plugins": plugins, "schedulingProfiles": profiles}
    out = {**config, **{name: None if config.get(name) is None else made for name, made in lists.items()}, **_CONFIG}
    detector = config.get("saturationDetector")
    return out if detector is None else {**out, "saturationDetector": {"metricsStalenessThreshold": "0s", **detector}}


def _profile(profile: Fields) -> Fields:
    plugins = profile.get("plugins")
    return {**profile, "plugins": None if plugins is None else [{"weight": None, **one} for one in items(plugins)]}


def _pool(graph: Graph, picker: Member) -> Fields:
    marks = _labels(graph, picker)
    out = child(f"{POOL_GROUP}/v1", "InferencePool", f"{graph.name}-pool", graph.namespace, labels=marks, owner=graph.object)
    service = object_name(graph, picker)
    out["spec"] = {
        "targetPorts": [{"number": HTTP_PORT}],
        "selector": {"matchLabels": {COMPONENT_CLASS: WORKER, NAMESPACE: picker.dynamo_namespace}},
        "endpointPickerRef": {"kind": "Service", "name": service, "port": {"number": EPP_GRPC_PORT}},
    }
    return out


def _mesh_rule(graph: Graph, picker: Member, settings: Settings) -> list[Fields]:
    """The mesh rule for the picker, which uses TLS itself: without it proxies would wrap it twice."""
    if not settings.istio or settings.mesh.provider != _ISTIO:
        return []
    name = dns(object_name(graph, picker))
    out = child("networking.istio.io/v1beta1", "DestinationRule", name, graph.namespace, owner=graph.object)
    out["spec"] = {"host": f"{name}.{graph.namespace}.svc.cluster.local", "trafficPolicy": {"tls": _tls(settings.mesh)}}
    return [out]


def _tls(mesh: Mesh) -> Fields:
    out: Fields = {"mode": mesh.tls_mode, "insecureSkipVerify": mesh.insecure_skip_verify}
    if mesh.tls_mode == _MUTUAL:
        out |= {
            "clientCertificate": mesh.client_certificate,
            "privateKey": mesh.private_key,
            "caCertificates": mesh.ca_certificates,
        }
    return out
