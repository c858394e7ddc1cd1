"""The Ingress of a component, or Istio's VirtualService."""

from __future__ import annotations

from typing import NamedTuple

from ...conversion.lens.protocol import Fields
from .names import FRONTEND, HTTP_PORT, dns_name
from .objects import make_child
from .settings import Settings

_LOCAL = "local"  # default suffix of hosts


class _Wanted(NamedTuple):
    host: str
    class_name: str
    tls_secret: str
    gateway: str


def ways_in(service: str, namespace: str, kind: str, graph: str, alpha: Fields, owner: Fields, settings: Settings) -> list[Fields]:
    """Ingress and VirtualService of a component whose Service has the given name, if wanted.

    A v1alpha1 service overrides the operator's configuration, which applies to frontends of a graph.
    """
    said, wanted = alpha.get("ingress"), None
    if said is not None:  # an empty one means none
        wanted = _said(said)
    elif kind == FRONTEND and graph:
        wanted = _configured(graph, settings)
    if wanted is None:
        return []
    out = [_ingress(service, namespace, owner, wanted)] if wanted.class_name else []
    if wanted.gateway and settings.ingress.virtual_service_gateway:  # without the operator's gateway VirtualServices have no effect
        out.append(_virtual_service(service, namespace, owner, wanted))
    return out


def _said(said: Fields) -> _Wanted | None:
    if not said.get("enabled"):
        return None
    host = f"{said.get('hostPrefix') or ''}{said.get('host') or ''}.{said.get('hostSuffix') or _LOCAL}"
    tls = str((said.get("tls") or {}).get("secretName") or "")
    gateway = str(said.get("virtualServiceGateway") or "") if said.get("useVirtualService") else ""
    return _Wanted(host, str(said.get("ingressControllerClassName") or ""), tls, gateway)


def _configured(graph: str, settings: Settings) -> _Wanted | None:
    ours = settings.ingress
    class_name, gateway = ours.controller_class_name, ours.virtual_service_gateway
    if not gateway and not class_name:
        return None
    return _Wanted(f"{graph}.{ours.host_suffix or _LOCAL}", class_name, ours.controller_tls_secret_name, gateway)


def _ingress(service: str, namespace: str, owner: Fields, wanted: _Wanted) -> Fields:
    backend = {"service": {"name": dns_name(service), "port": {"number": HTTP_PORT}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    spec = {"ingressClassName": wanted.class_name, "rules": [{"host": wanted.host, "http": {"paths": paths}}]}
    tls = {"tls": [{"hosts": [wanted.host], "secretName": wanted.tls_secret}]} if wanted.tls_secret else {}
    return make_child("networking.k8s.io/v1", "Ingress", dns_name(service), namespace, owner=owner, spec={**spec, **tls})


def _virtual_service(service: str, namespace: str, owner: Fields, wanted: _Wanted) -> Fields:
    route = {"destination": {"host": dns_name(service), "port": {"number": HTTP_PORT}}}
    http = [{"match": [{"uri": {"prefix": "/"}}], "route": [route]}]
    spec = {"hosts": [wanted.host], "gateways": [wanted.gateway], "http": http}
    return make_child("networking.istio.io/v1beta1", "VirtualService", dns_name(service), namespace, owner=owner, spec=spec)
