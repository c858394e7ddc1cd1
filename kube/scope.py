"""Claims a namespace for a restricted operator with a Lease, which makes a cluster-wide operator ignore the namespace."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Final

from .claims import LEASE_NAME as NAME
from .clocks import LOCAL, Clocks
from .errors import AlreadyExistsError, ApiError, ConflictError
from .lease import Observed, hold, holder_of, write_lease
from .protocol import Cluster, Node
from .resources import LEASES
from .times import format_micro_time

LOG: Final = logging.getLogger("kube.scope")
_PATIENCE: Final = 5.0  # seconds for the deletion at the end
PREFIX: Final = "namespace-restricted-operator-"  # of every identity, also of the Go operator's
IDENTITY: Final = f"{PREFIX}dynamo-webhooks"  # the same for all replicas and versions, or a rolling update would refuse itself


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
        self._observed = Observed(clocks.monotonic)
        self._seen = ("", "")  # holder and resourceVersion, as last read
        self._renewed: float | None = None  # when the last write that succeeded was begun
        self._version = ""  # of the last own write
        self._shared: float | None = None  # when another replica of this operator was last seen to renew
        self.reason = ""

    @property
    def held(self) -> bool:
        """Whether the claim is valid now; otherwise a cluster-wide operator may work in the namespace."""
        return self._renewed is not None and self._clock() - self._renewed < self._duration

    async def acquire(self) -> None:
        """Claims the namespace. Raises LeaseTakenError when another identity renews its claim; ApiError when the server won't.

        A claim of another identity that is not renewed for its whole duration, by the local clock, is taken over.
        """
        before = ("", "")
        while not await self._claim():
            if self._seen[0] == before[0] and self._seen != before:
                raise LeaseTakenError(
                    f"namespace {self._namespace} must be claimed by one restricted operator, seen the Lease {NAME} renewed by "
                    f"{before[0]!r}; remove that operator, or restrict this one to another namespace"
                )
            before = self._seen
            await self._clocks.sleep(self._pause() / 2)

    async def run(self) -> None:
        """Renews until it is cancelled, and recreates a deleted Lease. Reports failures by `held` and `reason`, and raises none."""
        while True:
            await self._clocks.sleep(self._pause())
            try:
                if not await self._claim():
                    self._renewed, self.reason = None, f"the Lease {NAME} is held by {self._seen[0]!r}"
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
            await asyncio.wait_for(self._delete(), _PATIENCE)

    async def _delete(self) -> None:
        lease = await self._cluster.get(LEASES, NAME, self._namespace)
        if lease is not None and lease["metadata"]["resourceVersion"] == self._version:
            await self._cluster.delete(LEASES, NAME, self._namespace, uid=lease["metadata"]["uid"])

    async def _claim(self) -> bool:
        """Writes the Lease unless another identity's is alive; once more when another replica was quicker."""
        for last in (False, True):
            began = self._clock()
            lease = await self._cluster.get(LEASES, NAME, self._namespace)
            if lease is not None and not self._may_take(lease):
                return False
            try:
                # renewTime from the beginning: the Go operator regards a Lease without one as expired
                spec = hold(lease, self._identity, self._duration, format_micro_time(self._clocks.wall()))
                written = await write_lease(self._cluster, lease, NAME, self._namespace, spec)
            except (ConflictError, AlreadyExistsError):
                if last:
                    raise
                continue
            self._renewed, self._version, self.reason = began, written["metadata"]["resourceVersion"], ""
            break
        return True

    def _may_take(self, lease: Node) -> bool:
        version = lease["metadata"]["resourceVersion"]
        self._seen = (holder_of(lease), version)
        if self._seen[0] == self._identity:
            if self._version and version != self._version:
                self._shared = self._clock()
            return True
        return not self._observed.alive(lease, self._duration)

    def _pause(self) -> float:
        return self._interval * (1 - 0.1 * self._clocks.chance())
