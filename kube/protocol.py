"""The seam to an API server: what the other rooms may ask of one. kube/client.py answers over the network, tests answer from memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from .resources import Resource

# A resourceVersion that no object has, since etcd's first write makes revision 2: an apply with it creates, or raises ConflictError.
ABSENT: Final = "1"
Node: TypeAlias = dict[str, Any]  # a Kubernetes object or a part of one, as JSON has it
Trim: TypeAlias = "Callable[[Node], None]"  # drops unused fields of an object that was just read


class Listing(NamedTuple):
    """One list, all pages of it."""

    items: list[Node]  # each with its apiVersion and kind, which an API server leaves out of lists of built-in kinds
    version: str  # the resourceVersion from which a watch goes on


class Page(NamedTuple):
    """A part of a list."""

    items: list[Node]
    token: str  # for the next part; empty after the last one


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a watch. A bookmark's object holds only the resourceVersion."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    object: Node


class Cluster(Protocol):
    """An API server. Every call raises a subclass of kube.errors.ApiError when the answer isn't a success."""

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Node | None:
        """Reads one object from etcd, never from a cache; None when there is none."""

    async def list(
        self, resource: Resource, namespace: str = "", *, fields: str = "", labels: str = "", limit: int = 500, trim: Trim | None = None
    ) -> Listing:
        """Reads all objects that match the selectors, in pages of `limit`; an empty namespace means every one.

        `trim` is called with each object when its page is there, before the next one is asked for, and may change it.
        """

    def watch(
        self, resource: Resource, namespace: str = "", *, version: str, fields: str = "", labels: str = "", seconds: int = 300
    ) -> AsyncGenerator[Event]:
        """Streams changes after `version` until the server ends the stream after `seconds`. Raises GoneError when `version` is too old.

        A reader that may stop early wraps it in `contextlib.aclosing`, so that the connection is closed at once.
        """

    async def create(self, resource: Resource, obj: Node, namespace: str = "", *, dry_run: bool = False) -> Node:
        """Creates; raises AlreadyExistsError. `metadata.generateName` works as usual."""

    async def replace(self, resource: Resource, obj: Node, *, subresource: str = "", dry_run: bool = False) -> Node:
        """Writes the whole object; with `metadata.resourceVersion` in it, raises ConflictError when that is no longer the newest."""

    async def json_patch(
        self,
        resource: Resource,
        name: str,
        operations: Sequence[Node],
        namespace: str = "",
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Node:
        """RFC 6902. A failed `test` raises InvalidError; the caller reads again."""

    async def merge_patch(
        self, resource: Resource, name: str, patch: Node, namespace: str = "", *, subresource: str = "", dry_run: bool = False
    ) -> Node:
        """RFC 7386."""

    async def apply(
        self, resource: Resource, obj: Node, *, manager: str, force: bool = False, subresource: str = "", dry_run: bool = False
    ) -> Node:
        """Server-side apply. Without `force`, fields of other managers raise ConflictError, whose message names them."""

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", *, uid: str = "", version: str = "", grace: int | None = None
    ) -> bool:
        """Deletes; with `uid` or the resourceVersion, only that object (ConflictError otherwise). False when it wasn't there.

        `grace` is how many seconds a pod has to end; None leaves that to the pod.
        """

    async def groups(self) -> Mapping[str, frozenset[str]]:
        """The served API groups with their versions: `{"apps": {"v1"}, "": {"v1"}}`."""

    async def resources(self, group: str, version: str) -> Sequence[Node]:
        """Reads the discovery of each resource of a served version, `storageVersionHash` among it. Raises NotServedError."""

    async def allowed(self, verb: str, resource: Resource, namespace: str = "", name: str = "", *, subresource: str = "") -> bool:
        """SelfSubjectAccessReview: whether we may."""

    async def server_time(self) -> datetime:
        """The API server's clock, from the Date header of a recent answer; whole seconds, UTC."""

    async def close(self) -> None:
        """Closes connections; the cluster is not used again."""


class RequestLabels(NamedTuple):
    """The labels by which requests are counted, as in client-go's `rest_client_requests_total`. A list in pages is several, a watch one."""

    code: str  # the HTTP status, or `connection.NO_ANSWER`
    method: str  # in capitals
    host: str  # of the API server, with its port, as configured


Traffic: TypeAlias = Counter[RequestLabels]
