"""Calls of a worker's control API: load an adapter, unload it, list those loaded. Bounded in time and bytes; no redirects."""

import asyncio
import json
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

import aiohttp
from yarl import URL

from ...api.wording import escape_unprintable
from ..pod_client import FAILURES, PodClient
from .lora import path_of

READ: Final = 64 * 1024  # bytes of an answer at most
SHOWN: Final = 200  # characters of an answer in a message
_PATH: Final = "/v1/loras"


class UnreachableError(Exception):
    """Nobody answered there; the text says how it failed."""


class NoConnectionError(UnreachableError):
    """The address takes no connection, so that another address of the pod may be tried."""


class Reply(NamedTuple):
    """An HTTP answer."""

    status: int
    text: str = ""  # its beginning, fit for a message

    @property
    def fine(self) -> bool:
        """Whether the worker did it."""
        return 200 <= self.status < 300

    @property
    def passing(self) -> bool:
        """Whether the worker may do it another time with nothing changed."""
        return not 400 <= self.status < 500 or self.status in {408, 425, 429}


class Caller(Protocol):
    """What the loader asks of workers; `base` is `http://address:port`. Every call raises UnreachableError."""

    async def load(self, base: str, name: str, uri: str) -> Reply:
        """Loads an adapter."""

    async def unload(self, base: str, name: str) -> Reply:
        """Unloads an adapter."""

    async def names(self, base: str) -> frozenset[str] | None:
        """The loaded adapters; None where the worker doesn't tell."""

    async def close(self) -> None:
        """Closes what is open; nothing is asked afterwards."""


class Patience(NamedTuple):
    """Seconds."""

    connect: float = 3.0
    load: float = 300.0
    unload: float = 60.0
    verify: float = 5.0


class Workers(PodClient):
    """Calls over the network."""

    def __init__(self, patience: Patience, connector: Callable[[], aiohttp.BaseConnector] | None = None) -> None:
        """`connector` is another way to addresses, for tests."""
        super().__init__(connector or (lambda: aiohttp.TCPConnector(limit=0, force_close=True)))
        self._patience = patience

    async def load(self, base: str, name: str, uri: str) -> Reply:
        """Loads an adapter. Raises: UnreachableError."""
        body = json.dumps({"lora_name": name, "source": {"uri": uri}}, ensure_ascii=False, separators=(",", ":")).encode()
        status, text = await self._call("POST", f"{base}{_PATH}", self._patience.load, body)
        return Reply(status, _shown(text))

    async def unload(self, base: str, name: str) -> Reply:
        """Unloads an adapter. Raises: UnreachableError, InvalidNameError."""
        status, text = await self._call("DELETE", f"{base}{_PATH}/{path_of(name)}", self._patience.unload)
        return Reply(status, _shown(text))

    async def names(self, base: str) -> frozenset[str] | None:
        """The loaded adapters. Raises: UnreachableError."""
        status, text = await self._call("GET", f"{base}{_PATH}", self._patience.verify)
        if status != 200:
            return None
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return None
        names = found.get("loras") if isinstance(found, dict) else None
        return frozenset(names) if isinstance(names, dict) else None

    async def _call(self, method: str, url: str, seconds: float, body: bytes | None = None) -> tuple[int, bytes]:
        try:
            return await self.call(method, URL(url, encoded=True), seconds, self._patience.connect, READ, body)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise NoConnectionError(escape_unprintable(str(error) or type(error).__name__)[:SHOWN]) from None
        except TimeoutError:
            raise UnreachableError(f"no answer within {seconds:g} s") from None
        except (*FAILURES, asyncio.LimitOverrunError) as error:
            raise UnreachableError(escape_unprintable(str(error) or type(error).__name__)[:SHOWN]) from None


def _shown(text: bytes) -> str:
    return escape_unprintable(text[: SHOWN * 4].decode(errors="replace"))[:SHOWN]
