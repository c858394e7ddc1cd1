"""Calls of a worker's control API: load adapters on a pod, unload those unwanted. Bounded in time and bytes; no redirects."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import aiohttp
from yarl import URL

from ...api.operator.controllers import Models
from ...api.wording import escape_unprintable
from ..pod_client import FAILURES, PodClient
from .endpoints import Endpoint
from .lora import InvalidNameError, WantedAdapter, escape_name

MAX_ANSWER_BYTES: Final = 64 * 1024  # bytes of an answer at most
MAX_ANSWER_CHARACTERS: Final = 200  # in a message
_PATH: Final = "/v1/loras"
_Answer = TypeVar("_Answer")


class UnreachableError(Exception):
    """A call that didn't succeed; the text explains how it failed."""


class NoConnectionError(UnreachableError):
    """The address takes no connection, so that another address of the pod may be tried."""


class Reply(NamedTuple):
    """An HTTP answer."""

    status: int
    text: str = ""  # its beginning, fit for a message

    @property
    def is_success(self) -> bool:
        """Whether the worker did it."""
        return 200 <= self.status < 300

    @property
    def is_transient(self) -> bool:
        """Whether the worker may do it another time with nothing changed."""
        return not 400 <= self.status < 500 or self.status in {408, 425, 429}


class WorkerClient(PodClient):
    """Calls over the network; `base` is `http://address:port`."""

    def __init__(self, settings: Models, connector: Callable[[], aiohttp.BaseConnector] | None = None) -> None:
        """`connector` is another way to addresses, for tests."""
        super().__init__(connector or (lambda: aiohttp.TCPConnector(limit=0, force_close=True)))
        self._settings = settings

    async def load(self, base: str, name: str, uri: str) -> Reply:
        """Loads an adapter. Raises: UnreachableError."""
        body = json.dumps({"lora_name": name, "source": {"uri": uri}}, ensure_ascii=False, separators=(",", ":")).encode()
        status, text = await self._call("POST", f"{base}{_PATH}", self._settings.load_timeout, body)
        return Reply(status, _quote(text))

    async def unload(self, base: str, name: str) -> Reply:
        """Unloads an adapter. Raises: UnreachableError, InvalidNameError."""
        status, text = await self._call("DELETE", f"{base}{_PATH}/{escape_name(name)}", self._settings.unload_timeout)
        return Reply(status, _quote(text))

    async def names(self, base: str) -> frozenset[str] | None:
        """Returns the loaded adapters; None if the worker doesn't list them. Raises: UnreachableError."""
        status, text = await self._call("GET", f"{base}{_PATH}", self._settings.verify_timeout)
        if status != 200:
            return None
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            return None
        names = answer.get("loras") if isinstance(answer, dict) else None
        return frozenset(names) if isinstance(names, dict) else None

    async def _call(self, method: str, url: str, seconds: float, body: bytes | None = None) -> tuple[int, bytes]:
        try:
            return await self.call(method, URL(url, encoded=True), seconds, self._settings.connect_timeout, MAX_ANSWER_BYTES, body)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise NoConnectionError(escape_unprintable(str(error) or type(error).__name__)[:MAX_ANSWER_CHARACTERS]) from None
        except TimeoutError:
            raise UnreachableError(f"no answer within {seconds:g} s") from None
        except (*FAILURES, asyncio.LimitOverrunError) as error:
            raise UnreachableError(escape_unprintable(str(error) or type(error).__name__)[:MAX_ANSWER_CHARACTERS]) from None


def _quote(text: bytes) -> str:
    return escape_unprintable(text[: MAX_ANSWER_CHARACTERS * 4].decode(errors="replace"))[:MAX_ANSWER_CHARACTERS]


@dataclass(slots=True)
class WorkerPod:
    """The state of one pod, and of the calls to it."""

    endpoint: Endpoint
    done: bool = False  # the wanted adapter is loaded, or unloaded
    clean: bool = False  # other names are gone, too
    check: bool = False  # ask before loading
    silent: bool = False  # the worker doesn't list its adapters
    confirmed: tuple[str, str] | None = None  # addresses that the pod's own status holds
    running: bool = False
    failure: str = ""
    errors: int = 0
    wait: asyncio.Task[None] | None = None


class RefusedError(UnreachableError):
    """An answer by which the worker refuses a call; `final` if it always will."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.status} {reply.text}".rstrip())
        self.final = not reply.is_transient


async def load(caller: WorkerClient, wanted: WantedAdapter, pod: WorkerPod) -> None:
    """Loads the wanted adapter and unloads those that are no longer wanted. Raises: UnreachableError, RefusedError."""
    lora, present = wanted.lora, frozenset[str]()
    if pod.check and not wanted.replace:
        names = await _read_names(caller, pod)
        pod.check = False
        if names is None and pod.done:
            return  # the check gave no answer: the state stays as it was
        present = names or frozenset()
    if lora.name not in present:
        pod.done = False
        if wanted.replace:
            await _unload(caller, pod.endpoint, lora.name)
        reply = await _call_first(pod.endpoint, lambda base: caller.load(base, lora.name, lora.uri))
        if not reply.is_success:
            raise RefusedError(reply)
    pod.done = True
    for name in wanted.stale:
        await _unload(caller, pod.endpoint, name)
    pod.clean = True


async def _read_names(caller: WorkerClient, pod: WorkerPod) -> frozenset[str] | None:
    try:
        names = await _call_first(pod.endpoint, caller.names)
    except UnreachableError:
        return None
    pod.silent = names is None
    return names


async def unload_all(caller: WorkerClient, wanted: WantedAdapter, endpoint: Endpoint) -> None:
    """Unloads all that a model has. Raises: as `load`."""
    for name in dict.fromkeys((wanted.lora.name, *wanted.stale)):
        await _unload(caller, endpoint, name)


async def _unload(caller: WorkerClient, endpoint: Endpoint, name: str) -> None:
    try:
        reply = await _call_first(endpoint, lambda base: caller.unload(base, name))
    except InvalidNameError:
        return  # a name that was never loaded
    if not reply.is_success and reply.status != 404:
        raise RefusedError(reply)


async def _call_first(endpoint: Endpoint, call: Callable[[str], Awaitable[_Answer]]) -> _Answer:
    """Asks at the first address that takes a connection. Raises: UnreachableError."""
    *others, last = endpoint.urls
    for url in others:
        try:
            return await call(url)
        except NoConnectionError:
            continue
    return await call(last)
