"""Decides where a request is answered: in the event loop at once or at its client's turn, there in steps, or in a process of its own.

What a request holds decides whether it is work for the loop, not its length or its spelling alone: the worst of these takes 50 ms, for
which other clients wait. A list of such objects is converted between other requests, since a process would cost as much as all of it. The
rest gets a process with bounds of memory and CPU, and with lower priority.
"""

import contextlib

from ..admission.pipeline import Settings
from ..admission.registration import Purpose
from . import convert
from .admission import answer
from .envelope import Answer
from .executor.executor import Executor, LongAnswer
from .limits import Limits, is_light
from .routes import Route
from .short_requests import ShortRequests
from .split_review import NotDivisibleError
from .spool import Spool


class Jobs:
    """The work of one server."""

    __slots__ = ("_executor", "_limits", "short_requests")

    def __init__(self, limits: Limits, executor: Executor) -> None:
        self._limits, self._executor = limits, executor
        self.short_requests = ShortRequests()

    def is_short(self, body: bytes) -> bool:
        """Whether a body is work for the loop."""
        return is_light(body, self._limits.small_body)

    def answer_now(self, route: Route, client: str, body: bytes, settings: Settings) -> Answer | None:
        """The answer to a short body; None while others wait for their turn."""
        short = self.short_requests
        return short.do(client, lambda: answer(route, body, settings)) if short.free else None

    async def answer_in_turn(self, route: Route, client: str, body: bytes, settings: Settings) -> Answer:
        """The answer to a short body, at its client's turn."""
        return await self.short_requests.run(client, lambda: answer(route, body, settings))

    async def answer_long(self, route: Route, client: str, body: Spool, settings: Settings) -> Answer | LongAnswer:
        """The answer to any other body, or to one that came in chunks."""
        if body.size <= self._limits.small_body and self.is_short(text := bytes(body.mapped(body.size)) if body.size else b""):
            return await self.answer_in_turn(route, client, text, settings)
        if route.purpose is Purpose.CONVERT and body.size <= self._limits.stepped_body:
            with contextlib.suppress(NotDivisibleError):
                steps = convert.steps(body.mapped(body.size), self._limits.small_body, settings.line)
                return await self.short_requests.through(client, body.size, steps)
        return await self._executor.run(route, client, body, settings)
