"""What the cluster holds, as last heard of or written by ourselves, who owns what, and which objects a change concerns."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from ...kube.clocks import LOCAL, Clocks
from ...kube.protocol import Cluster, Node
from ...kube.reflector import Reflector, Several, Subscriber, WatchState
from ...kube.resources import PODS, SERVICE_ACCOUNTS, Resource
from ..common.conditions import condition_of as found
from ..common.keys import Key, controller_reference, key_of, move_key, owner_uid
from ..common.problems import cut_nested
from ..common.resources import (
    ADAPTER,
    CLIQUE,
    CLIQUE_GROUP,
    CLIQUES,
    COMPONENT,
    GRAPH,
    LWS,
    MAIN,
    OPTED,
    POD_ACCOUNT,
    RECONCILED,
    REQUESTS,
    SET_NAME,
    STATEFUL_SET,
    WATCHED,
    WORKER_METADATA,
)
from ..common.resources import REQUEST_NAME as REQUEST
from ..common.workers import components_of_worker
from ..render.names import GRAPH_NAME

Changed = Callable[[Node | None, Node | None, bool], None]

KEPT: Final = 60.0  # seconds for which our own write is believed without having been heard of
_NEEDED: Final = (GRAPH, COMPONENT)
_OPTED: Final = frozenset(each.kind for each in OPTED)  # graphs wait for none of them
_OURS: Final = frozenset(each.kind for each in MAIN)
_SHALLOW: Final = frozenset({"Deployment", "Service", "ServiceAccount", "Role", "RoleBinding"})  # their schemas end before any bound
_UNREAD: Final = {CLIQUE: "podSpec", STATEFUL_SET: "template"}  # of their specs
# selections by labels and fields
EVERY: Final = ("", "")
_LABELLED: Final = (f"{RECONCILED}=true", "")
ACCOUNTS: Final = "accounts of pods"  # the name of a selection that is no kind's only one
MOST: Final = 8192  # parts in one generation of what is remembered
_PARTS: Final = frozenset({str, dict, list})


class Cache:
    """One reflector a kind, an index by owner, and our own writes until they are heard of: what we wrote we also read."""

    def __init__(
        self,
        cluster: Cluster,
        namespaces: Sequence[str],
        changed: Changed,
        reduce: Mapping[str, Callable[[Node], None]] = MappingProxyType({}),
        *,
        clocks: Clocks = LOCAL,
    ) -> None:
        """An empty namespace is all. `changed(old, new, ours)`: ours is what our last write gave back. `reduce` drops unread parts."""
        self._cluster, self._namespaces, self._changed, self._reduce = cluster, namespaces, changed, reduce
        self._clocks, self._clock = clocks, clocks.monotonic
        self._owned: dict[str, set[Key]] = {}  # uid of the owner -> what it controls
        self._scaling: dict[Key, set[Key]] = {}  # graph -> adapters that name it
        self._accounts: dict[str, set[str]] = {}  # namespace -> accounts of pods
        self._written: dict[Key, tuple[float, Node]] = {}
        self._held: dict[Key, list[tuple[Node | None, Node | None]]] = {}  # heard while a write of the object is under way
        self._tasks: list[asyncio.Task[None]] = []
        self._sharing = Sharing()
        self.reflectors: dict[str, Several] = {each.kind: self._reflector(each, EVERY) for each in (*MAIN, *OPTED)}
        self.reflectors |= {each.kind: self._reflector(each, _LABELLED) for each in WATCHED}
        self.reflectors[ACCOUNTS] = self._reflector(SERVICE_ACCOUNTS, (f"{POD_ACCOUNT}=true", ""), hear=self._hear_account)

    def start(self) -> None:
        """Begins to listen."""
        self._tasks += [asyncio.ensure_future(each.run()) for each in self.reflectors.values()]

    def also(self, resource: Resource, *selections: tuple[str, str], namespaces: Sequence[str] | None = None) -> None:
        """Listens to one more kind, once: to what has our label, or to selections by labels and fields, of all namespaces or some."""
        if resource.kind not in self.reflectors:
            made = self.reflectors[resource.kind] = self._reflector(resource, *(selections or (_LABELLED,)), namespaces=namespaces)
            self._tasks.append(asyncio.ensure_future(made.run()))

    async def close(self) -> None:
        """Listens no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def waiting(self) -> list[str]:
        """Kinds without which nothing may be decided: neither listed nor, but for graphs and components, known to be unreadable."""
        lacking = [kind for kind, each in self.reflectors.items() if not each.synced.is_set() and kind not in _OPTED]
        known = (WatchState.FORBIDDEN, WatchState.ABSENT)
        return [kind for kind in lacking if kind in _NEEDED or self.reflectors[kind].state not in known]

    def lacking(self) -> dict[str, str]:
        """Kinds that can't be read, and why."""
        return {kind: each.reason for kind, each in self.reflectors.items() if each.state in (WatchState.FORBIDDEN, WatchState.ABSENT)}

    def unreadable(self) -> list[str]:
        """Those that somebody must do something about: forbidden kinds, and missing definitions of ours."""
        return [kind for kind in self.lacking() if kind in _OURS or self.reflectors[kind].state is WatchState.FORBIDDEN]

    def knows(self, kind: str) -> bool:
        """Whether all of our objects of a kind are here, so that one that isn't is not there."""
        known = self.reflectors.get(kind)
        return known is not None and known.synced.is_set()

    def get(self, key: Key) -> Node | None:
        """An object, not to be changed; None when there is none, or none of ours."""
        known = self.reflectors.get(key.kind)
        heard = known.get(key.name, key.namespace) if known is not None else None
        mine = self._written.get(key)
        if mine is not None and self._clock() - mine[0] > KEPT:
            del self._written[key]
            mine = None
        if mine is None or (heard is not None and _version(heard) >= _version(mine[1])):
            return heard
        return mine[1]

    def owned(self, owner: Node) -> list[Node]:
        """What an object controls, in a stable order; what names it as its owner from another namespace is not its."""
        keys, where = self._owned.get(str(owner["metadata"].get("uid")), ()), key_of(owner).namespace
        found = (self.get(key) for key in sorted(keys) if key.namespace == where)
        return [one for one in found if one is not None]

    def account(self, namespace: str) -> str:
        """The account of pods in a namespace that says nothing else of them, the first by name; empty without one."""
        return min(self._accounts.get(namespace, ()), default="")

    def scaling(self, graph: Key) -> list[Key]:
        """The adapters that name a graph, in a stable order."""
        return sorted(self._scaling.get(graph, ()))

    def all(self, kind: str, namespace: str = "") -> list[Node]:
        """All objects of a kind, of one namespace or of every one."""
        known = self.reflectors.get(kind)
        return known.all(namespace) if known is not None else []

    @contextlib.contextmanager
    def writing(self, key: Key) -> Iterator[None]:
        """During a write, changes of its object are told of only afterwards: half of all writes are heard of before they are answered."""
        self._held.setdefault(key, [])
        try:
            yield
        finally:
            for old, new in self._held.pop(key, ()):
                self._tell(key, old, new)

    def wrote(self, obj: Node) -> None:
        """Takes what a write gave back, until the watch has it too."""
        key, now = key_of(self._lighten(obj)), self._clock()
        while self._written and now - next(iter(self._written.values()))[0] > KEPT:  # of kinds that nobody watches, too
            del self._written[next(iter(self._written))]
        self._written.pop(key, None)
        self._written[key] = (now, obj)
        self._index(key, obj)

    def removed(self, key: Key) -> None:
        """An object is gone by our doing."""
        self._written.pop(key, None)

    def _reflector(
        self, resource: Resource, *selections: tuple[str, str], namespaces: Sequence[str] | None = None, hear: Subscriber | None = None
    ) -> Several:
        makes = [partial(self._selected, resource, labels=labels, fields=fields) for labels, fields in selections]
        made = Several(self._namespaces if namespaces is None else namespaces, *makes)
        made.subscribe(hear or self._hear)
        return made

    def _selected(self, resource: Resource, namespace: str, *, labels: str, fields: str) -> Reflector:
        return Reflector(self._cluster, resource, namespace, labels=labels, fields=fields, trim=self._trim, clocks=self._clocks)

    def _hear_account(self, old: Node | None, new: Node | None) -> None:
        for obj, change in ((old, set.discard), (new, set.add)):
            if obj is not None:
                change(self._accounts.setdefault(key_of(obj).namespace, set()), str(obj["metadata"]["name"]))

    def _trim(self, obj: Node) -> None:
        self._sharing.share(self._lighten(obj))

    def _lighten(self, obj: Node) -> Node:
        """Drops unread parts, often half of an object. The object is the cache's own: a reflector's, or the response to a write."""
        obj["metadata"].pop("managedFields", None)
        if obj["kind"] not in _SHALLOW:
            cut_nested(obj)
        if (reduce := self._reduce.get(obj["kind"])) is not None:
            reduce(obj)
        if (unread := _UNREAD.get(obj["kind"])) is not None:
            (obj.get("spec") or {}).pop(unread, None)
        return obj

    def _hear(self, old: Node | None, new: Node | None) -> None:
        seen = new or old
        if seen is None:
            return
        key = key_of(seen)
        self._index(key, new, old)
        if key in self._held:
            self._held[key].append((old, new))
        else:
            self._tell(key, old, new)

    def _tell(self, key: Key, old: Node | None, new: Node | None) -> None:
        mine = self._written.get(key)
        ours = mine is not None and new is not None and _version(new) == _version(mine[1])
        if mine is not None and (new is None or _version(new) >= _version(mine[1])):
            del self._written[key]
        self._changed(old, new, ours)

    def _index(self, key: Key, new: Node | None, old: Node | None = None) -> None:
        move_key(self._owned, key, owner_uid(old), owner_uid(new))
        if key.kind == ADAPTER:
            move_key(self._scaling, key, _scaled(old), _scaled(new))


