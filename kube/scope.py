"""Claims a namespace for a restricted operator with a Lease, and judges the claims of others, by our own monotonic clock."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ..api.operator.scope import ScopeSettings
from .clocks import LOCAL, Clocks
from .errors import AlreadyExistsError, ApiError, ConflictError
from .lease import ObservedLease, holder_of, write_lease
from .protocol import Cluster, Node
from .resources import LEASES
from .times import parse_time

LOG: Final = logging.getLogger("kube.scope")
_DELETION_TIMEOUT_SECONDS: Final = 5.0  # at the end
PREFIX: Final = "namespace-restricted-operator-"  # of every identity, also of the Go operator's
IDENTITY: Final = f"{PREFIX}dynamo-webhooks"  # the same for all replicas and versions, or a rolling update would refuse itself
LEASE_NAME: Final = "dynamo-operator-namespace-scope"  # the name alone marks it; holder and labels are free
MAX_LEASE_SECONDS: Final = 3600  # whatever a Lease says: no single write excludes a namespace for longer
DEFAULT_LEASE_SECONDS: Final = 30.0  # as the Go operator writes by default


class LeaseTakenError(Exception):
    """Another restricted operator claims the namespace; the message names it."""


class NamespaceLease:
    """Claims a namespace for all replicas of one identity, as long as `run` runs in one of them."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        identity: str = IDENTITY,
        *,
        duration: float = 30.0,
        interval: float = 10.0,
        clocks: Clocks = LOCAL,
    ) -> None:
        """`duration` and `interval` are seconds. Raises ValueError unless interval <= duration / 3 and duration is a second or more."""
        if duration < 1 or not 0 < interval <= duration / 3:
            raise ValueError(f"interval must be at most a third of duration, and duration a second or more, seen {interval} and {duration}")
        self._cluster, self._namespace, self._identity = cluster, namespace, identity
        self._duration, self._interval = int(duration), interval
        self._clocks, self._clock = clocks, clocks.monotonic
        self._observed = ObservedLease(clocks.monotonic)
        self._last_read = ("", "")  # holder and resourceVersion, as last read
        self._renewed: float | None = None  # when the last write that succeeded was begun
        self._version = ""  # of the last own write
        self._shared: float | None = None  # when another replica of this operator was last seen to renew
        self.reason = ""

    @property
    def is_held(self) -> bool:
        """Whether the claim is valid now; otherwise a cluster-wide operator may work in the namespace."""
        return self._renewed is not None and self._clock() - self._renewed < self._duration

    async def acquire(self) -> None:
        """Claims the namespace, also from one who doesn't renew for its duration, by our clock. Raises LeaseTakenError; ApiError."""
        before = ("", "")
        while not await self._claim():
            if self._last_read[0] == before[0] and self._last_read != before:
                raise LeaseTakenError(
                    f"namespace {self._namespace} must be claimed by one restricted operator, seen the Lease {LEASE_NAME} renewed by "
                    f"{before[0]!r}; remove that operator, or restrict this one to another namespace"
                )
            before = self._last_read
            await self._clocks.sleep(self._pause() / 2)

    async def run(self) -> None:
        """Renews until it is cancelled, and recreates a deleted Lease. Reports failures by `is_held` and `reason`, and raises none."""
        while True:
            await self._clocks.sleep(self._pause())
            try:
                if not await self._claim():
                    self._renewed, self.reason = None, f"the Lease {LEASE_NAME} is held by {self._last_read[0]!r}"
                    LOG.error("namespace %s: %s", self._namespace, self.reason)
            except ApiError as error:
                self.reason = error.message
                LOG.warning("the claim on namespace %s can't be renewed: %s", self._namespace, error.message)

    async def release(self) -> None:
        """Deletes the Lease at a clean stop, after the drain, unless another replica of this operator still renews it."""
        if self._renewed is None or (self._shared is not None and self._clock() - self._shared < 2 * self._interval):
            return
        self._renewed = None
        with suppress(ApiError, TimeoutError):
            await asyncio.wait_for(self._delete(), _DELETION_TIMEOUT_SECONDS)

    async def _delete(self) -> None:
        lease = await self._cluster.get(LEASES, LEASE_NAME, self._namespace)
        if lease is not None and lease["metadata"]["resourceVersion"] == self._version:
            await self._cluster.delete(LEASES, LEASE_NAME, self._namespace, uid=lease["metadata"]["uid"])

    async def _claim(self) -> bool:
        """Writes the Lease unless another identity's is alive; once more when another replica was quicker."""
        for last in (False, True):
            began = self._clock()
            lease = await self._cluster.get(LEASES, LEASE_NAME, self._namespace)
            if lease is not None and not self._may_take(lease):
                return False
            try:
                # renewTime from the beginning: the Go operator regards a Lease without one as expired
                now = self._clocks.wall()
                written = await write_lease(self._cluster, lease, LEASE_NAME, self._namespace, self._identity, self._duration, now)
            except (ConflictError, AlreadyExistsError):
                if last:
                    raise
                continue
            self._renewed, self._version, self.reason = began, written["metadata"]["resourceVersion"], ""
            break
        return True

    def _may_take(self, lease: Node) -> bool:
        version = lease["metadata"]["resourceVersion"]
        self._last_read = (holder_of(lease), version)
        if self._last_read[0] == self._identity:
            if self._version and version != self._version:
                self._shared = self._clock()
            return True
        return not self._observed.is_alive(lease, self._duration)

    def _pause(self) -> float:
        return self._interval * (1 - 0.1 * self._clocks.chance())


