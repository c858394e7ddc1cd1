"""Makes all writes: of children only differences, only of own objects, and a limited number of times against other managers."""

import contextlib
import re
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

from ...api.kinds import GROUP
from ...kube.errors import ConflictError, InvalidError
from ...kube.protocol import ABSENT, Cluster, Node
from ...kube.resources import Resource
from ..common.applied_diff import contains, digest, fingerprint
from ..common.conditions import make_status_patch
from ..common.keys import Key, controller_reference, is_controlled, key_of, kind_and_name, owner_uid, uid_of
from ..common.problems import ContestedError, NameTakenError, StandDownError
from ..common.resources import ADAPTER, APPLIED_HASH, CREATED_ONCE, MANAGER, RECONCILED, RECREATED, resource_of
from ..render.objects import make_co_owner, make_reference
from ..render.service import is_model_service
from .cache import Cache
from .pace import StatusPacer

MAX_REPAIRS: Final = 3  # limit of reverted changes to one child within the window
REPAIR_WINDOW_SECONDS: Final = 600.0  # the window in seconds
MAX_CACHED_CHILDREN: Final = 20_000  # that a server writes differently; forgetting one costs a call without effect
_OTHERS: Final = re.compile(r'conflicts? with "([^"]+)"')


class Writer:
    """Makes all writes of children; `may_write(namespace)` is called before each."""

    def __init__(
        self,
        cluster: Cluster,
        cache: Cache,
        may_write: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
        later: Callable[[Key, float], None] = lambda _key, _seconds: None,
    ) -> None:
        """`later(key, seconds)` is called for a pass that writes a delayed status."""
        self._cluster, self._cache, self.may_write, self._clock = cluster, cache, may_write, clock
        self._pacer, self._later = StatusPacer(clock), later
        self._applied: OrderedDict[str, tuple[str, str]] = OrderedDict()  # uid -> (applied digest, resulting fingerprint)
        self._repaired: dict[Key, deque[float]] = {}
        self._repairs: dict[str, list[tuple[Key, str]]] = {}  # uid of the owner -> reverted children and their changers

    async def put(self, child: Node, owner: Node | None, inherits: Callable[[str], bool] = lambda _: False) -> Node:
        """Create or update a child of `owner` (None for an unowned one); returns the live object.

        `inherits(uid)` returns whether the owner may take over another object's child. Without an owner, an object that another writer
        made is returned as it is, and one that this reconciler made is overwritten unless it has a controller.

        Raises: ApiError; NameTakenError if the name has another owner; ContestedError; StandDownError.
        """
        resource, key = resource_of(child), key_of(child)
        wanted = mark_applied(child)
        live = self._cache.get(key)
        if live is None and (made := await self._created(key, wanted)) is not None:
            return made
        live = live or await self._cluster.get(resource, key.name, key.namespace)
        if live is not None and owner is not None and key.kind not in CREATED_ONCE and await self.drop_left_behind(live, owner):
            if (made := await self._created(key, wanted)) is not None:
                return made
            live = await self._cluster.get(resource, key.name, key.namespace)
        if live is not None and not self._is_ours(live, owner):
            if owner is None or key.kind in CREATED_ONCE:
                return live
            if _is_shared(live, wanted) and not inherits(owner_uid(live)):
                return await self._share(key, live, owner)
            live = await self._take(key, live, owner, inherits)
        if live is not None and (key.kind in CREATED_ONCE or live["metadata"].get("deletionTimestamp")):
            return live
        if live is not None and self._is_same(live, wanted):
            return live
        self._check_may_write(key.namespace)
        with self._cache.writing(key):
            if key.kind in CREATED_ONCE:
                return self._record_write(wanted, await self._cluster.create(resource, wanted, key.namespace))
            return self._record_write(wanted, await self._apply(key, wanted, live))

    def pop_repairs(self, owner: Node) -> list[tuple[Key, str]]:
        """The owner's children reverted since the last call, and who had changed them."""
        return self._repairs.pop(uid_of(owner), [])

    async def scale(self, obj: Node, replicas: int, owner: Node) -> None:
        """Scale another controller's object. Raises: ApiError, ContestedError, StandDownError."""
        key, mark = key_of(obj), ("replicas", str(replicas))
        self._check_may_write(key.namespace)
        if self._applied.get(uid_of(obj)) == mark:
            message = f"it has {obj['spec'].get('replicas')} replicas instead of {replicas}"
            self._contest(key, uid_of(owner), ["others through its scale"], message)
        patch = {"metadata": {"uid": uid_of(obj)}, "spec": {"replicas": replicas}}
        scaled = await self._cluster.merge_patch(resource_of(obj), key.name, patch, key.namespace, subresource="scale")
        self._remember(uid_of(obj), mark)
        # the response is only the scale
        metadata = {**obj["metadata"], "resourceVersion": scaled["metadata"]["resourceVersion"]}
        metadata["generation"] = metadata.get("generation", 0) + 1
        self._cache.add_write({**obj, "metadata": metadata, "spec": {**obj["spec"], "replicas": replicas}})

    async def drop(self, obj: Node, grace: int | None = None) -> None:
        """Delete an object, if it still has this uid; a pod has `grace` seconds to end. Raises: ApiError, StandDownError."""
        key = key_of(obj)
        self._check_may_write(key.namespace)
        try:
            await self._cluster.delete(resource_of(obj), key.name, key.namespace, uid=uid_of(obj), grace=grace)
        except ConflictError:
            return  # another object has the name now
        self._cache.forget_write(key)

    async def drop_left_behind(self, live: Node, owner: Node) -> bool:
        """Delete an object of an earlier owner of the same name; returns whether it was one. Raises: ApiError, StandDownError.

        The garbage collector doesn't notice if the API server restarts between the deletion of an owner and the creation of the next one.
        """
        owners = live["metadata"].get("ownerReferences") or []
        if live["metadata"].get("deletionTimestamp") or len(owners) != 1 or not _is_predecessor(owners[0], owner):
            return False
        # the owner that asks may be the earlier one
        fresh = await self._cluster.get(resource_of(owner), key_of(owner).name, key_of(owner).namespace)
        if fresh is None or uid_of(fresh) != uid_of(owner):
            return False
        await self.drop(live)
        return True

    async def patch_status(self, obj: Node, status: Node) -> bool:
        """Write a changed status, mere progress perhaps later; returns whether it was written. Raises: ApiError, StandDownError."""
        before = obj.get("status") or {}
        patch = make_status_patch(before, status)
        if patch is None:
            return False
        self.check_may_write(obj)
        key = key_of(obj)
        if (seconds := self._pacer.delay(key, before, status)) > 0:
            self._later(key, seconds)
            return False
        with self._cache.writing(key):
            made = await self._cluster.merge_patch(resource_of(obj), key.name, {"status": patch}, key.namespace, subresource="status")
            self._cache.add_write(made)
        return True

    async def merge(self, obj: Node, resource: Resource, name: str, change: Node) -> Node:
        """Merge a change into an object or one of its children; returns the changed one. Raises: ApiError, StandDownError."""
        self.check_may_write(obj)
        made = await self._cluster.merge_patch(resource, name, change, key_of(obj).namespace)
        self._cache.add_write(made)
        return made

    async def patch_metadata(self, obj: Node, metadata: Node) -> Node:
        """Merge a change into an object's metadata; returns the object. Raises: ApiError, StandDownError."""
        return await self.merge(obj, resource_of(obj), key_of(obj).name, {"metadata": metadata})

    def check_may_write(self, obj: Node) -> None:
        """Raises: StandDownError if nothing may be written for the object any more."""
        self._check_may_write(key_of(obj).namespace)

    def _check_may_write(self, namespace: str) -> None:
        if not self.may_write(namespace):
            raise StandDownError(namespace)

    @staticmethod
    def _is_ours(live: Node, owner: Node | None) -> bool:
        """Whether the object may be written. An unowned object is left alone if the wanted one is unowned too."""
        if owner is None:
            return APPLIED_HASH in (live["metadata"].get("annotations") or {}) and controller_reference(live) is None
        return is_controlled(live, owner)

    async def _take(self, key: Key, live: Node, owner: Node, inherits: Callable[[str], bool]) -> Node:
        """Change the owner of an own object that lost it, or whose owner hands it over. Raises: NameTakenError."""
        controller = controller_reference(live)
        if not (inherits(str(controller.get("uid"))) if controller else await self._is_orphan(key, live, owner)):
            whose = f"belongs to {controller['kind']} {controller['name']}" if controller else "was created by another client"
            raise NameTakenError(f"{key.kind} {key.name} {whose}, and is left alone; rename or remove it")
        others = [
            other
            for other in live["metadata"].get("ownerReferences") or ()
            if not other.get("controller") and other["uid"] != uid_of(owner)
        ]
        return await self._own(key, live, {"op": "add", "path": "/metadata/ownerReferences", "value": [*others, make_reference(owner)]})

    async def _share(self, key: Key, live: Node, owner: Node) -> Node:
        """Add an owner reference to an object that another graph controls, so that it isn't collected."""
        references = live["metadata"]["ownerReferences"]
        if any(entry["uid"] == uid_of(owner) for entry in references):
            return live
        return await self._own(key, live, {"op": "add", "path": "/metadata/ownerReferences/-", "value": make_co_owner(owner)})

    async def _own(self, key: Key, live: Node, step: Node) -> Node:
        self._check_may_write(key.namespace)
        steps = [{"op": "test", "path": "/metadata/uid", "value": uid_of(live)}, step]
        made = await self._cluster.json_patch(resource_of(live), key.name, steps, key.namespace)
        self._cache.add_write(made)
        return made

    async def _is_orphan(self, key: Key, live: Node, owner: Node) -> bool:
        """Whether an own object lost its owner, as after `kubectl delete --cascade=orphan`."""
        if any(entry["uid"] == uid_of(owner) for entry in live["metadata"].get("ownerReferences") or ()):
            return True
        if APPLIED_HASH not in (live["metadata"].get("annotations") or {}):
            return False
        fresh = await self._cluster.get(resource_of(live), key.name, key.namespace)  # the cache has no managedFields
        if fresh is None or uid_of(fresh) != uid_of(live) or controller_reference(fresh) is not None:
            return False
        managers = fresh["metadata"].get("managedFields") or ()
        return any((manager.get("manager"), manager.get("operation")) == (MANAGER, "Apply") for manager in managers)

    def _is_same(self, live: Node, wanted: Node) -> bool:
        mark = wanted["metadata"]["annotations"][APPLIED_HASH]
        if (live["metadata"].get("annotations") or {}).get(APPLIED_HASH) != mark:
            return False
        applied = self._applied.get(uid_of(live))
        return contains(live, wanted) or (applied is not None and applied == (mark, fingerprint(live)))

    async def _created(self, key: Key, wanted: Node) -> Node | None:
        """The created object; None if the name exists, or the kind isn't watched."""
        if key.kind in CREATED_ONCE or not self._cache.knows(key.kind):
            return None
        self._check_may_write(key.namespace)
        fresh = {**wanted, "metadata": {**wanted["metadata"], "resourceVersion": ABSENT}}
        with self._cache.writing(key), contextlib.suppress(ConflictError):
            return self._record_write(wanted, await self._cluster.apply(resource_of(wanted), fresh, manager=MANAGER))
        return None

    async def _apply(self, key: Key, wanted: Node, live: Node | None) -> Node:
        resource = resource_of(wanted)
        try:
            return await self._cluster.apply(resource, wanted, manager=MANAGER)
        except InvalidError:
            if key.kind not in RECREATED or live is None:
                raise
            await self._cluster.delete(resource, key.name, key.namespace, uid=uid_of(live))
            return await self._cluster.apply(resource, wanted, manager=MANAGER)
        except ConflictError as error:
            others = sorted({name for name in _OTHERS.findall(error.message) if name != MANAGER})
            if live is None or (key.kind == ADAPTER and not await self._is_newest(key, live)):
                raise
            if others and key.kind != ADAPTER:
                self._contest(key, owner_uid(wanted), others, error.message)
        self._check_may_write(key.namespace)
        return await self._cluster.apply(resource, wanted, manager=MANAGER, force=True)

    async def _is_newest(self, key: Key, live: Node) -> bool:
        """Whether the decision was based on the current state, so as not to overwrite an autoscaler's newer number."""
        fresh = await self._cluster.get(resource_of(live), key.name, key.namespace)
        if fresh is not None and fresh["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]:
            self._cache.add_write(fresh)
            return False
        return fresh is not None

    def _contest(self, key: Key, owner: str, others: list[str], message: str) -> None:
        """Count others' changes of a child, for the owner's status. Raises: ContestedError if there are too many."""
        if len(self._repaired) > MAX_CACHED_CHILDREN:
            self._repaired = {child: then for child, then in self._repaired.items() if self._clock() - then[-1] < REPAIR_WINDOW_SECONDS}
        times = self._repaired.setdefault(key, deque(maxlen=MAX_REPAIRS))
        if len(times) == MAX_REPAIRS and self._clock() - times[0] < REPAIR_WINDOW_SECONDS:
            raise ContestedError(f"{key.kind} {key.name} is changed again and again by {', '.join(others)}, and is left alone: {message}")
        times.append(self._clock())
        if owner:
            self._repairs.setdefault(owner, []).append((key, ", ".join(others)))

    def _record_write(self, wanted: Node, made: Node) -> Node:
        if contains(made, wanted):
            self._applied.pop(uid_of(made), None)
        else:
            self._remember(uid_of(made), (wanted["metadata"]["annotations"][APPLIED_HASH], fingerprint(made)))
        self._cache.add_write(made)
        return made

    def _remember(self, uid: str, what: tuple[str, str]) -> None:
        self._applied[uid] = what
        self._applied.move_to_end(uid)
        while len(self._applied) > MAX_CACHED_CHILDREN:
            self._applied.popitem(last=False)


def _is_shared(live: Node, wanted: Node) -> bool:
    """Whether another graph's object satisfies this graph too."""
    if controller_reference(live) is None or not is_model_service(live["kind"], live["metadata"]["name"]):
        return False
    return str((controller_reference(live) or {})["apiVersion"]).startswith(f"{GROUP}/") and contains(live["spec"], wanted["spec"])


def _is_predecessor(former: Node, owner: Node) -> bool:
    """Whether an owner reference names another object of the owner's group, kind and name."""
    group, ours = (str(each["apiVersion"]).rpartition("/")[0] for each in (former, owner))
    return (group, former["kind"], former["name"]) == (ours, *kind_and_name(owner)) and former["uid"] != uid_of(owner)


def mark_applied(child: Node) -> Node:
    """Return the child to apply: with its digest, and with the reconciler's label unless its whole kind is watched."""
    metadata = child["metadata"]
    labels = dict(metadata.get("labels") or {})
    if not str(child["apiVersion"]).startswith(f"{GROUP}/"):
        labels[RECONCILED] = "true"
    annotations = {**(metadata.get("annotations") or {}), APPLIED_HASH: digest(child)}
    return {**child, "metadata": {**metadata, **({"labels": labels} if labels else {}), "annotations": annotations}}
