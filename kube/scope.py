"""The Lease by which an operator restricted to one namespace claims it, so that a cluster-wide one leaves it alone.

Whoever watches such Leases judges them elsewhere; this writes one, and never over another identity's that is alive.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.errors import AlreadyExistsError, ApiError, ConflictError
from dynamo_webhooks.kube.lease import Observed
from dynamo_webhooks.kube.resources import LEASES
from dynamo_webhooks.kube.times import micro
from dynamo_webhooks.kube.times import now as local_now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from dynamo_webhooks.kube.protocol import Cluster, Node

LOG: Final = logging.getLogger("kube.scope")
_PATIENCE: Final = 5.0  # seconds for the deletion at the end
NAME: Final = "dynamo-operator-namespace-scope"  # the marker is the name alone
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
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = local_now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`duration` and `interval` are seconds. Raises ValueError unless interval <= duration / 3 and duration is a second or more."""
        if duration < 1 or not 0 < interval <= duration / 3:
            raise ValueError(f"interval must be at most a third of duration, and duration a second or more, seen {interval} and {duration}")
        self._cluster, self._namespace, self._identity = cluster, namespace, identity
        self._duration, self._interval = int(duration), interval
        self._clock, self._now, self._sleep, self._chance = clock, now, sleep, chance
        self._observed = Observed(clock)
        self._seen = ("", "")  # holder and resourceVersion, as last read
        self._renewed: float | None = None  # when the last write that succeeded was begun
        self._version = ""  # of our own last write
        self._shared: float | None = None  # when another replica of ours was last seen to have renewed
        self.reason = ""

    @property
    def held(self) -> bool:
        """Whether the claim stands at this moment; when not, a cluster-wide operator may be at work in the namespace."""
        return self._renewed is not None and self._clock() - self._renewed < self._duration

    async def acquire(self) -> None:
        """Claims the namespace. Raises LeaseTakenError when another identity renews its claim; ApiError when the server won't.

        A claim of another identity that stays unrenewed for its whole duration, on our clock, is taken over.
        """
        before = ("", "")
        while not await self._claim():
            if self._seen[0] == before[0] and self._seen != before:
                raise LeaseTakenError(
                    f"namespace {self._namespace} must be claimed by one restricted operator, seen the Lease {NAME} renewed by "
                    f"{before[0]!r}; remove that operator, or restrict this one to another namespace"
                )
            before = self._seen
            await self._sleep(self._pause() / 2)

    async def run(self) -> None:
        """Renews until it is cancelled; writes the Lease again when somebody deleted it. Doesn't raise: see `held` and `reason`."""
        while True:
            await self._sleep(self._pause())
            try:
                if not await self._claim():
                    self._renewed, self.reason = None, f"the Lease {NAME} is held by {self._seen[0]!r}"
                    LOG.error("namespace %s: %s", self._namespace, self.reason)
            except ApiError as error:
                self.reason = error.message
                LOG.warning("the claim on namespace %s can't be renewed: %s", self._namespace, error.message)

    async def release(self) -> None:
        """Deletes the Lease at a clean stop, after the drain; not while another replica of ours renews it, who still works here."""
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
                written = await self._write(lease)
            except (ConflictError, AlreadyExistsError):
                if last:
                    raise
                continue
            self._renewed, self._version, self.reason = began, written["metadata"]["resourceVersion"], ""
            break
        return True

    def _may_take(self, lease: Node) -> bool:
        version = lease["metadata"]["resourceVersion"]
        self._seen = (_holder(lease), version)
        if self._seen[0] == self._identity:
            if self._version and version != self._version:
                self._shared = self._clock()
            return True
        return not self._observed.alive(lease, self._duration)

    async def _write(self, lease: Node | None) -> Node:
        moment = micro(self._now())
        spec: Node = dict((lease or {}).get("spec") or {})
        if spec.get("holderIdentity") != self._identity:
            spec["acquireTime"] = moment
        # renewTime from the beginning: the Go operator regards a Lease without one as expired.
        spec |= {"holderIdentity": self._identity, "leaseDurationSeconds": self._duration, "renewTime": moment}
        if lease is not None:
            return await self._cluster.replace(LEASES, {**lease, "spec": spec})
        metadata = {"name": NAME, "namespace": self._namespace}
        return await self._cluster.create(LEASES, {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": metadata, "spec": spec})

    def _pause(self) -> float:
        return self._interval * (1 - 0.1 * self._chance())


def _holder(lease: Node) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")
