"""Authorizes reads of metrics over TLS: the API server must permit the user of the bearer token to `get` /metrics.

Reviews are cached, so that scrapes continue during an outage of the API server.
"""

import hashlib
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

ALLOW_SECONDS: Final = 60.0  # as long as the Go operator caches the user of a token
DENY_SECONDS: Final = 30.0  # as long as it caches a denial
STALE_ALLOW_SECONDS: Final = 900.0  # for which a positive review counts while the API server is unreachable
KEPT: Final = 256  # answers; a client that tries many tokens costs no more memory


class Refusal(NamedTuple):
    """An HTTP status and its message."""

    status: int
    text: str


UNKNOWN: Final = Refusal(401, "a bearer token is needed")
DENIED: Final = Refusal(403, "this token is invalid, or its user may not get /metrics")
UNDECIDED: Final = Refusal(503, "whether this token's user may get /metrics can't be asked now")


class MetricsAccess:
    """Decides by the header `Authorization`; it keeps digests of tokens, never a token."""

    def __init__(
        self, ask: Callable[[str], Awaitable[bool | None]], refused: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`ask` reviews a token and returns None while it can't; `refused` is called for each refused request."""
        self._ask, self._refused, self._clock = ask, refused, clock
        self._known: dict[bytes, tuple[bool, float]] = {}  # the newest last

    async def refusal(self, header: str) -> Refusal | None:
        """Why the bearer may not read; None when it may."""
        found = await self._judge(header)
        if found is not None:
            self._refused()
        return found

    async def _judge(self, header: str) -> Refusal | None:
        scheme, _, token = header.strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or not token.isascii():  # as no token is
            return UNKNOWN
        digest = hashlib.sha256(token.encode()).digest()
        allowed, age = self._remembered(digest)
        if allowed is None or age >= (ALLOW_SECONDS if allowed else DENY_SECONDS):
            answer = await self._ask(token)
            if answer is None:
                return None if allowed and age < STALE_ALLOW_SECONDS else UNDECIDED
            allowed = answer
            self._remember(digest, allowed)
        return None if allowed else DENIED

    def _remembered(self, digest: bytes) -> tuple[bool | None, float]:
        allowed, when = self._known.get(digest, (None, 0.0))
        return allowed, self._clock() - when

    def _remember(self, digest: bytes, allowed: bool) -> None:
        self._known.pop(digest, None)
        self._known[digest] = (allowed, self._clock())
        if len(self._known) > KEPT:
            # a no goes first: many tries must not push out those who may
            victim = next((each for each, (yes, _) in self._known.items() if not yes), next(iter(self._known)))
            del self._known[victim]
