"""The versions in which a kind's objects are stored: what its definition says, and which one each API server writes. Changes nothing.

`status.storedVersions` is a note that clients write, and proves nothing; `storageVersionHash` in discovery is what a server does.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NamedTuple, TypeAlias

from .errors import ApiError, NotFoundError
from .protocol import Cluster, Node
from .resources import CRDS, ENDPOINT_SLICES

MAX_TRIES: Final = 10  # through the usual address when API servers can't be asked one by one
MAX_API_SERVERS: Final = 100  # as many as one EndpointSlice names
# opens a connection of its own to one API server, such as `https://10.0.0.7:6443`; to the usual address for an empty text
Opener: TypeAlias = "Callable[[str], AbstractAsyncContextManager[Cluster]]"


class Definition(NamedTuple):
    """The versions of a CustomResourceDefinition; a part that is missing or of a wrong type is empty."""

    name: str
    group: str
    plural: str
    kind: str
    versions: tuple[str, ...]  # in their order
    served: frozenset[str]
    storage: str  # the version in which new writes are stored
    stored: tuple[str, ...]  # status.storedVersions
    converts: bool  # by a webhook
    resource_version: str
    generation: int
    annotations: Mapping[str, str]
    node: Node  # the whole object

    @property
    def others(self) -> tuple[str, ...]:
        """All versions in which no new writes are stored."""
        return tuple(version for version in self.versions if version != self.storage)


def read_definition(crd: Node) -> Definition:
    """Reads a CustomResourceDefinition of any quality."""
    metadata, spec, status = (_dict(crd.get(part)) for part in ("metadata", "spec", "status"))
    names = _dict(spec.get("names"))
    versions = [each for each in _list(spec.get("versions")) if isinstance(each, dict) and isinstance(each.get("name"), str)]
    generation = metadata.get("generation")
    return Definition(
        name=str(metadata.get("name") or ""),
        group=str(spec.get("group") or ""),
        plural=str(names.get("plural") or ""),
        kind=str(names.get("kind") or ""),
        versions=tuple(each["name"] for each in versions),
        served=frozenset(each["name"] for each in versions if each.get("served") is True),
        storage=next((each["name"] for each in versions if each.get("storage") is True), ""),
        stored=tuple(each for each in _list(status.get("storedVersions")) if isinstance(each, str)),
        converts=_dict(spec.get("conversion")).get("strategy") == "Webhook",
        resource_version=str(metadata.get("resourceVersion") or ""),
        generation=generation if isinstance(generation, int) else 0,
        annotations={key: text for key, text in _dict(metadata.get("annotations")).items() if isinstance(text, str)},
        node=crd,
    )


async def load_definition(cluster: Cluster, name: str) -> Definition | None:
    """The definition of a name, None when there is none. Raises: ApiError."""
    crd = await cluster.get(CRDS, name)
    return None if crd is None else read_definition(crd)


def compute_storage_hash(group: str, version: str, kind: str) -> str:
    """The `storageVersionHash` of a server that stores the kind in that version."""
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()


async def load_api_servers(cluster: Cluster) -> list[str]:
    """The addresses of API servers (`https://10.0.0.7:6443`) in the slices of the Service default/kubernetes, if any. Raises: ApiError."""
    try:
        slices = await cluster.list(ENDPOINT_SLICES, "default", labels="kubernetes.io/service-name=kubernetes")
    except NotFoundError:
        return []
    return sorted({address for each in slices.items for address in _addresses(each)})[:MAX_API_SERVERS]


def _addresses(endpoint_slice: Node) -> Iterable[str]:
    named = [each for each in map(_dict, _list(endpoint_slice.get("ports"))) if each.get("name") in ("https", "", None)]
    ports = [each["port"] for each in named if each.get("port")]
    for endpoint in map(_dict, _list(endpoint_slice.get("endpoints"))):
        if _dict(endpoint.get("conditions")).get("ready") is False:
            continue
        for address in _list(endpoint.get("addresses")):
            host = f"[{address}]" if ":" in str(address) else str(address)
            yield from (f"https://{host}:{port}" for port in ports)


class StorageHashes(NamedTuple):
    """The storage hashes that one API server reports."""

    server: str  # its address; empty for one that answered at the usual address
    hashes: Mapping[str, str]  # by plural
    wrong: str = ""  # why it can't be asked


async def read_storage_hashes(opener: Opener, servers: Sequence[str], group: str, version: str) -> list[StorageHashes]:
    """The hashes of each API server, by a request to each; by `MAX_TRIES` requests to the usual address where no server is known."""
    return [await read_storage_hash(opener, server, group, version) for server in servers or [""] * MAX_TRIES]


async def read_storage_hash(opener: Opener, server: str, group: str, version: str) -> StorageHashes:
    """Reads the hashes of the versions that one API server stores kinds in, over a connection of its own."""
    try:
        async with opener(server) as client:
            listed = await client.resources(group, version)
    except ApiError as error:
        return StorageHashes(server, {}, error.message)
    return StorageHashes(server, {str(each.get("name") or ""): str(each.get("storageVersionHash") or "") for each in listed})


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
