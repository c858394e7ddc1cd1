"""The pods behind a model, read from EndpointSlices. Pure: it calls nobody."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dynamo_webhooks.kube.protocol import Node

MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
SLICE_CONTROLLER: Final = "endpointslice-controller.k8s.io"
SERVICE_NAME: Final = "kubernetes.io/service-name"
SYSTEM: Final = "system"  # the name of the port of a worker's control API
PORT: Final = 9090  # of it, where a slice has no port of that name
_FAMILIES: Final = {"IPv4": 0, "IPv6": 1}  # addressType -> order of preference; others hold no IP address


class Trust(NamedTuple):
    """Which slices and addresses are believed: anybody who may write EndpointSlices could else direct our calls anywhere."""

    any_slice: bool = False  # also those that the EndpointSlice controller didn't write
    any_address: bool = False  # also loopback; tests alone


class Sighting(NamedTuple):
    """One endpoint of a slice, with nothing but what is read here: a cluster has a hundred thousand of them."""

    address: str
    uid: str  # of the pod, else its name
    pod: str
    callable: bool  # ready, or serving although it isn't, and not terminating
    terminating: bool


class Endpoint(NamedTuple):
    """One pod."""

    uid: str
    pod: str
    urls: tuple[str, ...]  # `http://address:port`, the preferred one first
    callable: bool


class Found(NamedTuple):
    """What the slices of a model say."""

    endpoints: tuple[Endpoint, ...]  # one a pod, in the order of the slices; terminating ones are left out
    services: tuple[str, ...]  # names, sorted


def lighten(found: Node) -> None:
    """Reduces a slice in place to what `endpoints_in` reads; one that was reduced stays as it is."""
    if isinstance(found.get("endpoints"), tuple):
        return
    namespace = str(found["metadata"].get("namespace") or "")
    sightings = [_sighting(one, namespace) for one in found.get("endpoints") or ()]
    found["endpoints"] = tuple(one for one in sightings if one is not None)


def endpoints_in(slices: Iterable[Node], trust: Trust) -> Found:
    """The pods of some slices, each lightened, of one namespace. Linear in the number of endpoints."""
    pods: dict[str, tuple[Sighting, dict[int, str]]] = {}
    services = set()
    for one in sorted(slices, key=_name):
        labels = one["metadata"].get("labels") or {}
        family = _FAMILIES.get(str(one.get("addressType")))
        if family is None or not (trust.any_slice or labels.get(MANAGED_BY) == SLICE_CONTROLLER):
            continue
        port = _port(one.get("ports") or ())
        for seen in one["endpoints"]:
            if seen.terminating or not (trust.any_address or _is_plain(seen.address)):
                continue
            known, urls = pods.setdefault(seen.uid, (seen, {}))
            urls.setdefault(family, f"http://{f'[{seen.address}]' if family else seen.address}:{port}")
            if seen.callable and not known.callable:
                pods[seen.uid] = (seen, urls)
            services.add(str(labels.get(SERVICE_NAME) or ""))
    made = (Endpoint(uid, seen.pod, tuple(url for _, url in sorted(urls.items())), seen.callable) for uid, (seen, urls) in pods.items())
    return Found(tuple(made), tuple(sorted(services - {""})))


def _sighting(endpoint: Node, namespace: str) -> Sighting | None:
    target, addresses = endpoint.get("targetRef") or {}, endpoint.get("addresses") or ()
    if target.get("kind") != "Pod" or not addresses or (target.get("namespace") or namespace) != namespace:
        return None
    conditions = endpoint.get("conditions") or {}
    terminating = conditions.get("terminating") is True
    ready = conditions.get("ready") is not False or conditions.get("serving") is True  # absent is ready, as the API says
    name = str(target.get("name") or "")
    return Sighting(str(addresses[0]), str(target.get("uid") or name), name, ready and not terminating, terminating)


def _port(ports: Sequence[Node]) -> int:
    return next((int(one["port"]) for one in ports if one.get("name") == SYSTEM and one.get("port")), PORT)


def _is_plain(address: str) -> bool:
    """Whether an address may be a pod's."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (found.is_loopback or found.is_link_local or found.is_unspecified or found.is_multicast)


def _name(found: Node) -> str:
    return str(found["metadata"]["name"])
