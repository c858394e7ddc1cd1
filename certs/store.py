"""The stored objects: uncached reads, and writes that never overwrite others'."""

from __future__ import annotations

import base64
import copy
import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..kube.errors import ConflictError
from ..kube.protocol import Cluster, Node
from ..kube.resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS, Resource
from .names import Names

LOG: Final = logging.getLogger("certs.store")
LABELS: Final = {
    "app.kubernetes.io/name": "dynamo-webhooks",
    "app.kubernetes.io/component": "provisioner",
    "app.kubernetes.io/part-of": "dynamo-operator",
}
OPAQUE: Final = "Opaque"  # the type of a Secret that may hold anything
TLS: Final = "kubernetes.io/tls"


class Store:
    """Reads and writes the stored objects of one installation."""

    def __init__(self, cluster: Cluster, names: Names) -> None:
        self._cluster, self._names = cluster, names

    async def authority(self) -> Node | None:
        """The CA Secret."""
        return await self._cluster.get(SECRETS, self._names.authority, self._names.namespace)

    async def serving(self) -> Node | None:
        """The serving Secret."""
        return await self._cluster.get(SECRETS, self._names.serving, self._names.namespace)

    async def trust(self) -> Node | None:
        """The trust ConfigMap."""
        return await self._cluster.get(CONFIG_MAPS, self._names.trust, self._names.namespace)

    async def servers(self, service: str) -> Node | None:
        """The Deployment behind a Service, by the name that the manifests and the chart give it."""
        return await self._cluster.get(DEPLOYMENTS, f"{service}-server", self._names.namespace)

    async def write(self, write: Write) -> Node:
        """Creates the object, or replaces the very version that the decision was made from.

        What can't be replaced is deleted and created. Servers keep their pair meanwhile; after a crash between both, the next step is that
        for an object that is lost.

        Raises: ConflictError or AlreadyExistsError when the stored version differs; then read and decide again.
        """
        resource = _resource(write.kind)
        if not write.version:
            return await self._cluster.create(resource, as_object(write, None, self._names.namespace))
        old = await self._cluster.get(resource, write.name, self._names.namespace)
        if old is None or old["metadata"]["resourceVersion"] != write.version:
            raise ConflictError(409, "Conflict", f"{write.kind} {write.name} has changed since it was read")
        if why := explain_immutable(old, write.type):
            LOG.warning("%s %s is %s: it is deleted and created again", write.kind, write.name, why)
            await self._delete(resource, old)
            head = {key: old["metadata"][key] for key in ("labels", "annotations") if key in old["metadata"]}  # all that stays
            bare = {"apiVersion": "v1", "kind": write.kind, "metadata": head}
            return await self._cluster.create(resource, as_object(write._replace(version=""), bare, self._names.namespace))
        return await self._cluster.replace(resource, as_object(write, old, self._names.namespace))

    async def _delete(self, resource: Resource, old: Node) -> None:
        """Deletes that very version, after removing its finalizers: own objects need none."""
        head = old["metadata"]
        if head.get("finalizers"):
            head = (await self._cluster.replace(resource, {**old, "metadata": {**head, "finalizers": []}}))["metadata"]
        await self._cluster.delete(resource, head["name"], head["namespace"], uid=head["uid"], version=head["resourceVersion"])

    async def annotate(self, kind: str, name: str, notes: dict[str, str]) -> None:
        """Sets annotations of a stored object and touches nothing else."""
        await self._cluster.merge_patch(_resource(kind), name, {"metadata": {"annotations": notes}}, self._names.namespace)


def _resource(kind: str) -> Resource:
    return SECRETS if kind == "Secret" else CONFIG_MAPS


class Write(NamedTuple):
    """One write of a whole object. Its text holds keys: never log it."""

    kind: str  # `Secret` or `ConfigMap`
    name: str
    type: str  # of a new Secret
    data: Mapping[str, bytes]  # all keys: what isn't here is deleted
    notes: Mapping[str, str | None]  # annotations to set, or with None to delete; others stay
    version: str  # resourceVersion that must still be there; empty: the object must not exist yet


def as_object(write: Write, old: Mapping[str, Any] | None, namespace: str) -> Node:
    """The object to create (no `old`) or to replace `old` with; labels, annotations and whatever else others put there stay."""
    obj: Node = copy.deepcopy(dict(old)) if old else {"apiVersion": "v1", "kind": write.kind}
    meta = obj.setdefault("metadata", {})
    meta |= {"name": write.name, "namespace": namespace}
    if write.version:
        meta["resourceVersion"] = write.version  # optimistic lock: another write in between is a conflict
    meta["labels"] = {**(meta.get("labels") or {}), **LABELS, "nvidia.com/dynamo-operator-namespace": namespace}
    notes = {**(meta.get("annotations") or {}), **write.notes}
    meta["annotations"] = {key: value for key, value in notes.items() if value is not None}
    if write.kind == "Secret":
        obj.setdefault("type", write.type)
        obj["data"] = {key: base64.b64encode(value).decode() for key, value in write.data.items()}
        obj.pop("stringData", None)
    else:
        obj["data"] = {key: value.decode() for key, value in write.data.items()}
        obj.pop("binaryData", None)
    return obj


def explain_immutable(obj: Mapping[str, Any], type_: str) -> str:
    """Explains why an object can't be replaced and must be made anew; empty when it can be. `type_` is that of our Secret."""
    if obj.get("immutable"):
        return "immutable"
    seen_type = obj.get("type") or OPAQUE
    return f"of type {str(seen_type)[:60]}" if type_ and seen_type not in (OPAQUE, type_) else ""