@dataclass(slots=True)
class _Claim:
    spec: dict[str, Any]
    until: float  # on the monotonic clock


@dataclass(slots=True)
class Claims:
    """The namespaces that Leases claim. Times in a Lease count only when it is first seen; later its changes do.

    A claim keeps the reconciler away, which harms only the claimed namespace. Only in configured namespaces does it exempt from rules, too.
    """

    scope: ScopeSettings
    _claims: dict[str, _Claim] = field(default_factory=dict)
    _suspended_at: float | None = None  # when the watch was lost, since when renewals are unseen

    def governs(self, namespace: str, now: float) -> bool:
        """Whether a namespace is ours; `now` is the monotonic clock. The one answer for validators, defaulters and reconcilers."""
        if self.scope.restricted:
            return namespace == self.scope.restricted
        claim = self._claims.get(namespace)
        return claim is None or claim.until <= self._time(now)

    def excluded(self, now: float) -> frozenset[str]:
        """The namespaces that others have claimed."""
        return frozenset() if self.scope.restricted else frozenset(name for name in self._claims if not self.governs(name, now))

    def exempt(self, now: float) -> frozenset[str]:
        """Of these, the ones whose objects aren't judged here. The role `edit` may write Leases, so these namespaces are configured."""
        excluded = self.excluded(now)
        return excluded if self.scope.claimable is None else excluded.intersection(self.scope.claimable)

    def observe(self, lease: dict[str, Any], now: float, wall: datetime) -> None:
        """Takes a Lease as it is now; only a change of its spec renews a claim, so that a label does not revive an expired Lease."""
        metadata, spec = (part if isinstance(part := lease.get(name), dict) else {} for name in ("metadata", "spec"))
        namespace = metadata.get("namespace")
        if not namespace or not isinstance(namespace, str) or metadata.get("name") != LEASE_NAME:
            return
        known = self._claims.get(namespace)
        if known is not None and known.spec == spec:
            return
        duration = _duration(spec)
        alive = known is not None or _is_fresh(metadata, spec, duration, wall, self.scope.max_skew)
        now = self._time(now)
        self._claims[namespace] = _Claim(spec, now + duration + self.scope.grace if alive else now)

    def forget(self, namespace: str) -> None:
        """The Lease was deleted: its holder left in good order, and the namespace is ours at once."""
        self._claims.pop(namespace, None)

    def suspend(self, now: float) -> None:
        """The watch is down: renewals can't be seen, so nothing runs out until it is back."""
        self._suspended_at = now if self._suspended_at is None else self._suspended_at

    def resume(self, now: float) -> None:
        """The watch is back: claims continue with their remaining time."""
        if self._suspended_at is not None:
            for claim in self._claims.values():
                claim.until += now - self._suspended_at
            self._suspended_at = None

    def _time(self, now: float) -> float:
        return now if self._suspended_at is None else self._suspended_at


def _duration(spec: dict[str, Any]) -> float:
    seconds = spec.get("leaseDurationSeconds")
    return float(min(seconds, MAX_LEASE_SECONDS)) if isinstance(seconds, int) and seconds > 0 else DEFAULT_LEASE_SECONDS


def _is_fresh(metadata: dict[str, Any], spec: dict[str, Any], duration: float, wall: datetime, skew: float) -> bool:
    """Whether a Lease that was never seen before is alive by its own times; the Go operator renews a new one only after a while."""
    times = [parse_time(spec.get("renewTime"))]
    if times == [None]:
        times = [parse_time(spec.get("acquireTime")), parse_time(metadata.get("creationTimestamp"))]
    # a difference, because a sum can exceed the last representable year, and any user may write a Lease of that name
    return any(time is not None and (wall - time).total_seconds() <= duration + skew for time in times)
