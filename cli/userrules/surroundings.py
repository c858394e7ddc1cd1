"""Reads from a cluster the parameters and Namespaces that policies ask for, and nothing else: each by its name, when it is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from ...admission.userrules.evaluate import UnknownError, Wanted, find_params
from ...kube.errors import ApiError, NotServedError
from ...kube.resources import NAMESPACES, Resource
from ..installation.connection import connect_cluster

if TYPE_CHECKING:
    from ...kube.protocol import Cluster, Node

T = TypeVar("T")
_MANAGER: Final = "dynamo-webhooks-check"  # how these reads are called to an API server


class Surroundings:
    """The surroundings of writes, in a cluster. What may not be read is unknown, with the API server's reason."""

    def __init__(self, kubeconfig: str, context: str) -> None:
        """Asks nothing yet."""
        self._place = kubeconfig, context
        self.namespace, self.params = cache(self._namespace), cache(self._params)

    def _namespace(self, name: str) -> Node:
        """The Namespace of a name. Raises: UnknownError."""
        found = self._ask(lambda cluster: cluster.get(NAMESPACES, name), f"the Namespace {name}")
        if found is None:
            raise UnknownError(f"the Namespace {name} is not in the cluster")
        return found

    def _params(self, wanted: Wanted) -> list[Node]:
        """The wanted parameters. Raises: UnknownError."""
        return self._ask(lambda cluster: _read(cluster, wanted), f"its parameter, the {wanted},")

    def _ask(self, read: Callable[[Cluster], Awaitable[T]], what: str) -> T:
        async def ask() -> T:
            async with connect_cluster(_MANAGER, *self._place) as cluster:
                return await read(cluster)

        try:
            return asyncio.run(ask())
        except ApiError as error:
            raise UnknownError(f"{what} can't be read: {error.message}") from None


async def _read(cluster: Cluster, wanted: Wanted) -> list[Node]:
    resource = await _resource(cluster, wanted)
    namespace = wanted.namespace if resource.namespaced else ""
    if wanted.selector is None:
        found = await cluster.get(resource, wanted.name, namespace)
        return [] if found is None else [found]
    return find_params((await cluster.list(resource, namespace)).items, wanted)


async def _resource(cluster: Cluster, wanted: Wanted) -> Resource:
    """The resource of the kind of parameters. Raises: ApiError."""
    group, _, version = wanted.version.rpartition("/")
    for one in await cluster.resources(group, version):
        if one["kind"] == wanted.kind and "/" not in one["name"]:
            return Resource(group, version, one["name"], wanted.kind, namespaced=one["namespaced"])
    raise NotServedError(404, "NotFound", f"the API server has no kind {wanted.kind} of {wanted.version}")
