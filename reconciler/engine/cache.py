"""The cache of the cluster's objects, as last reported by a watch or written by this process.

Each watch keeps its objects in memory, without the parts that no code reads, and indexes them by owner and by its `index_values`. The
response to an own write counts until the watch reports that write, so a pass never decides from a state before its own last write. A change
that is reported during a write of the same object is passed on after it, because half of all writes are reported before they are answered.
"""

import asyncio
import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Final

from ...api.operator.configuration import OperatorConfiguration
from ...kube.clocks import LOCAL, Clocks
from ...kube.protocol import Cluster, Node
from ...kube.reflector import MergedReflector, Reflector, WatchState
from ..common.keys import Key, key_of, owner_uid
from ..common.problems import cut_nested
from .sharing import Interner
from .watch import Change, Known, Need, Watch

OWN_WRITE_SECONDS: Final = 60.0  # for which an own write counts without having been reported
_UNREADABLE: Final = (WatchState.FORBIDDEN, WatchState.ABSENT)


class Cache:
    """One reflector a watch, an index, and own writes until they are reported."""

    def __init__(self, cluster: Cluster, changed: Callable[[Change], None], *, clocks: Clocks = LOCAL) -> None:
        self._cluster, self._changed = cluster, changed
        self._clocks, self._clock = clocks, clocks.monotonic
        self._index: dict[Hashable, set[Key]] = {}
        self._written: dict[Key, tuple[float, Node]] = {}
        self._withheld: dict[Key, list[tuple[Node | None, Node | None]]] = {}  # reported while a write of the object is under way
        self._tasks: list[asyncio.Task[None]] = []
        self._interner = Interner()
        self.reflectors: dict[str, MergedReflector] = {}
        self.watches: dict[str, Watch] = {}

    def listen(self, watches: Iterable[Watch], settings: OperatorConfiguration, known: Known) -> None:
        """Begin those watches that are possible now; a kind is watched once."""
        for watch in watches:
            kind = watch.resource.kind
            if kind not in self.reflectors and watch.when(settings, known):
                self.watches[kind] = watch
                makes = [partial(self._selected, watch, labels=labels, fields=fields) for labels, fields in watch.selections]
                made = self.reflectors[kind] = MergedReflector(watch.namespaces(settings), *makes)
                made.subscribe(partial(self._on_event, watch))
                self._tasks.append(asyncio.ensure_future(made.run()))

    async def close(self) -> None:
        """End all watches."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def unsynced(self) -> list[str]:
        """Kinds without which nothing may be decided: not listed, though they are needed and as far as is known can be read."""
        lacking = [(name, self.watches[name].need) for name, each in self.reflectors.items() if not each.synced.is_set()]
        return [
            name
            for name, need in lacking
            if need is Need.READABLE or (need is not Need.NONE and self.reflectors[name].state not in _UNREADABLE)
        ]

    def unavailable(self) -> dict[str, str]:
        """Kinds that can't be read, and why."""
        return {kind: each.reason for kind, each in self.reflectors.items() if each.state in _UNREADABLE}

    def unreadable(self) -> list[str]:
        """List unreadable kinds that a user must act on: forbidden ones, and kinds of this project whose definition is missing."""
        forbidden = WatchState.FORBIDDEN
        return [kind for kind in self.unavailable() if self.watches[kind].need >= Need.OURS or self.reflectors[kind].state is forbidden]

    def knows(self, kind: str) -> bool:
        """Whether all objects of a kind have been listed, so that one that isn't here does not exist."""
        known = self.reflectors.get(kind)
        return known is not None and known.synced.is_set()

    def get(self, key: Key) -> Node | None:
        """An object, not to be changed; None if it doesn't exist or isn't watched."""
        known = self.reflectors.get(key.kind)
        heard = known.get(key.name, key.namespace) if known is not None else None
        mine = self._written.get(key)
        if mine is not None and self._clock() - mine[0] > OWN_WRITE_SECONDS:
            del self._written[key]
            mine = None
        if mine is None or (heard is not None and _version(heard) >= _version(mine[1])):
            return heard
        return mine[1]

    def index_keys(self, value: Hashable) -> list[Key]:
        """The keys of objects that an index has for a value, in a stable order."""
        return sorted(self._index.get(value, ()))

    def by_index(self, value: Hashable) -> list[Node]:
        """The objects that an index has for a value, in a stable order."""
        return [obj for key in self.index_keys(value) if (obj := self.get(key)) is not None]

    def owned(self, owner: Node) -> list[Node]:
        """The objects that `owner` controls, in a stable order; owner references from other namespaces are ignored."""
        namespace = key_of(owner).namespace
        return [obj for obj in self.by_index(str(owner["metadata"].get("uid"))) if key_of(obj).namespace == namespace]

    def all(self, kind: str, namespace: str = "") -> list[Node]:
        """All objects of a kind, of one namespace or of every one."""
        known = self.reflectors.get(kind)
        return known.all(namespace) if known is not None else []

    @contextlib.contextmanager
    def writing(self, key: Key) -> Iterator[None]:
        """Hold back reported changes of an object during a write of it."""
        self._withheld.setdefault(key, [])
        try:
            yield
        finally:
            for old, new in self._withheld.pop(key, ()):
                self._report(key, old, new)

    def add_write(self, obj: Node) -> None:
        """Take the response to a write, until the watch has reported it."""
        watch = self.watches.get(str(obj["kind"]))
        key, now = key_of(_trim_object(watch, obj)), self._clock()
        while self._written and now - next(iter(self._written.values()))[0] > OWN_WRITE_SECONDS:  # also of kinds that aren't watched
            del self._written[next(iter(self._written))]
        self._written.pop(key, None)
        self._written[key] = (now, obj)
        self._reindex(watch, key, obj)

    def forget_write(self, key: Key) -> None:
        """Forget the own write of an object that this process deleted."""
        self._written.pop(key, None)

    def _selected(self, watch: Watch, namespace: str, *, labels: str, fields: str) -> Reflector:
        trim, needed = partial(self._trim, watch), watch.need is not Need.NONE
        return Reflector(
            self._cluster, watch.resource, namespace, labels=labels, fields=fields, trim=trim, needed=needed, clocks=self._clocks
        )

    def _trim(self, watch: Watch, obj: Node) -> None:
        self._interner.share(_trim_object(watch, obj))

    def _on_event(self, watch: Watch, old: Node | None, new: Node | None) -> None:
        key = Change(old, new).key
        self._reindex(watch, key, new, old)
        if key in self._withheld:
            self._withheld[key].append((old, new))
        else:
            self._report(key, old, new)

    def _report(self, key: Key, old: Node | None, new: Node | None) -> None:
        mine = self._written.get(key)
        ours = mine is not None and new is not None and _version(new) == _version(mine[1])
        if mine is not None and (new is None or _version(new) >= _version(mine[1])):
            del self._written[key]
        self._changed(Change(old, new, ours))

    def _reindex(self, watch: Watch | None, key: Key, new: Node | None, old: Node | None = None) -> None:
        before, now = _index_values(watch, old), _index_values(watch, new)
        for value in (before - now) & self._index.keys():
            self._index[value].discard(key)
            if not self._index[value]:
                del self._index[value]
        for value in now:
            self._index.setdefault(value, set()).add(key)


def _trim_object(watch: Watch | None, obj: Node) -> Node:
    """Drop unread parts, often half of an object. The object is the cache's own: a reflector's, or the response to a write."""
    obj["metadata"].pop("managedFields", None)
    if watch is None or not watch.flat:
        cut_nested(obj)
    if watch is not None:
        watch.trim(obj)
    return obj


def _index_values(watch: Watch | None, obj: Node | None) -> set[Hashable]:
    """Return the keys at which an index has an object: the uid of its controller, and those that its watch gives."""
    if obj is None:
        return set()
    own: Iterable[Hashable] = watch.index_values(obj) if watch is not None else ()
    return {*own, owner_uid(obj)} - {""}


def _version(obj: Node) -> int:
    """Return the resource version as a number, which it is in practice; any other text counts as the oldest."""
    text = str(obj["metadata"].get("resourceVersion") or "")
    return int(text) if text.isascii() and text.isdigit() else 0