def _scaled(obj: Node | None) -> Key | None:
    """The graph that an adapter names."""
    name = (((obj or {}).get("spec") or {}).get("dgdRef") or {}).get("name")
    return Key(GRAPH, key_of(obj).namespace, str(name)) if obj is not None and name else None


def _version(obj: Node) -> int:
    """Versions are numbers in fact, whatever they are in name; one that isn't is never newer."""
    text = str(obj["metadata"].get("resourceVersion") or "")
    return int(text) if text.isascii() and text.isdigit() else 0


class Sharing:
    """Remembers the parts that were met lately, in two generations: what is not met again in the time of one is forgotten."""

    def __init__(self) -> None:
        self._now: dict[object, Any] = {}
        self._before: dict[object, Any] = {}

    def __len__(self) -> int:
        return len(self._now) + len(self._before)

    def share(self, obj: dict[str, Any]) -> None:
        """Replaces the parts of an object, which must be the caller's alone, by equal ones that are known."""
        for name, value in obj.items():
            obj[name] = self._part(value)

    def _part(self, value: Any) -> Any:
        """An equal value. Parts of a known map or list live as long as it does, so that their identities tell them apart."""
        kind = type(value)
        if kind is str:
            return self._known(value, value)
        if kind is dict:
            for name, one in value.items():
                if type(one) in _PARTS:
                    value[name] = self._part(one)
            return self._known((dict, *value, *map(id, value.values())), value)
        if kind is list:
            value[:] = map(self._part, value)
            return self._known((list, *map(id, value)), value)
        return value

    def _known(self, key: object, value: Any) -> Any:
        known = self._now.get(key)
        if known is None:
            if len(self._now) >= MOST:
                self._before, self._now = self._now, {}
            known = self._now[key] = self._before.pop(key, value)
        return known


