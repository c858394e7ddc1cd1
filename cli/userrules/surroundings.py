"""Reads from a cluster the parameters and Namespaces that policies ask for, and nothing else: each by its name, when it is needed."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Final

from ...admission.userrules.evaluate import ParamRef, UnknownError, find_params
from ...kube.errors import ApiError, NotServedError
from ...kube.resources import NAMESPACES, Resource
from ..installation.connection import connect_cluster

if TYPE_CHECKING:
    from ...kube.protocol import Cluster, Node

_MANAGER: Final = "dynamo-webhooks-check"  # how these reads are called to an API server


class PolicyInputs:
    """The surroundings of writes, in a cluster. What may not be read is unknown, with the API server's reason."""

    def __init__(self, kubeconfig: str, context: str) -> None:
        """Asks nothing yet."""
        self._connection = kubeconfig, context
        self._read_once = cache(self._read)

    def namespace(self, name: str) -> Node:
        """The Namespace of a name. Raises: UnknownError."""
        namespaces = self._read_once(ParamRef("v1", "Namespace", "", name, None))
        if isinstance(namespaces, ApiError):
            raise UnknownError(f"the Namespace {name} can't be read: {namespaces.message}")
        if not namespaces:
            raise UnknownError(f"the Namespace {name} is not in the cluster")
        return namespaces[0]

    def params(self, wanted: ParamRef) -> list[Node]:
        """The wanted parameters. Raises: UnknownError."""
        if (wanted.version, wanted.kind) == ("v1", "Secret"):
            raise UnknownError("its parameter is a Secret, which is not read: a policy could print it")
        params = self._read_once(wanted)
        if isinstance(params, ApiError):
            raise UnknownError(f"its parameter, the {wanted}, can't be read: {params.message}")
        return params

    def _read(self, wanted: ParamRef) -> list[Node] | ApiError:
        """Asks once for each, also for what may not be read."""

        async def ask() -> list[Node]:
            async with connect_cluster(_MANAGER, *self._connection) as cluster:
                return await _read(cluster, wanted)

        try:
            return asyncio.run(ask())
        except ApiError as error:
            return error


async def _read(cluster: Cluster, wanted: ParamRef) -> list[Node]:
    resource = NAMESPACES if wanted.kind == NAMESPACES.kind and wanted.version == "v1" else await _resource(cluster, wanted)
    namespace = wanted.namespace if resource.namespaced else ""
    if wanted.selector is None:
        param = await cluster.get(resource, wanted.name, namespace)
        return [] if param is None else [param]
    return find_params((await cluster.list(resource, namespace)).items, wanted)


async def _resource(cluster: Cluster, wanted: ParamRef) -> Resource:
    """The resource of the kind of parameters. Raises: ApiError."""
    group, _, version = wanted.version.rpartition("/")
    for resource in await cluster.resources(group, version):
        if resource["kind"] == wanted.kind and "/" not in resource["name"]:
            return Resource(group, version, resource["name"], wanted.kind, namespaced=resource["namespaced"])
    raise NotServedError(404, "NotFound", f"the API server has no kind {wanted.kind} of {wanted.version}")
