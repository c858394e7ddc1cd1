"""Selections of objects kept up to date in memory by list and watch, for ever. What they mean is for those who subscribe."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from enum import Enum
from typing import Final, TypeAlias

from ..api.kinds import GROUP
from .clocks import LOCAL, Backoff, Clocks
from .errors import ApiError, ForbiddenError, GoneError, NotFoundError
from .protocol import Cluster, Event, Node, Trim
from .resources import Resource

LOG: Final = logging.getLogger("kube.reflector")
_MIN_WATCH_SECONDS: Final = 1.0  # one that ends sooner without a word counts as an error, or we would ask without a pause
_MAX_SLICE_OBJECTS: Final = 100  # of a list that are passed to subscribers without a pause

Subscriber: TypeAlias = "Callable[[Node | None, Node | None], None]"
Key: TypeAlias = tuple[str, str]  # namespace, name


class WatchState(Enum):
    """The state of a reflector; its store is kept in all states."""

    STARTING = "starting"
    SYNCED = "synced"
    FORBIDDEN = "forbidden"  # retried slowly: an administrator has to grant it
    ABSENT = "absent"  # the kind is not served; retried slowly
    UNAVAILABLE = "unavailable"  # retried soon


class Reflector:
    """Lists and watches one selection. `synced` is set by the first list; the store and the subscribers' view never go back."""

    def __init__(
        self,
        cluster: Cluster,
        resource: Resource,
        namespace: str = "",
        *,
        name: str = "",
        fields: str = "",
        labels: str = "",
        relist: float = 0.0,
        trim: Trim | None = None,
        needed: bool = True,
        clocks: Clocks = LOCAL,
    ) -> None:
        """With `name`, only the objects of that name are selected, as permissions by name demand.

        `relist` is seconds after which everything is listed again although the watch goes on; 0 is never. `trim` drops unused fields
        of an object before it is stored. A missing definition of a Dynamo kind is a warning only if it is `needed`.
        """
        self.store: dict[Key, Node] = {}
        self.synced = asyncio.Event()
        self.state = WatchState.STARTING
        self.reason = ""  # explains the state to users; empty while the watch is healthy
        self._cluster, self._resource, self._namespace = cluster, resource, namespace
        self._fields = ",".join(part for part in (f"metadata.name={name}" if name else "", fields) if part)
        self._labels, self._trim = labels, trim
        self._needed = needed and resource.group == GROUP
        self._relist, self._clock, self._sleep = relist, clocks.monotonic, clocks.sleep
        self._backoff = Backoff(chance=clocks.chance)
        self._subscribers: list[Subscriber] = []
        self._version = ""
        self._listed = self._clock()
        self._received: float | None = None

    def subscribe(self, subscriber: Subscriber) -> None:
        """Calls `subscriber(old, new)` for each change, at once for stored objects; None means absent.

        It is called in the loop and must not block; its exceptions are logged, and the other subscribers are still called.
        """
        self._subscribers.append(subscriber)
        for obj in [*self.store.values()]:
            self._call(subscriber, None, obj)

    def get(self, name: str, namespace: str = "") -> Node | None:
        """The object as last received; not to be changed."""
        return self.store.get((namespace, name))

    def stale_seconds(self) -> float | None:
        """Seconds since the API server last sent anything about the selection; None when it never did.

        Up to a minute or so while a watch is quiet. That the kind is not served is an answer too: nothing of it can be out of date.
        """
        return None if self._received is None else max(0.0, self._clock() - self._received)

    async def run(self) -> None:
        """Keeps the store up to date until it is cancelled; nothing else ends it."""
        while True:
            try:
                wait = await self._list_and_watch()
            except ApiError as error:
                wait = self._mark_failed(error)
            except Exception as error:
                LOG.exception("watching %s failed with an unexpected error", self._resource.plural)
                self._version = ""
                self.state, self.reason = WatchState.UNAVAILABLE, f"{type(error).__name__}: {error}"
                wait = self._backoff.next()
            if wait:
                await self._sleep(wait)

    async def _list_and_watch(self) -> float:
        """One list, when there is need for it, and one watch to its end; gives the seconds to wait before the next."""
        if not self._version or (self._relist and self._clock() - self._listed >= self._relist):
            await self._list()
        began, heard = self._clock(), False
        seconds = int(min(300.0, self._relist or 300.0)) or 1
        watch = self._cluster.watch(
            self._resource, self._namespace, version=self._version, fields=self._fields, labels=self._labels, seconds=seconds
        )
        async with aclosing(watch) as events:
            async for event in events:
                heard = True
                self._take(event)
        self._mark_healthy()
        if not heard and self._clock() - began < _MIN_WATCH_SECONDS:
            return self._backoff.next()
        self._backoff.reset()
        return 0.0

    async def _list(self) -> None:
        listing = await self._cluster.list(self._resource, self._namespace, fields=self._fields, labels=self._labels, trim=self._trim)
        self._version, self._listed = listing.version, self._clock()
        self._mark_healthy()
        now = {_key(obj): obj for obj in listing.items}
        for key in [key for key in self.store if key not in now]:
            self._change(key, None)
        for number, (key, obj) in enumerate(now.items(), 1):
            if number % _MAX_SLICE_OBJECTS == 0:
                await asyncio.sleep(0)  # Leases are renewed and probes answered meanwhile
            if _version(obj) != _version(self.store.get(key)):
                self._change(key, obj)
        self.synced.set()

    def _take(self, event: Event) -> None:
        self._version = _version(event.object) or self._version
        self._mark_healthy()
        self._backoff.reset()
        if event.type != "BOOKMARK":
            if self._trim is not None:
                self._trim(event.object)
            self._change(_key(event.object), None if event.type == "DELETED" else event.object)

    def _change(self, key: Key, new: Node | None) -> None:
        old = self.store.pop(key, None)
        if new is not None:
            self.store[key] = new
        if old is None and new is None:
            return
        for subscriber in [*self._subscribers]:
            self._call(subscriber, old, new)

    def _call(self, subscriber: Subscriber, old: Node | None, new: Node | None) -> None:
        try:
            subscriber(old, new)
        except Exception:
            LOG.exception("a subscriber to %s failed", self._resource.plural)

    def _mark_healthy(self) -> None:
        self._received = self._clock()
        self.state, self.reason = WatchState.SYNCED, ""

    def _mark_failed(self, error: ApiError) -> float:
        """Notes the error; gives the seconds to wait. A version too old is no trouble, unless it comes again and again."""
        if isinstance(error, GoneError):
            self._version = ""
            return self._backoff.next()
        absent = WatchState.ABSENT if isinstance(error, NotFoundError) else WatchState.UNAVAILABLE
        if error.message != self.reason:  # said once, not with every attempt: kinds of others, such as Grove's, may be absent for years
            level = logging.INFO if absent is WatchState.ABSENT and not self._needed else logging.WARNING
            LOG.log(level, "watching %s: %s", self._resource.plural, error.message)
        self.state, self.reason = WatchState.FORBIDDEN if isinstance(error, ForbiddenError) else absent, error.message
        if self.state is WatchState.UNAVAILABLE:
            return self._backoff.next()
        if self.state is WatchState.ABSENT:
            self._received = self._clock()
        self._version = ""
        return self._backoff.slow()