_TOLD = frozenset({"phase", "currentPodTemplateHash"})  # words of an orchestrator's status that count
_OWN: Final = _OURS | _OPTED


def route_change(old: Node | None, new: Node | None, cache: Cache, *, ours: bool = False) -> list[Key]:
    """The keys to pass over. An owner's pass knows what it has just written (`ours`); status is another pass's."""
    seen = new or old
    if seen is None:
        return []
    key = key_of(seen)
    keys: list[Key] = []
    if key.kind in _OWN and (old is None or new is None or read_intent(old) != read_intent(new)):
        keys.append(key)
    elif key.kind in _OPTED and not ours and old is not None and new is not None and old.get("status") != new.get("status"):
        keys.append(key)  # another controller may have begun, or ended, to act on it
    known = ours and (key.kind not in _OWN or (old or {}).get("status") == (new or {}).get("status"))
    owner = controller_reference(seen)
    if not known:
        # an owner that is gone may have been the one that controlled it: what else waits for that object, its pass finds
        keys += [one for one, controls in _owners(old, new, key.namespace).items() if controls or cache.get(one) is not None]
    if owner is not None and owner.get("kind") in (CLIQUES, CLIQUE_GROUP) and not known and _counted(old) != _counted(new):
        keys += _of_set(Key(str(owner["kind"]), key.namespace, str(owner["name"])), cache)
    if key.kind == PODS.kind and _counted(old) != _counted(new):
        keys.append(Key(GRAPH, key.namespace, str(seen["metadata"]["labels"].get(GRAPH_NAME))))
    if key.kind == STATEFUL_SET and _counted(old) != _counted(new):
        keys += _of_set(Key(LWS, key.namespace, str((seen["metadata"].get("labels") or {}).get(SET_NAME))), cache)
    if key.kind == COMPONENT and owner is None and (graph := (seen["metadata"].get("labels") or {}).get(GRAPH_NAME)):
        keys.append(Key(GRAPH, key.namespace, str(graph)))
    if key.kind == WORKER_METADATA.kind and (old is None or new is None):
        found_components = (cache.get(one) for one in components_of_worker(seen))
        keys += [one for obj in found_components if obj is not None for one in _owners(None, obj, key.namespace)]
    if key.kind == GRAPH and (name := (seen["metadata"].get("labels") or {}).get(REQUEST)) and _state(old) != _state(new):
        keys.append(Key(REQUESTS.kind, key.namespace, str(name)))
    if key.kind == GRAPH and (old is None or new is None or old.get("spec") != new.get("spec")):
        keys += cache.scaling(key)
    return keys


