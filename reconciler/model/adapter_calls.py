"""The calls that load adapters on one pod, and unload those that nobody wants any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from .endpoints import Endpoint
from .lora import InvalidNameError, Wish
from .worker import Caller, NoConnectionError, Reply, UnreachableError

_Answer = TypeVar("_Answer")


@dataclass(slots=True)
class Pod:
    """What is known of one pod, and of the calls to it."""

    endpoint: Endpoint
    done: bool = False  # what is wanted is so
    clean: bool = False  # other names are gone, too
    check: bool = False  # ask before loading
    silent: bool = False  # doesn't tell what is loaded
    confirmed: tuple[str, str] | None = None  # addresses that the pod's own status holds
    running: bool = False
    failure: str = ""
    errors: int = 0
    wait: asyncio.Task[None] | None = None


class RefusedError(UnreachableError):
    """The worker answered that it doesn't; `final` if it never will."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.status} {reply.text}".rstrip())
        self.final = not reply.passing


async def load(caller: Caller, wish: Wish, pod: Pod) -> None:
    """Loads what is wanted and unloads what isn't any more. Raises: UnreachableError, RefusedError."""
    lora, present = wish.lora, frozenset[str]()
    if pod.check and not wish.replace:
        found = await _look(caller, pod)
        if found is None and pod.done:
            pod.check = False
            return  # looking again told nothing: it stays as it was
        present = found or frozenset()
        pod.check = False
    if lora.name not in present:
        pod.done = False
        if wish.replace:
            await _unload(caller, pod.endpoint, lora.name)
        reply = await _first(pod.endpoint, lambda base: caller.load(base, lora.name, lora.uri))
        if not reply.fine:
            raise RefusedError(reply)
    pod.done = True
    for name in wish.stale:
        await _unload(caller, pod.endpoint, name)
    pod.clean = True


async def _look(caller: Caller, pod: Pod) -> frozenset[str] | None:
    try:
        found = await _first(pod.endpoint, caller.names)
    except UnreachableError:
        return None
    pod.silent = found is None
    return found


async def unload_all(caller: Caller, wish: Wish, endpoint: Endpoint) -> None:
    """Unloads all that a model has. Raises: as `load`."""
    for name in dict.fromkeys((wish.lora.name, *wish.stale)):
        await _unload(caller, endpoint, name)


async def _unload(caller: Caller, endpoint: Endpoint, name: str) -> None:
    try:
        reply = await _first(endpoint, lambda base: caller.unload(base, name))
    except InvalidNameError:
        return  # a name that was never loaded
    if not reply.fine and reply.status != 404:
        raise RefusedError(reply)


async def _first(endpoint: Endpoint, call: Callable[[str], Awaitable[_Answer]]) -> _Answer:
    """Asks at the first address that takes a connection. Raises: UnreachableError."""
    *others, last = endpoint.urls
    for url in others:
        try:
            return await call(url)
        except NoConnectionError:
            continue
    return await call(last)
