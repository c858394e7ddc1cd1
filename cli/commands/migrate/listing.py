"""Reads long lists page by page through outages; holds one page at a time."""

from collections.abc import AsyncGenerator, Callable
from time import monotonic
from typing import Final

from ....kube.clocks import Backoff
from ....kube.errors import ApiError, GoneError, UnavailableError
from ....kube.protocol import Node
from ....kube.resources import Resource
from .options import Hands

SLOWEST: Final = 5.0  # seconds between two attempts
_TELL: Final = 5.0  # seconds of failures before a pause is reported
_RESTARTS: Final = 5  # times that a list which has become too old is begun anew
_REFUSALS: Final = 4  # attempts at a page that the converter refuses for one of its objects
# in the API server's message when the webhook did not respond, or not in time
_AWAY: Final = ("failed: Post ", "has prevented the request from succeeding", "unable to handle the request", "too many requests")


def is_refusal(error: UnavailableError) -> bool:
    """Whether the converter answered, and refused an object: then waiting does not help."""
    return error.code == 500 and not any(words in error.message for words in _AWAY)


class Outage:
    """Shared by all requests of a run: the time since the last success. Reports when a pause begins and ends."""

    def __init__(self, hands: Hands, clock: Callable[[], float] = monotonic) -> None:
        """`clock` gives seconds."""
        self._hands = hands
        self._clock = clock
        self.last_good = clock()  # when a request succeeded
        self.successes = 0
        self._told = False

    def begin(self) -> None:
        """Requests begin after a time without any."""
        self.last_good = self._clock()

    def succeeded(self) -> None:
        """A request was answered as it should."""
        now = self._clock()
        if self._told:
            self._hands.say(f"going on after a pause of {now - self.last_good:.0f} s")
        self.last_good, self._told = now, False
        self.successes += 1

    async def wait(self, error: UnavailableError, backoff: Backoff) -> None:
        """Waits before the next attempt. Raises: the error, after the run's patience; Stopped."""
        idle = self._clock() - self.last_good
        if idle > self._hands.options.patience:
            raise error
        if idle > _TELL and not self._told:
            self._told = True
            self._hands.say(f"paused, and trying again for up to {self._hands.options.patience:.0f} s: {error.message}")
        await self._hands.sleep(backoff.next())


async def list_pages(
    hands: Hands, outage: Outage, resource: Resource, *, limit: int, brief: bool, namespace: str | None = None
) -> AsyncGenerator[list[Node]]:
    """All pages of a list. One that is too old for its next page goes on with today's objects, or begins anew, a few times.

    Raises: UnavailableError after the run's patience; ApiError, also where one object spoils its page; Stopped.
    """
    where = hands.options.namespace if namespace is None else namespace
    token, restarts, backoff = "", 0, Backoff(0.2, SLOWEST)
    while True:
        try:
            page = await hands.cluster.page(resource, where, token=token, limit=limit, brief=brief)
        except UnavailableError as error:
            if is_refusal(error) and backoff.errors + 1 >= _REFUSALS:
                raise ApiError(error.code, error.reason, error.message) from error
            await outage.wait(error, backoff)
            continue
        except GoneError as error:
            restarts += 1
            if restarts > _RESTARTS and not error.resume:
                raise
            token = error.resume
            continue
        outage.succeeded()
        backoff.reset()
        yield page.items
        token = page.token
        if not token:
            return
