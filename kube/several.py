"""Watches one kind in several namespaces as one selection, for users that can't list it in the whole cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from .protocol import Node
from .reflector import Key, Reflector, Subscriber, WatchState


class Several:
    """Reflectors of one kind, one a namespace, read as a `Reflector` is."""

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
        """Of the first namespace that has not been listed, else of any."""
        every = [part.synced for part in self._parts.values()]
        return next((event for event in every if not event.is_set()), every[0])

    @property
    def state(self) -> WatchState:
        """Of the first namespace in which something is wrong."""
        return next((part.state for part in self._parts.values() if part.state is not WatchState.SYNCED), WatchState.SYNCED)

    @property
    def reason(self) -> str:
        """Why that is its state."""
        return next((part.reason for part in self._parts.values() if part.reason), "")

    def get(self, name: str, namespace: str = "") -> Node | None:
        """The object as last received; not to be changed."""
        for number in self._selections:
            part = self._parts.get((namespace, number)) or self._parts.get(("", number))
            if part is not None and (found := part.get(name, namespace)) is not None:
                return found
        return None

    def all(self, namespace: str = "") -> list[Node]:
        """All objects, of one namespace or of every one. Of namespaces that are selected one by one, no other is looked at."""
        if not namespace:
            return [*self.store.values()]
        parts = (self._parts.get((namespace, number)) or self._parts.get(("", number)) for number in self._selections)
        return [obj for part in parts if part is not None for (where, _), obj in part.store.items() if where == namespace]

    def lacks(self, namespace: str) -> str | None:
        """Why a namespace has not been listed, which may be empty; None where it has been, or isn't selected."""
        parts = [part for (where, _), part in self._parts.items() if where in ("", namespace)]
        return next((part.reason for part in parts if not part.synced.is_set()), None)

    def subscribe(self, subscriber: Subscriber) -> None:
        """As that of a reflector, for all namespaces."""
        for part in self._parts.values():
            part.subscribe(subscriber)

    async def run(self) -> None:
        """Keeps all of them up to date until it is cancelled."""
        await asyncio.gather(*(part.run() for part in self._parts.values()))
