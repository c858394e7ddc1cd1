"""Leader election by a Lease: one holder at a time, judged by the local monotonic clock alone. The scope Lease is in `scope.py`."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from .clocks import LOCAL, Clocks
from .errors import AlreadyExistsError, ApiError, ConflictError
from .protocol import Cluster, Node
from .resources import LEASES
from .times import format_micro_time

LOG: Final = logging.getLogger("kube.lease")
_RELEASE_TIMEOUT_SECONDS: Final = 5.0  # a process that stops must not wait for a server that is gone
MAX_LEASE_FACTOR: Final = 10  # of our own duration: a Lease that claims to last longer expires then
MAX_TRANSITIONS: Final = 2**31 - 1  # of the API's int32; the count stays there


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


class ObservedLease:
    """The time at which another holder's Lease was last seen to change, by the local clock; times in the Lease are ignored."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._version = ""
        self._since = 0.0

    def is_alive(self, lease: Node, ours: float) -> bool:
        """Whether the holder may still be there. `ours` is our own duration in seconds, the least that another's counts for.

        At most `MAX_LEASE_FACTOR` times as much counts: anyone who may write Leases could otherwise stop us for 68 years with one write.
        """
        version = lease["metadata"]["resourceVersion"]
        if version != self._version:
            self._version, self._since = version, self._clock()
        spec = lease.get("spec") or {}
        lasting = min(max(_number(spec.get("leaseDurationSeconds")), ours), MAX_LEASE_FACTOR * ours)
        return bool(spec.get("holderIdentity")) and self._clock() - self._since <= lasting


async def write_lease(cluster: Cluster, lease: Node | None, name: str, namespace: str, identity: str, duration: int, now: datetime) -> Node:
    """Hold a Lease from now on, or go on holding it: nothing in its spec but our own fields is anyone else's choice. Raises: ApiError."""
    before: Node = (lease or {}).get("spec") or {}
    moment = format_micro_time(now)
    spec: Node = {"holderIdentity": identity, "leaseDurationSeconds": duration, "renewTime": moment}
    ours = before.get("holderIdentity") == identity
    transitions = _number(before.get("leaseTransitions")) + (lease is not None and not ours)
    acquired = before.get("acquireTime") if ours else moment
    spec |= {"acquireTime": acquired or moment, "leaseTransitions": min(max(transitions, 0), MAX_TRANSITIONS)}
    if lease is not None:
        return await cluster.replace(LEASES, {**lease, "spec": spec})
    metadata = {"name": name, "namespace": namespace}
    return await cluster.create(LEASES, {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": metadata, "spec": spec})


def holder_of(lease: Node) -> str:
    """The identity that holds a Lease; empty for none."""
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


class Election:
    """Runs for one Lease: leads while it holds it, waits while another does."""

    def __init__(
        self, cluster: Cluster, name: str, namespace: str, identity: str, *, timings: Timings | None = None, clocks: Clocks = LOCAL
    ) -> None:
        """`identity` is unique per process start: the pod's name with a random suffix."""
        self.name = name
        self._cluster, self.namespace, self._identity = cluster, namespace, identity
        self._timings = timings or Timings()
        self._clocks, self._clock = clocks, clocks.monotonic
        self._observed = ObservedLease(clocks.monotonic)
        self._renewed: float | None = None  # when the last renewal that succeeded was begun
        self.holder = ""  # who holds the Lease, as last seen
        self.reason = ""  # why the last attempt failed; empty when it didn't

    @property
    def leading(self) -> bool:
        """Whether we may act as the leader at this moment; ask before each write."""
        return self._renewed is not None and self._clock() - self._renewed < self._timings.deadline

    @property
    def unknown(self) -> str:
        """The reason why it isn't known who leads; empty when we do, or another was seen to at the last attempt."""
        if self.leading:
            return ""
        return self.reason or ("" if self.holder else "the Lease has not been read yet")

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
            duration, now = int(self._timings.duration), self._clocks.wall()
            await write_lease(self._cluster, lease, self.name, self.namespace, self._identity, duration, now)
        except (ConflictError, AlreadyExistsError) as error:
            self.reason = f"another replica wrote the Lease meanwhile: {error.message}"
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
            await asyncio.wait_for(self._stand_down(), _RELEASE_TIMEOUT_SECONDS)

    async def _stand_down(self) -> None:
        lease = await self._cluster.get(LEASES, self.name, self.namespace)
        if lease is not None and holder_of(lease) == self._identity:
            spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": format_micro_time(self._clocks.wall())}
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
            left = 0.0 if self._renewed is None else self._timings.deadline - (self._clock() - self._renewed)
            try:
                await asyncio.wait_for(self.attempt(), max(0.0, left))
            except TimeoutError:
                self.reason = self.reason or "the API server did not answer in time"

    async def _pause(self) -> None:
        await self._clocks.sleep(self._timings.retry * (1 + 0.2 * self._clocks.chance()))  # candidates must not all come at the same moment

    def _may_take(self, lease: Node) -> bool:
        self.holder = holder_of(lease)
        return self.holder == self._identity or not self._observed.is_alive(lease, self._timings.duration)
