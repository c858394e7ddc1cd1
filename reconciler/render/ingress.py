"""The Ingress of a component, or Istio's VirtualService."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.reconciler.render.names import FRONTEND, HTTP_PORT, dns
from dynamo_webhooks.reconciler.render.objects import child

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.settings import Settings

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
    said = alpha.get("ingress")
    if said is not None:  # an empty one means none
        wanted = _said(said)
    elif kind == FRONTEND and graph:
        wanted = _configured(graph, settings)
    else:
        wanted = None
    if wanted is None:
        return []
    out = [_ingress(service, namespace, owner, wanted)] if wanted.class_name else []
    # without the operator's gateway VirtualServices have no effect
    return [*out, _virtual_service(service, namespace, owner, wanted)] if wanted.gateway and settings.ingress.gateway else out


def _said(said: Fields) -> _Wanted | None:
    if not said.get("enabled"):
        return None
    host = f"{said.get('hostPrefix') or ''}{said.get('host') or ''}.{said.get('hostSuffix') or _LOCAL}"
    tls = str((said.get("tls") or {}).get("secretName") or "")
    gateway = str(said.get("virtualServiceGateway") or "") if said.get("useVirtualService") else ""
    return _Wanted(host, str(said.get("ingressControllerClassName") or ""), tls, gateway)


def _configured(graph: str, settings: Settings) -> _Wanted | None:
    ours = settings.ingress
    if not ours.gateway and not ours.class_name:
        return None
    return _Wanted(f"{graph}.{ours.host_suffix or _LOCAL}", ours.class_name, ours.tls_secret, ours.gateway)


def _ingress(service: str, namespace: str, owner: Fields, wanted: _Wanted) -> Fields:
    out = child("networking.k8s.io/v1", "Ingress", dns(service), namespace, owner=owner)
    backend = {"service": {"name": dns(service), "port": {"number": HTTP_PORT}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    out["spec"] = {"ingressClassName": wanted.class_name, "rules": [{"host": wanted.host, "http": {"paths": paths}}]}
    if wanted.tls_secret:
        out["spec"]["tls"] = [{"hosts": [wanted.host], "secretName": wanted.tls_secret}]
    return out


def _virtual_service(service: str, namespace: str, owner: Fields, wanted: _Wanted) -> Fields:
    out = child("networking.istio.io/v1beta1", "VirtualService", dns(service), namespace, owner=owner)
    route = {"destination": {"host": dns(service), "port": {"number": HTTP_PORT}}}
    out["spec"] = {
        "hosts": [wanted.host],
        "gateways": [wanted.gateway],
        "http": [{"match": [{"uri": {"prefix": "/"}}], "route": [route]}],
    }
    return out
