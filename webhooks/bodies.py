"""Reading request bodies under limits of size, time and memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from webhooks.envelope import RejectedError
from webhooks.limits import Bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp.web import BaseRequest

    from webhooks.limits import Limits


class Bodies:
    """The reader of one worker; it knows how many large bodies are in memory."""

    __slots__ = ("_limits", "_met", "_places")

    def __init__(self, limits: Limits, met: Callable[[Bound], None]) -> None:
        """Nothing is being read yet; `met` is told when a body has to wait for its place."""
        self._limits = limits
        self._met = met
        self._places = asyncio.Semaphore(limits.large_bodies)

    async def read(self, request: BaseRequest, start: bytes, *, conversion: bool = False) -> bytes:
        """Reads what is still missing of a body of which `start` has arrived; a conversion's may be longer, if its length is declared.

        Raises: RejectedError 413 for one that is too long, 408 for one that is too slow; ConnectionError when the client is gone.
        """
        declared = request.content_length
        most, seconds = self._limits.body, self._limits.body_seconds
        if conversion:
            most, seconds = self.most(request), self._limits.conversion_seconds
        if declared is not None and declared > most:
            raise self._too_long(most, conversion=conversion)
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            async with asyncio.timeout(seconds):
                if declared is not None and declared <= self._limits.small_body:
                    return await self._rest(request, start, most, conversion=conversion)
                if self._places.locked():
                    self._met(Bound.LARGE_BODIES)
                async with self._places:
                    return await self._rest(request, start, most, conversion=conversion)
        except TimeoutError:
            bound = Bound.CONVERSION_SECONDS if conversion else Bound.BODY_SECONDS
            raise RejectedError(408, f"the body must arrive within {seconds:g} seconds", bound) from None

    def most(self, request: BaseRequest) -> int:
        """The longest body that a conversion may have."""
        return self._limits.body if request.content_length is None else self._limits.conversion_body

    def too_long(self, request: BaseRequest, *, conversion: bool = False) -> RejectedError:
        """What is said of a body that is longer than it may be."""
        return self._too_long(self.most(request) if conversion else self._limits.body, conversion=conversion)

    async def _rest(self, request: BaseRequest, start: bytes, most: int, *, conversion: bool) -> bytes:
        content, parts, size = request.content, [start], len(start)
        while not content.at_eof():
            part = await content.readany()
            size += len(part)
            if size > most:
                raise self._too_long(most, conversion=conversion)
            parts.append(part)
        return b"".join(parts)

    def _too_long(self, most: int, *, conversion: bool) -> RejectedError:
        return RejectedError(413, f"the body must be at most {most} bytes", Bound.CONVERSION_BODY if conversion else Bound.ADMISSION_BODY)
