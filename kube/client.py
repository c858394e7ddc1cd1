"""The `Cluster` of a real API server: plain dicts both ways, one explicit content type a verb. How bytes travel is in `connection.py`.

Importing this module loads the Kubernetes client, which is slow: import it where a connection is made, never before.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from .answers import check_answer, read_items, read_served_versions
from .config import load_config
from .connection import Connection
from .errors import GoneError, NotFoundError
from .protocol import Event, Listing, Node, Page, Traffic, Trim
from .resources import Resource

_JSON: Final = "application/json"
_APPLY: Final = "application/apply-patch+yaml"  # JSON is YAML
_BRIEF: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_BRIEF_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Client:
    """The client of one API server for one field manager; kube.protocol.Cluster documents the calls."""

    def __init__(self, connection: Connection, manager: str) -> None:
        """`manager` is written into managedFields by every write but `apply`, which names its own."""
        self._connection = connection
        self._manager = manager

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Node | None:
        """Reads one object."""
        path = resource.path(namespace, name, subresource)
        try:
            return check_answer(await self._connection.ask("GET", path), f"get {path}", metadata=dict)
        except NotFoundError:
            return None

    async def list(
        self, resource: Resource, namespace: str = "", *, fields: str = "", labels: str = "", limit: int = 500, trim: Trim | None = None
    ) -> Listing:
        """Reads all pages; when the first one has become too old for the next, everything once more in a single one."""
        try:
            return await self._pages(resource, namespace, fields, labels, limit, trim)
        except GoneError:
            return await self._pages(resource, namespace, fields, labels, 0, trim)

    async def page(self, resource: Resource, namespace: str = "", *, token: str = "", limit: int = 500, brief: bool = False) -> Page:
        """Reads one page of a list; with `brief` only metadata."""
        query = {"limit": limit, "continue": token}
        path = resource.path(namespace)
        answer = await self._connection.ask("GET", path, query, accept=_BRIEF_LIST if brief else _JSON)
        objects = [{**item, "apiVersion": resource.api_version, "kind": resource.kind} for item in read_items(answer, f"get {path}")]
        return Page(objects, str(answer["metadata"].get("continue") or ""))

    def watch(
        self, resource: Resource, namespace: str = "", *, version: str, fields: str = "", labels: str = "", seconds: int = 300
    ) -> AsyncGenerator[Event]:
        """Streams changes, with bookmarks."""
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": seconds,
            "fieldSelector": fields,
            "labelSelector": labels,
        }
        return self._connection.stream(resource.path(namespace), query, seconds)

    async def create(self, resource: Resource, obj: Node, namespace: str = "", *, dry_run: bool = False) -> Node:
        """Creates, in the object's own namespace unless one is given."""
        where = namespace or obj["metadata"].get("namespace", "")
        return await self._write("POST", resource, resource.path(where), obj, dry_run=dry_run)

    async def replace(self, resource: Resource, obj: Node, *, subresource: str = "", dry_run: bool = False) -> Node:
        """Writes the whole object."""
        return await self._write("PUT", resource, _path(resource, obj, subresource), obj, dry_run=dry_run)

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
        """RFC 6902."""
        path = resource.path(namespace, name, subresource)
        return await self._write("PATCH", resource, path, [*operations], kind="application/json-patch+json", dry_run=dry_run)

    async def merge_patch(
        self, resource: Resource, name: str, patch: Node, namespace: str = "", *, subresource: str = "", dry_run: bool = False
    ) -> Node:
        """RFC 7386."""
        path = resource.path(namespace, name, subresource)
        return await self._write("PATCH", resource, path, patch, kind="application/merge-patch+json", dry_run=dry_run)

    async def apply(
        self, resource: Resource, obj: Node, *, manager: str, force: bool = False, subresource: str = "", dry_run: bool = False
    ) -> Node:
        """Server-side apply."""
        path, more = _path(resource, obj, subresource), {"fieldManager": manager, "force": "true" if force else ""}
        return await self._write("PATCH", resource, path, obj, kind=_APPLY, dry_run=dry_run, more=more)

    async def touch(self, resource: Resource, name: str, namespace: str, *, manager: str, dry_run: bool = False) -> Node:
        """Applies nothing to the status: an object stored in an older form is written anew. Gives the metadata. Raises NotFoundError."""
        obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, "namespace": namespace}}
        path = resource.path(namespace, name, "status")
        return await self._write("PATCH", resource, path, obj, kind=_APPLY, dry_run=dry_run, more={"fieldManager": manager}, accept=_BRIEF)

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", *, uid: str = "", version: str = "", grace: int | None = None
    ) -> bool:
        """Deletes."""
        options: Node = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if preconditions := {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}:
            options["preconditions"] = preconditions
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            await self._connection.ask("DELETE", resource.path(namespace, name), body=options)
        except NotFoundError:
            return False
        return True

    async def groups(self) -> Mapping[str, frozenset[str]]:
        """Reads the discovery documents."""
        core = check_answer(await self._connection.ask("GET", "/api"), "get /api", versions=list)
        others = check_answer(await self._connection.ask("GET", "/apis"), "get /apis", groups=list)
        return read_served_versions(core["versions"], others["groups"])

    async def resources(self, group: str, version: str) -> Sequence[Node]:
        """Reads the discovery document of one version."""
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        answer = check_answer(await self._connection.ask("GET", path), f"get {path}", resources=list | None)
        return [each for each in answer["resources"] or () if isinstance(each, dict)]

    async def allowed(self, verb: str, resource: Resource, namespace: str = "", name: str = "", *, subresource: str = "") -> bool:
        """Asks the API server's authorizer."""
        attributes = {"verb": verb, "group": resource.group, "version": resource.version, "resource": resource.plural}
        attributes |= {"subresource": subresource, "namespace": namespace, "name": name}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}}
        answer = check_answer(await self._connection.ask("POST", _REVIEWS, body=review), f"post {_REVIEWS}", status=dict)
        return bool(answer["status"].get("allowed"))

    async def server_time(self) -> datetime:
        """The API server's clock."""
        return await self._connection.time()

    async def close(self) -> None:
        """Closes the connections."""
        await self._connection.close()

    async def _write(
        self,
        method: str,
        resource: Resource,
        path: str,
        body: Any,
        *,
        kind: str = _JSON,
        dry_run: bool,
        more: Node | None = None,
        accept: str = _JSON,
    ) -> Node:
        query = {"fieldManager": self._manager, "dryRun": "All" if dry_run else "", **(more or {})}
        answer = await self._connection.ask(method, path, query, body, kind=kind, accept=accept, secret=resource.plural == "secrets")
        return check_answer(
            answer, f"{method.lower()} {path}", **({"status": dict} if resource.kind.endswith("Review") else {"metadata": dict})
        )

    async def _pages(self, resource: Resource, namespace: str, fields: str, labels: str, limit: int, trim: Trim | None) -> Listing:
        objects: list[Node] = []
        path = resource.path(namespace)
        query: dict[str, Any] = {"fieldSelector": fields, "labelSelector": labels, "limit": limit or ""}
        while True:
            page = await self._connection.ask("GET", path, query)
            for item in read_items(page, f"get {path}"):
                item.setdefault("apiVersion", resource.api_version)
                item.setdefault("kind", resource.kind)
                if trim is not None:
                    trim(item)
                objects.append(item)
            metadata = page["metadata"]
            if not metadata.get("continue"):
                break
            query["continue"] = metadata["continue"]
        return Listing(objects, str(metadata.get("resourceVersion") or ""))


async def connect(
    manager: str, kubeconfig: str = "", context: str = "", *, patience: float = 30.0, traffic: Traffic | None = None, server: str = ""
) -> Client:
    """A client for `manager` from a kubeconfig or the pod's own files, as `kube.config.load` finds them; nothing is sent yet.

    `server` (`https://10.0.0.7:6443`) selects one of several API servers, which must present a certificate for the configured name.
    `patience` is seconds for one request, and `traffic` counts them. Raises ConfigError.
    """
    configuration = await load_config(kubeconfig, context)
    if server:
        configuration.tls_server_name = configuration.tls_server_name or urlsplit(configuration.host).hostname
        configuration.host = server
    return Client(Connection(configuration, agent=manager, patience=patience, traffic=traffic), manager)


def _path(resource: Resource, obj: Node, subresource: str) -> str:
    metadata = obj["metadata"]
    return resource.path(metadata.get("namespace", ""), metadata["name"], subresource)
