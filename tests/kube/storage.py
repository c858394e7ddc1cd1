"""What an API server does to an object as it stores it, and its history for watches. The calls of a client are in `memory.py`."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from dynamo_webhooks.kube.errors import ConflictError, InvalidError
from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.kube.resources import Resource
from tests.kube import ownership
from tests.kube.copies import copy_json

START: Final = datetime(2030, 1, 1, tzinfo=UTC)
Key: TypeAlias = tuple[str, str, str, str]  # group, plural, namespace, name
Kind: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

_UNCOUNTED: Final = {"", "coordination.k8s.io", "rbac.authorization.k8s.io"}  # groups whose objects have no generation
_WITH_STATUS: Final = {"deployments", "customresourcedefinitions", "pods", "services", "persistentvolumeclaims", "ingresses"}
_UNCONDITIONAL: Final = {"nvidia.com", "coordination.k8s.io"}  # groups whose objects are replaced with a resourceVersion only
_KEPT: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


@dataclass
class Record:
    """An object, and who owns its fields."""

    obj: Node
    owners: ownership.Owners = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """One entry of the history; `before` is what selectors are asked about, too."""

    version: int
    key: Key
    kind: Kind
    obj: Node
    before: Node | None


class Storage:
    """All objects and their history, with a version that every write counts up."""

    def __init__(self) -> None:
        """Begins empty, at version 1, as an API server never says 0."""
        self.now = START
        self.records: dict[Key, Record] = {}
        self.history: list[Change] = []
        self.version = 1
        self.oldest = 0  # changes up to this version are forgotten
        self.changed = asyncio.Condition()
        self._uids = count(1)

    def born(self, resource: Resource, obj: Node) -> Record:
        """A new object with what the server gives it; it is not stored yet."""
        metadata: Node = {
            **obj.get("metadata", {}),
            "uid": str(UUID(int=next(self._uids))),
            "creationTimestamp": stamp(self.now),
        }
        metadata.pop("managedFields", None)
        if resource.group not in _UNCOUNTED:
            metadata["generation"] = 1
        new = {"apiVersion": resource.api_version, "kind": resource.kind, **obj, "metadata": metadata}
        if has_status(resource):
            new.pop("status", None)
        return Record(new)

    async def store(self, resource: Resource, draft: Record, record: Record | None, *, dry_run: bool) -> Node:
        """Makes `draft` the new state; a write that changes nothing makes no version, as with a real server."""
        if record is not None and _content(draft.obj) == _content(record.obj) and draft.owners == record.owners:
            return copy_json(record.obj)
        metadata = draft.obj["metadata"]
        metadata["managedFields"] = ownership.shown(draft.owners, resource.api_version)
        if dry_run:
            return copy_json(draft.obj)
        if record is not None and "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            return await self.remove(resource, draft)
        self.version += 1
        metadata["resourceVersion"] = str(self.version)
        key = key_of(resource, metadata.get("namespace", ""), metadata["name"])
        self.records[key] = draft
        await self._tell(Change(self.version, key, "MODIFIED" if record else "ADDED", copy_json(draft.obj), record.obj if record else None))
        return copy_json(draft.obj)

    async def remove(self, resource: Resource, record: Record) -> Node:
        """Takes an object away; what watchers see has the version of that."""
        self.version += 1
        last = copy_json(record.obj)
        last["metadata"]["resourceVersion"] = str(self.version)
        key = key_of(resource, last["metadata"].get("namespace", ""), last["metadata"]["name"])
        del self.records[key]
        await self._tell(Change(self.version, key, "DELETED", last, record.obj))
        return copy_json(last)

    async def wake(self) -> None:
        """Lets all watches look again."""
        async with self.changed:
            self.changed.notify_all()

    async def _tell(self, change: Change) -> None:
        self.history.append(change)
        await self.wake()


def stamp(moment: datetime) -> str:
    """A time as objects say it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def key_of(resource: Resource, namespace: str, name: str) -> Key:
    """The key of an object, the same for every version of a kind."""
    return (resource.group, resource.plural, namespace if resource.namespaced else "", name)


def check(resource: Resource, live: Node, sent: Node, *, whole: bool) -> None:
    """Optimistic locking. Raises ConflictError for another resourceVersion or uid, InvalidError for none where one must be."""
    version, uid = sent.get("metadata", {}).get("resourceVersion"), sent.get("metadata", {}).get("uid")
    name = live["metadata"]["name"]
    if version and version != live["metadata"]["resourceVersion"]:
        raise ConflictError(409, "Conflict", f'Operation cannot be fulfilled on {resource.plural} "{name}": the object has been modified')
    if uid and uid != live["metadata"]["uid"]:
        raise ConflictError(409, "Conflict", f'Operation cannot be fulfilled on {resource.plural} "{name}": the UID differs')
    if whole and not version and resource.group in _UNCONDITIONAL:
        raise InvalidError(422, "Invalid", "metadata.resourceVersion: Invalid value: 0: must be specified for an update")


def keep_immutable(resource: Resource, live: Node, sent: Node) -> None:
    """Secrets and ConfigMaps: the type of one never changes, nor the content of an immutable one. Raises InvalidError."""
    if resource.plural not in {"secrets", "configmaps"}:
        return
    fixed = ["type", *(("data", "binaryData", "immutable") if live.get("immutable") else ())]
    for name in fixed:
        if live.get(name) != sent.get(name):
            why = "field is immutable" if name == "type" else "field is immutable when `immutable` is set"
            raise InvalidError(422, "Invalid", f'{resource.kind} "{live["metadata"]["name"]}" is invalid: {name}: Forbidden: {why}')


def updated(resource: Resource, live: Node, sent: Node, subresource: str) -> Node:
    """What `sent` makes of `live`: the status alone through its subresource, all but the status otherwise; the generation counts."""
    if subresource == "status":
        new = {**copy_json(live), "status": copy_json(sent.get("status"))}
        return {name: value for name, value in new.items() if value is not None}
    new = {**copy_json(sent), "apiVersion": resource.api_version, "kind": resource.kind}
    metadata = {name: value for name, value in (new.get("metadata") or {}).items() if name not in _KEPT}
    metadata |= {name: live["metadata"][name] for name in (*_KEPT, "resourceVersion", "managedFields") if name in live["metadata"]}
    new["metadata"] = metadata
    if has_status(resource):
        new.pop("status", None)
        new |= {"status": copy_json(live["status"])} if "status" in live else {}
    if "generation" in metadata and _desired(new) != _desired(live):
        metadata["generation"] += 1
    return new


def has_status(resource: Resource) -> bool:
    """Whether the kind's status is a subresource."""
    return resource.group == "nvidia.com" or resource.plural in _WITH_STATUS


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return copy_json(patch)
    base = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            base.pop(name, None)
        else:
            base[name] = merged(base.get(name), value)
    return base


def _desired(obj: Node) -> Node:
    return {name: value for name, value in obj.items() if name not in {"metadata", "status", "apiVersion", "kind"}}


def _content(obj: Node) -> Node:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in {"managedFields", "resourceVersion"}}
    return {**obj, "metadata": metadata}