def is_overwritten(old: Node | None, new: Node | None, *, ours: bool) -> bool:
    """Whether somebody else has written the status of an object of ours, of which its own pass must have another look."""
    if ours or old is None or new is None or new["kind"] not in _OURS:
        return False
    return bool(old.get("status") != new.get("status"))


def _state(graph: Node | None) -> object:
    """What the request that a graph was made for reads of it."""
    if graph is None:
        return None
    metadata, status = graph["metadata"], graph.get("status") or {}
    return metadata.get("uid"), metadata.get("labels"), status.get("state"), status.get("components"), found(status, "Ready")


def _of_set(key: Key, cache: Cache) -> list[Key]:
    """What a set of cliques, a group in one, or a set of leaders and workers belongs to."""
    found = cache.get(key)
    owner = controller_reference(found) if found is not None else None
    if owner is not None and owner.get("kind") == CLIQUES:
        return _of_set(Key(CLIQUES, key.namespace, str(owner["name"])), cache)
    return [Key(str(owner["kind"]), key.namespace, str(owner["name"]))] if owner is not None and owner.get("kind") in _OWN else []


def _counted(obj: Node | None) -> object:
    """What a pass reads of an object that an orchestrator has made."""
    if obj is None:
        return None
    status = {name: value for name, value in (obj.get("status") or {}).items() if isinstance(value, int | float) or name in _TOLD}
    return obj["metadata"].get("uid"), obj["metadata"].get("deletionTimestamp"), (obj.get("spec") or {}).get("replicas"), status


def _owners(old: Node | None, new: Node | None, namespace: str) -> dict[Key, bool]:
    """All owners that an object has or had, of any number, and whether they control it: one that shares it, or has lost it, looks again."""
    found: dict[Key, bool] = {}
    for one in (one for obj in (old, new) if obj is not None for one in obj["metadata"].get("ownerReferences") or ()):
        if one.get("kind") in _OWN:
            key = Key(str(one["kind"]), namespace, str(one["name"]))
            found[key] = found.get(key, False) or bool(one.get("controller"))
    return found


def read_intent(obj: Node) -> object:
    """What somebody else than we may have changed."""
    names = ("uid", "generation", "annotations", "labels", "finalizers", "deletionTimestamp")
    return [obj["metadata"].get(name) for name in names], obj.get("spec")
