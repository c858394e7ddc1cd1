"""Who leads, by a Lease: one holder at a time, judged by the local monotonic clock alone. The scope Lease is in `scope.py`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.errors import AlreadyExistsError, ApiError, ConflictError
from dynamo_webhooks.kube.resources import LEASES
from dynamo_webhooks.kube.times import micro
from dynamo_webhooks.kube.times import now as local_now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from datetime import datetime
    from typing import Any

    from dynamo_webhooks.kube.protocol import Cluster, Node

LOG: Final = logging.getLogger("kube.lease")
_PATIENCE: Final = 5.0  # seconds for a release: a process that stops must not wait for a server that is gone


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds. A holder gives up before others may take over, which is what keeps two from leading at once."""

    duration: float = 15.0  # others wait for so long without seeing a renewal
    deadline: float = 10.0  # the holder stops leading after so long without a renewal of its own
    retry: float = 2.0  # between two attempts

    def __post_init__(self) -> None:
        """Raises ValueError unless retry < deadline < duration, and duration is at least a second."""
        if not (0 < self.retry < self.deadline < self.duration and self.duration >= 1):
            raise ValueError(f"timings must have retry < deadline < duration and a duration of a second at least, seen {self}")


class Observed:
    """When somebody else's Lease was last seen to change, on our own clock: the remote clock in it is never looked at."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Has seen nothing yet."""
        self._clock = clock
        self._version = ""
        self._since = 0.0

    def alive(self, lease: Node, otherwise: float) -> bool:
        """Whether the holder may still be there; `otherwise` is the duration in seconds when the Lease names none."""
        version = lease["metadata"]["resourceVersion"]
        if version != self._version:
            self._version, self._since = version, self._clock()
        spec = lease.get("spec") or {}
        return bool(spec.get("holderIdentity")) and self._clock() - self._since <= (spec.get("leaseDurationSeconds") or otherwise)


class Election:
    """Runs for one Lease: leads while it holds it, waits while another does."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        namespace: str,
        identity: str,
        *,
        timings: Timings | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = local_now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`identity` tells this replica from the others, also from an earlier life of itself: a pod's name with something random."""
        self.name = name
        self._cluster, self.namespace, self._identity = cluster, namespace, identity
        self._timings = timings or Timings()
        self._clock, self._now, self._sleep, self._chance = clock, now, sleep, chance
        self._observed = Observed(clock)
        self._renewed: float | None = None  # when the last renewal that succeeded was begun
        self.holder = ""  # who holds the Lease, as last seen
        self.reason = ""  # why the last attempt failed; empty when it didn't

    @property
    def leading(self) -> bool:
        """Whether we may act as the leader at this moment; ask before each write."""
        return self._renewed is not None and self._clock() - self._renewed < self._timings.deadline

    @property
    def unknown(self) -> str:
        """Why it isn't known who leads; empty when we do, or another was seen to at the last attempt."""
        if self.leading:
            return ""
        return self.reason or ("" if self.holder else "the Lease has not been looked at yet")

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs for ever: begins `lead()` when elected, cancels it when the Lease is lost, runs again. Releases when cancelled.

        When `lead` returns or raises, the Lease is released and so does this.
        """
        try:
            while True:
                if await self.attempt():
                    LOG.info("%s holds the Lease %s/%s", self._identity, self.namespace, self.name)
                    if await self._term(lead):
                        return
                    LOG.warning("the Lease %s/%s is lost: %s", self.namespace, self.name, self.reason or f"held by {self.holder}")
                await self._pause()
        finally:
            await self.release()

    async def attempt(self) -> bool:
        """Tries once to acquire or renew; says whether we lead. Doesn't raise: what went wrong is in `reason`."""
        began = self._clock()
        try:
            lease = await self._cluster.get(LEASES, self.name, self.namespace)
            if lease is not None and not self._may_take(lease):
                self._renewed, self.reason = None, ""
                return False
            await self._write(lease)
        except (ConflictError, AlreadyExistsError) as error:
            self.reason = f"somebody else wrote the Lease meanwhile: {error.message}"
        except ApiError as error:
            self.reason = error.message
        else:
            self._renewed, self.holder, self.reason = began, self._identity, ""
        return self.leading

    async def release(self) -> None:
        """Lets the Lease go so that a successor need not wait; a failure leaves it to expire."""
        if self._renewed is None:
            return
        self._renewed = None
        with contextlib.suppress(ApiError, TimeoutError):
            await asyncio.wait_for(self._let_go(), _PATIENCE)

    async def _let_go(self) -> None:
        lease = await self._cluster.get(LEASES, self.name, self.namespace)
        if lease is not None and (lease.get("spec") or {}).get("holderIdentity") == self._identity:
            spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro(self._now())}
            await self._cluster.replace(LEASES, {**lease, "spec": spec})

    async def _term(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Leads and renews; True when `lead` ended by itself, False when the Lease was lost."""
        work = asyncio.ensure_future(lead())
        renewal = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
                return True
            return False
        finally:
            for task in (work, renewal):
                task.cancel()
            await asyncio.gather(work, renewal, return_exceptions=True)

    async def _renew(self) -> None:
        """Renews until the Lease is lost."""
        while self.leading:
            await self._pause()
            try:
                await asyncio.wait_for(self.attempt(), max(0.0, self._left()))
            except TimeoutError:
                self.reason = self.reason or "the API server did not answer in time"

    def _left(self) -> float:
        return 0.0 if self._renewed is None else self._timings.deadline - (self._clock() - self._renewed)

    async def _pause(self) -> None:
        await self._sleep(self._timings.retry * (1 + 0.2 * self._chance()))  # candidates must not all come at the same moment

    def _may_take(self, lease: Node) -> bool:
        self.holder = (lease.get("spec") or {}).get("holderIdentity") or ""
        return self.holder == self._identity or not self._observed.alive(lease, self._timings.duration)

    async def _write(self, lease: Node | None) -> None:
        moment = micro(self._now())
        spec: Node = dict((lease or {}).get("spec") or {})
        if spec.get("holderIdentity") != self._identity:
            spec["acquireTime"] = moment
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + (1 if lease else 0)
        spec |= {"holderIdentity": self._identity, "leaseDurationSeconds": int(self._timings.duration), "renewTime": moment}
        if lease is not None:
            await self._cluster.replace(LEASES, {**lease, "spec": spec})
            return
        metadata = {"name": self.name, "namespace": self.namespace}
        await self._cluster.create(LEASES, {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": metadata, "spec": spec})
