"""An API server in memory: a kube.protocol.Cluster for tests of rooms that speak to one.

tests/cluster/test_kube.py asks the same of it and of a real API server.
No schemas, no admission and no controllers; objects are stored as sent. Its clock moves only when a test moves it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from typing import Any, Final, TypeAlias

import jsonpatch

from dynamo_webhooks.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    NotServedError,
    UnavailableError,
)
from dynamo_webhooks.kube.protocol import Event, Listing, Node, Trim
from dynamo_webhooks.kube.resources import ACCESS_REVIEWS, Resource
from tests.kube import ownership
from tests.kube.copies import copy_json
from tests.kube.selectors import fields_match, labels_match
from tests.kube.storage import Change, Key, Kind, Record, Storage, check, keep_immutable, key_of, merged, stamp, updated

Fault: TypeAlias = "Callable[[str, Resource | None, str, str], Exception | None]"

_RBAC: Final = {"replace": "update", "json_patch": "patch", "merge_patch": "patch", "apply": "patch", "allowed": ""}
_WITHOUT_STATUS: Final = frozenset({"ConfigMap", "Secret"})


class MemoryCluster:
    """Stores objects by name, notifies watchers, and fails where a test wants it to."""

    def __init__(
        self, manager: str = "tests", *, served: Mapping[str, frozenset[str]] | None = None, storage: Storage | None = None
    ) -> None:
        """`served` are the groups beside the core group; `manager` owns fields that are written without apply.

        Two clients of one API server are two clusters with one `storage`, each with faults of its own.
        """
        self.storage = storage or Storage()  # `storage.now` is the server's clock, moved by tests
        self.served: dict[str, frozenset[str]] = {"": frozenset({"v1"}), **(served or {})}
        self.discovery: dict[tuple[str, str], list[Node]] = {}  # (group, version) -> what `resources` says
        self.denied: set[tuple[str, str]] = set()  # (RBAC verb, plural) that `allowed` denies and that calls are forbidden for
        self.writes: list[tuple[str, str, str]] = []  # (verb, plural, name) of everything that was asked to be written, in order
        self.refused: set[tuple[str, str]] = set()  # (RBAC verb, plural) that reviews of other users' access deny
        self.closed = False
        self._manager = manager
        self._faults: list[Fault] = []
        self._breaks = 0

    def fail(self, fault: Fault) -> Callable[[], None]:
        """Calls `fault(verb, resource, namespace, name)` before each call and raises its result; returns a function that removes it.

        Verbs are the protocol's method names; `groups`, `resources` and `server_time` have no resource. A watch is asked once.
        """
        self._faults.append(fault)
        return lambda: self._faults.remove(fault)

    async def forget(self) -> None:
        """Forgets all changes until now, as a compaction does, and ends all watches: one that goes on from before is Gone."""
        self.storage.oldest = self.storage.version
        self.storage.history.clear()
        await self.break_watches()

    async def break_watches(self) -> None:
        """Ends all watches in order, as a server that goes down does."""
        self._breaks += 1
        await self.storage.wake()

    def names(self, resource: Resource) -> set[tuple[str, str]]:
        """The (namespace, name) pairs of all objects of a resource."""
        return {(key[2], key[3]) for key in self.storage.records if _within(key, resource, "")}

    async def get(self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "") -> Node | None:
        """Reads a copy."""
        await self._ask("get", resource, namespace, name)
        if subresource not in ("", "status"):
            raise NotFoundError(404, "NotFound", f"no subresource {subresource} in memory")
        record = self.storage.records.get(key_of(resource, namespace, name))
        return None if record is None else _seen(record.obj, resource)

    async def list(
        self, resource: Resource, namespace: str = "", *, fields: str = "", labels: str = "", limit: int = 500, trim: Trim | None = None
    ) -> Listing:
        """Lists in the order of namespace and name, as etcd does."""
        await self._ask("list", resource, namespace, "")
        fields_match({}, fields)
        if limit < 0:
            raise InvalidError(400, "BadRequest", f"limit must not be negative, seen {limit}")
        objects = [
            _seen(record.obj, resource)
            for key, record in sorted(self.storage.records.items(), key=lambda item: item[0])
            if _within(key, resource, namespace) and fields_match(record.obj, fields) and labels_match(record.obj, labels)
        ]
        if trim is not None:
            for obj in objects:
                trim(obj)
        return Listing(objects, str(self.storage.version))

    async def watch(
        self, resource: Resource, namespace: str = "", *, version: str, fields: str = "", labels: str = "", seconds: int = 300
    ) -> AsyncGenerator[Event]:
        """Streams until `break_watches` or `forget`; the end after `seconds` would need a clock, and is left to those."""
        if seconds <= 0:
            raise InvalidError(400, "BadRequest", f"timeoutSeconds must be positive, seen {seconds}")
        await self._ask("watch", resource, namespace, "")
        seen, breaks, storage = int(version), self._breaks, self.storage

        def news() -> bool:
            return storage.version > seen or self._breaks != breaks

        while True:
            if seen < storage.oldest:
                raise GoneError(410, "Expired", f"too old resource version: {seen} ({storage.oldest + 1})")
            begin = bisect_right(storage.history, seen, key=lambda each: each.version)
            changes, seen = storage.history[begin:], max(seen, storage.version)
            for change in changes:
                if _within(change.key, resource, namespace) and (kind := _kind(change, fields, labels)):
                    yield Event(kind, _seen(change.obj, resource))
            if self._breaks != breaks:
                return
            async with storage.changed:
                await storage.changed.wait_for(news)

    async def create(self, resource: Resource, obj: Node, namespace: str = "", *, dry_run: bool = False) -> Node:
        """Stores a new object; answers a review, which is none."""
        if resource is ACCESS_REVIEWS:
            await self._ask("create", resource, "", "")
            attributes = obj["spec"]["resourceAttributes"]
            return {**obj, "status": {"allowed": (attributes["verb"], attributes["resource"]) not in self.refused}}
        metadata = dict(obj.get("metadata") or {})
        where = (namespace or metadata.get("namespace", "")) if resource.namespaced else ""
        record = self.storage.born(
            resource, {**copy_json(obj), "metadata": copy_json({**metadata, **({"namespace": where} if where else {})})}
        )
        born: Node = record.obj["metadata"]
        if not born.get("name") and born.get("generateName"):
            born["name"] = f"{born['generateName']}{born['uid'][-5:]}"
        name = born.get("name", "")
        await self._ask("create", resource, where, name)
        if not name or (resource.namespaced and not where):
            raise InvalidError(422, "Invalid", f"{resource.kind} must have a name and, when namespaced, a namespace")
        if born.get("resourceVersion"):
            raise UnavailableError(500, "", "resourceVersion should not be set on objects to be created")  # a real server says 500
        if key_of(resource, where, name) in self.storage.records:
            raise AlreadyExistsError(409, "AlreadyExists", f'{resource.plural} "{name}" already exists')
        ownership.written({}, record.obj, record.owners, self._manager)
        return await self.storage.store(resource, record, None, dry_run=dry_run)

    async def replace(self, resource: Resource, obj: Node, *, subresource: str = "", dry_run: bool = False) -> Node:
        """Stores the sent object with the fields that the server owns."""
        name, namespace = obj["metadata"]["name"], obj["metadata"].get("namespace", "")
        record = await self._found("replace", resource, name, namespace)
        check(resource, record.obj, obj, whole=True)
        return await self._update(resource, record, obj, subresource, dry_run=dry_run)

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
        """RFC 6902 by the jsonpatch library."""
        record = await self._found("json_patch", resource, name, namespace)
        try:
            after: Node = jsonpatch.apply_patch(copy_json(record.obj), [*operations], in_place=True)
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            raise InvalidError(422, "Invalid", f"the patch of {resource.plural} {name!r} does not fit: {error}") from error
        check(resource, record.obj, after, whole=False)
        return await self._update(resource, record, after, subresource, dry_run=dry_run)

    async def merge_patch(
        self, resource: Resource, name: str, patch: Node, namespace: str = "", *, subresource: str = "", dry_run: bool = False
    ) -> Node:
        """RFC 7386."""
        record = await self._found("merge_patch", resource, name, namespace, subresource)
        check(resource, record.obj, patch, whole=False)
        after: Any = merged(record.obj, patch)
        return await self._update(resource, record, after, subresource, dry_run=dry_run)

    async def apply(
        self, resource: Resource, obj: Node, *, manager: str, force: bool = False, subresource: str = "", dry_run: bool = False
    ) -> Node:
        """Creates or changes what `manager` owns."""
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        await self._ask("apply", resource, namespace, name)
        record = self.storage.records.get(key_of(resource, namespace, name))
        if record is None:
            if subresource:
                raise NotFoundError(404, "NotFound", f'{resource.plural} "{name}" not found')
            if ("create", resource.plural) in self.denied:
                raise ForbiddenError(403, "Forbidden", f'{resource.plural} "{name}" is forbidden: cannot create {resource.plural}')
            new = self.storage.born(resource, copy_json(obj))
            ownership.apply({}, new.obj, new.owners, manager, force=force)
            return await self.storage.store(resource, new, None, dry_run=dry_run)
        check(resource, record.obj, obj, whole=False)
        owners = deepcopy(record.owners)
        after = ownership.apply(record.obj, ownership.meant(obj, subresource), owners, manager, force=force)
        draft = Record(updated(resource, record.obj, after, subresource), owners)
        return await self.storage.store(resource, draft, record, dry_run=dry_run)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        version: str = "",
        grace: int | None = None,
    ) -> bool:
        """Removes, or marks while finalizers are there."""
        await self._ask("delete", resource, namespace, name)
        record = self.storage.records.get(key_of(resource, namespace, name))
        if record is None:
            return False
        metadata = record.obj["metadata"]
        if uid and metadata["uid"] != uid:
            raise ConflictError(409, "Conflict", f"the UID in the precondition ({uid}) does not match {metadata['uid']}")
        if version and metadata["resourceVersion"] != version:
            raise ConflictError(409, "Conflict", f"the ResourceVersion in the precondition ({version}) does not match")
        if not metadata.get("finalizers"):
            await self.storage.remove(resource, record)
        elif "deletionTimestamp" not in metadata:
            draft = deepcopy(record)
            draft.obj["metadata"] |= {"deletionTimestamp": stamp(self.storage.now), "deletionGracePeriodSeconds": grace or 0}
            if "generation" in metadata:
                draft.obj["metadata"]["generation"] += 1
            await self.storage.store(resource, draft, record, dry_run=False)
        return True

    async def groups(self) -> Mapping[str, frozenset[str]]:
        """What `served` says."""
        await self._ask("groups", None, "", "")
        return dict(self.served)

    async def resources(self, group: str, version: str) -> Sequence[Node]:
        """What `discovery` says."""
        await self._ask("resources", None, "", "")
        if (group, version) not in self.discovery:
            raise NotServedError(404, "NotFound", "the server could not find the requested resource")
        return copy_json(self.discovery[group, version])

    async def allowed(self, verb: str, resource: Resource, namespace: str = "", name: str = "", *, subresource: str = "") -> bool:
        """Everything but what `denied` says."""
        await self._ask("allowed", resource, namespace, name)
        return (verb, f"{resource.plural}/{subresource}" if subresource else resource.plural) not in self.denied

    async def server_time(self) -> datetime:
        """What `storage.now` says."""
        await self._ask("server_time", None, "", "")
        return self.storage.now.replace(microsecond=0)

    async def close(self) -> None:
        """Notes it."""
        self.closed = True

    async def _ask(self, verb: str, resource: Resource | None, namespace: str, name: str, subresource: str = "") -> None:
        await asyncio.sleep(0)  # others run between any two calls, as they do with a server
        if resource is not None:
            resource.path(namespace, name)
        if verb in {"create", "replace", "json_patch", "merge_patch", "apply", "delete"} and resource:
            self.writes.append((verb, resource.plural, name))
        for fault in [*self._faults]:
            if error := fault(verb, resource, namespace, name):
                raise error
        plural = f"{resource.plural}/{subresource}" if resource and subresource else resource.plural if resource else ""
        if (_RBAC.get(verb, verb), plural) in self.denied:
            raise ForbiddenError(403, "Forbidden", f'{plural} "{name}" is forbidden: cannot {_RBAC.get(verb, verb)} {plural}')

    async def _found(self, verb: str, resource: Resource, name: str, namespace: str, subresource: str = "") -> Record:
        await self._ask(verb, resource, namespace, name, subresource)
        record = self.storage.records.get(key_of(resource, namespace, name))
        if record is None:
            raise NotFoundError(404, "NotFound", f'{resource.plural} "{name}" not found')
        return record

    async def _update(self, resource: Resource, record: Record, sent: Node, subresource: str, *, dry_run: bool) -> Node:
        keep_immutable(resource, record.obj, sent)
        if subresource and resource.kind in _WITHOUT_STATUS:
            raise NotFoundError(404, "NotFound", "the server could not find the requested resource")
        draft = Record(updated(resource, record.obj, sent, subresource), deepcopy(record.owners))
        ownership.written(record.obj, draft.obj, draft.owners, self._manager)
        return await self.storage.store(resource, draft, record, dry_run=dry_run)


def _within(key: Key, resource: Resource, namespace: str) -> bool:
    return key[:2] == (resource.group, resource.plural) and namespace in ("", key[2])


def _seen(obj: Node, resource: Resource) -> Node:
    """A copy in the version that is asked for; nothing but the name of the version is converted."""
    return {**copy_json(obj), "apiVersion": resource.api_version}


def _kind(change: Change, fields: str, labels: str) -> Kind | None:
    """What a watcher with selectors sees: an object that comes to match is added, one that ceases to is deleted."""
    now = change.kind != "DELETED" and fields_match(change.obj, fields) and labels_match(change.obj, labels)
    before = change.before is not None and fields_match(change.before, fields) and labels_match(change.before, labels)
    if now:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else None
