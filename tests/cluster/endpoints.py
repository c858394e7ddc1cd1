"""Puts servers of ours behind a Service by hand: there is no kubelet, so Kubernetes' own controllers would list no address.

API servers up to 1.33 find webhooks by core/v1 Endpoints, newer ones by EndpointSlices; the one is written from the other.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from tests.cluster.harness import ControlPlane

Node: TypeAlias = dict[str, Any]
SLICES: Final = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"
ENDPOINTS: Final = "/api/v1/namespaces/{}/endpoints"
SERVICE: Final = "kubernetes.io/service-name"
_BY_SLICES: Final = 34  # the first minor version that was seen to ask for slices
_APPLY: Final = "application/apply-patch+yaml"


def publish(plane: ControlPlane, service: str, namespace: str, name: str, at: tuple[str, int], **conditions: bool) -> bool:
    """Writes the EndpointSlice of one server by its name and address; whether the API server took it. Without conditions it is ready."""
    address, port = at
    piece = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {SERVICE: service}},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "ports": [{"name": "webhook", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "conditions": conditions or {"ready": True}}],
    }
    written = _applied(plane, f"{SLICES.format(namespace)}/{name}", piece)
    return written and (
        plane.minor >= _BY_SLICES or _applied(plane, f"{ENDPOINTS.format(namespace)}/{service}", _gathered(plane, service, namespace))
    )


def _applied(plane: ControlPlane, path: str, obj: Node) -> bool:
    return plane.request("PATCH", f"{path}?fieldManager=kubelet&force=true", obj, kind=_APPLY).status in (200, 201)


def _gathered(plane: ControlPlane, service: str, namespace: str) -> Node:
    """Endpoints with a subset for each slice that holds a ready address."""
    slices = plane.request("GET", f"{SLICES.format(namespace)}?labelSelector={SERVICE}={service}").body["items"]
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": service}, "subsets": [*_subsets(slices)]}


def _subsets(slices: list[Node]) -> Iterator[Node]:
    for piece in slices:
        ready = [endpoint for endpoint in piece["endpoints"] if endpoint["conditions"].get("ready")]
        if ready:
            yield {"addresses": [{"ip": endpoint["addresses"][0]} for endpoint in ready], "ports": piece["ports"]}
