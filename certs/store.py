"""Secrets, the trust ConfigMap and the servers' Deployment: uncached reads, and writes that never overwrite another client's."""

from __future__ import annotations

import logging
from typing import Final

from ..kube.errors import ConflictError
from ..kube.protocol import Cluster, Node
from ..kube.resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS, Resource
from .content import Write, anew, as_object, explain_immutable
from .names import Names

LOG: Final = logging.getLogger("certs.store")


class Store:
    """Reads and writes the stored objects of one installation."""

    def __init__(self, cluster: Cluster, called: Names) -> None:
        self._cluster, self._called = cluster, called

    async def authority(self) -> Node | None:
        """The CA Secret."""
        return await self._cluster.get(SECRETS, self._called.authority, self._called.namespace)

    async def serving(self) -> Node | None:
        """The serving Secret."""
        return await self._cluster.get(SECRETS, self._called.serving, self._called.namespace)

    async def trust(self) -> Node | None:
        """The trust ConfigMap."""
        return await self._cluster.get(CONFIG_MAPS, self._called.trust, self._called.namespace)

    async def servers(self, service: str) -> Node | None:
        """The Deployment behind a Service, by the name that the manifests and the chart give it."""
        return await self._cluster.get(DEPLOYMENTS, f"{service}-server", self._called.namespace)

    async def write(self, write: Write) -> Node:
        """Creates the object, or replaces the very version that the decision was made from.

        What can't be replaced is deleted and created. Servers keep their pair meanwhile; after a crash between both, the next step is that
        for an object that is lost.

        Raises: ConflictError or AlreadyExistsError when the stored version differs; then read and decide again.
        """
        resource = _resource(write.kind)
        if not write.version:
            return await self._cluster.create(resource, as_object(write, None, self._called.namespace))
        old = await self._cluster.get(resource, write.name, self._called.namespace)
        if old is None or old["metadata"]["resourceVersion"] != write.version:
            raise ConflictError(409, "Conflict", f"{write.kind} {write.name} has changed since it was read")
        if why := explain_immutable(old, write.type):
            LOG.warning("%s %s is %s: it is deleted and made anew", write.kind, write.name, why)
            await self._delete(resource, old)
            return await self._cluster.create(resource, anew(write, old, self._called.namespace))
        return await self._cluster.replace(resource, as_object(write, old, self._called.namespace))

    async def _delete(self, resource: Resource, old: Node) -> None:
        """Deletes that very version, after removing its finalizers: own objects need none."""
        head = old["metadata"]
        if head.get("finalizers"):
            head = (await self._cluster.replace(resource, {**old, "metadata": {**head, "finalizers": []}}))["metadata"]
        await self._cluster.delete(resource, head["name"], head["namespace"], uid=head["uid"], version=head["resourceVersion"])

    async def annotate(self, kind: str, name: str, notes: dict[str, str]) -> None:
        """Sets annotations of a stored object and touches nothing else."""
        await self._cluster.merge_patch(_resource(kind), name, {"metadata": {"annotations": notes}}, self._called.namespace)


def _resource(kind: str) -> Resource:
    return SECRETS if kind == "Secret" else CONFIG_MAPS
