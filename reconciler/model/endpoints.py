"""The pods behind a model, read from EndpointSlices. Pure: it makes no calls."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from ...kube.protocol import Node
from ..pod_client import host_of

MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
SLICE_CONTROLLER: Final = "endpointslice-controller.k8s.io"
SERVICE_NAME: Final = "kubernetes.io/service-name"
SYSTEM: Final = "system"  # the name of the port of a worker's control API
PORT: Final = 9090  # of it, where a slice has no port of that name
_FAMILIES: Final = {"IPv4": 0, "IPv6": 1}  # addressType -> order of preference; others hold no IP address


class Endpoint(NamedTuple):
    """One pod, as one slice or all of them have it. A cluster has a hundred thousand, so code that keeps them keeps the slices' own."""

    uid: str  # of the pod, else its name
    pod: str
    address: str  # the preferred one
    port: int
    callable: bool  # ready, or serving although it isn't
    other: str = ""  # the address of the other family, if the pod has two

    @property
    def urls(self) -> list[str]:
        """`http://address:port`, the preferred one first."""
        return [f"http://{host_of(address)}:{self.port}" for address in (self.address, self.other) if address]


class ModelEndpoints(NamedTuple):
    """The pods and Services of a model, from its EndpointSlices."""

    endpoints: tuple[Endpoint, ...]  # one a pod, in the order of the slices; terminating ones are left out
    services: tuple[str, ...]  # names, sorted


def trim_slice(endpoint_slice: Node) -> None:
    """Reduces a slice in place to what `list_endpoints` reads; one that was reduced stays as it is."""
    if isinstance(endpoint_slice.get("endpoints"), tuple):
        return
    namespace = str(endpoint_slice["metadata"].get("namespace") or "")
    port = next(
        (int(entry["port"]) for entry in endpoint_slice.get("ports") or () if entry.get("name") == SYSTEM and entry.get("port")), PORT
    )
    seen = [_endpoint(endpoint, namespace, port) for endpoint in endpoint_slice.get("endpoints") or ()]
    endpoint_slice["endpoints"] = tuple(endpoint for endpoint in seen if endpoint is not None)


def list_endpoints(slices: Iterable[Node], *, any_slice: bool = False) -> ModelEndpoints:
    """Lists the pods of some slices, each trimmed, of one namespace. Linear in the number of endpoints.

    `any_slice` accepts slices that the EndpointSlice controller didn't write, too: users who may write one then choose called addresses.
    """
    pods: dict[str, Endpoint] = {}
    services = set()
    for endpoint_slice in sorted(slices, key=_order):
        labels = endpoint_slice["metadata"].get("labels") or {}
        if endpoint_slice.get("addressType") not in _FAMILIES or not (any_slice or labels.get(MANAGED_BY) == SLICE_CONTROLLER):
            continue
        for seen in endpoint_slice["endpoints"]:
            known = pods.get(seen.uid)
            if known is None:
                pods[seen.uid] = seen
            else:
                other = known.other or (seen.address if seen.address != known.address else "")
                pods[seen.uid] = known._replace(other=other, callable=known.callable or seen.callable)
        if endpoint_slice["endpoints"]:
            services.add(str(labels.get(SERVICE_NAME) or ""))
    return ModelEndpoints(tuple(pods.values()), tuple(sorted(services - {""})))


def _endpoint(endpoint: Node, namespace: str, port: int) -> Endpoint | None:
    target, addresses, conditions = endpoint.get("targetRef") or {}, endpoint.get("addresses") or (), endpoint.get("conditions") or {}
    if target.get("kind") != "Pod" or not addresses or (target.get("namespace") or namespace) != namespace:
        return None
    if conditions.get("terminating") is True or not host_of(str(addresses[0])):
        return None
    ready = conditions.get("ready") is not False or conditions.get("serving") is True  # absent is ready, as the API says
    name = str(target.get("name") or "")
    return Endpoint(str(target.get("uid") or name), name, str(addresses[0]), port, ready)


def _order(endpoint_slice: Node) -> tuple[int, str]:
    """IPv4 first, which is preferred, then by name."""
    return _FAMILIES.get(str(endpoint_slice.get("addressType")), len(_FAMILIES)), str(endpoint_slice["metadata"]["name"])
