"""Secrets, the trust ConfigMap and the servers' Deployment: fresh reads, and whole writes that nobody else's write can be lost by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.certs.content import as_object
from dynamo_webhooks.kube.errors import ConflictError
from dynamo_webhooks.kube.resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS

if TYPE_CHECKING:
    from dynamo_webhooks.certs.content import Write
    from dynamo_webhooks.certs.names import Names
    from dynamo_webhooks.kube.protocol import Cluster, Node
    from dynamo_webhooks.kube.resources import Resource


class Store:
    """Reads and writes the stored objects of one installation."""

    def __init__(self, cluster: Cluster, called: Names) -> None:
        """Reads nothing yet."""
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

        Raises: ConflictError or AlreadyExistsError when it isn't that version any more; then decide anew from what is there.
        """
        resource = _resource(write.kind)
        if not write.version:
            return await self._cluster.create(resource, as_object(write, None, self._called.namespace))
        old = await self._cluster.get(resource, write.name, self._called.namespace)
        if old is None or old["metadata"]["resourceVersion"] != write.version:
            raise ConflictError(409, "Conflict", f"{write.kind} {write.name} has changed since it was read")
        return await self._cluster.replace(resource, as_object(write, old, self._called.namespace))

    async def annotate(self, kind: str, name: str, notes: dict[str, str]) -> None:
        """Sets annotations of a stored object and touches nothing else."""
        await self._cluster.merge_patch(_resource(kind), name, {"metadata": {"annotations": notes}}, self._called.namespace)


def _resource(kind: str) -> Resource:
    return SECRETS if kind == "Secret" else CONFIG_MAPS