def _key(obj: Node) -> Key:
    return (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def _version(obj: Node | None) -> str:
    return str(((obj or {}).get("metadata") or {}).get("resourceVersion", ""))


class MergedReflector:
    """Reflectors of one kind, one a namespace, read as a `Reflector` is, for users that can't list it in the whole cluster."""

    def __init__(self, namespaces: Sequence[str], *makes: Callable[[str], Reflector]) -> None:
        """Each of `makes` gives a reflector of a namespace, the empty one for all of them; no two select the same object."""
        self._parts = {(namespace, number): make(namespace) for namespace in namespaces for number, make in enumerate(makes)}
        self._selections = range(len(makes))

    @property
    def store(self) -> dict[Key, Node]:
        """All objects. Not copied where there is one namespace or one selection of all, which may be of ten thousand."""
        if len(self._parts) == 1:
            return next(iter(self._parts.values())).store
        return {key: obj for part in self._parts.values() for key, obj in part.store.items()}

    @property
    def synced(self) -> asyncio.Event:
        """The event of the first namespace that has not been listed, else of any."""
        every = [part.synced for part in self._parts.values()]
        return next((event for event in every if not event.is_set()), every[0])

    @property
    def state(self) -> WatchState:
        """The state of the first namespace in which something is wrong."""
        return next((part.state for part in self._parts.values() if part.state is not WatchState.SYNCED), WatchState.SYNCED)

    @property
    def reason(self) -> str:
        """The reason of the first namespace that has one; empty if none has."""
        return next((part.reason for part in self._parts.values() if part.reason), "")

    def get(self, name: str, namespace: str = "") -> Node | None:
        """The object as last received; not to be changed."""
        for number in self._selections:
            part = self._parts.get((namespace, number)) or self._parts.get(("", number))
            if part is not None and (obj := part.get(name, namespace)) is not None:
                return obj
        return None

    def all(self, namespace: str = "") -> list[Node]:
        """All objects, of one namespace or of every one. Of namespaces that are selected one by one, no other is looked at."""
        if not namespace:
            return [*self.store.values()]
        parts = (self._parts.get((namespace, number)) or self._parts.get(("", number)) for number in self._selections)
        return [obj for part in parts if part is not None for (where, _), obj in part.store.items() if where == namespace]

    def lacks(self, namespace: str) -> str | None:
        """Returns why a namespace has not been listed, which may be empty; None where it has been, or isn't selected."""
        parts = [part for (where, _), part in self._parts.items() if where in ("", namespace)]
        return next((part.reason for part in parts if not part.synced.is_set()), None)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Calls `subscriber` as a reflector's `subscribe` does, for all namespaces."""
        for part in self._parts.values():
            part.subscribe(subscriber)

    async def run(self) -> None:
        """Keeps all of them up to date until it is cancelled."""
        await asyncio.gather(*(part.run() for part in self._parts.values()))
