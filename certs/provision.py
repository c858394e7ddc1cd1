"""The provisioner: while it holds the Lease it looks, decides and takes one step, again and again, woken by watches."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.certs.gather import Gatherer, Refusals
from dynamo_webhooks.certs.inject import RESOURCES, Injector
from dynamo_webhooks.certs.mend import Mender
from dynamo_webhooks.certs.meters import Meters
from dynamo_webhooks.certs.perform import Performer
from dynamo_webhooks.certs.phase import clean
from dynamo_webhooks.certs.plan import next_step
from dynamo_webhooks.certs.probe import Prober
from dynamo_webhooks.certs.report import gauges, not_up, phase_of, unready
from dynamo_webhooks.certs.state import Mode, Phase, Stance
from dynamo_webhooks.certs.step import Nothing, Wait, WriteBundle, WriteServing
from dynamo_webhooks.certs.store import Store
from dynamo_webhooks.certs.tell import Teller
from dynamo_webhooks.certs.timings import ROUND_APART
from dynamo_webhooks.kube.backoff import Backoff
from dynamo_webhooks.kube.errors import ApiError, UnavailableError
from dynamo_webhooks.kube.events import Recorder
from dynamo_webhooks.kube.lease import Election
from dynamo_webhooks.kube.lease import Timings as LeaseTimings
from dynamo_webhooks.kube.reflector import Reflector
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES, SECRETS
from dynamo_webhooks.kube.times import now as local_now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from dynamo_webhooks.certs.gather import Gathered
    from dynamo_webhooks.certs.installation import Installation
    from dynamo_webhooks.certs.probe import Ask
    from dynamo_webhooks.certs.state import CertificateState, TargetKind
    from dynamo_webhooks.certs.step import Step
    from dynamo_webhooks.kube.protocol import Cluster, Node

LOG: Final = logging.getLogger("certs.provision")
COMPONENT: Final = "dynamo-webhooks-provisioner"
RESTING: Final = frozenset({Phase.STABLE, Phase.BOOTSTRAP})
DRAINING: Final = 60.0  # seconds between two looks while only time has to pass
BURST: Final = 60  # steps within a minute, several times what a whole rotation takes
SPAN: Final = 60.0  # seconds of the same
SEEN: Final = 2.0  # seconds for API servers and nodes to update endpoints and bundles
UP: Final = 300.0  # seconds after which an installation that isn't up holds no roll-out up any more
BREATH: Final = 3.0  # seconds before each further step if another writer reverts ours, against floods


class Provisioner:
    """Keeps the certificates and the trust of one installation."""

    def __init__(
        self,
        cluster: Cluster,
        about: Installation,
        identity: str,
        *,
        ask: Ask | None = None,
        apart: float = ROUND_APART.total_seconds(),
        lease: LeaseTimings | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = local_now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`identity` is unique per process start; `apart` is seconds between rounds of probes."""
        self.meters = Meters()
        self.election = Election(
            cluster, about.called.lease, about.called.namespace, identity, timings=lease, clock=clock, now=now, sleep=sleep
        )
        self._cluster, self._about, self._clock, self._sleep, self._apart = cluster, about, clock, sleep, apart
        profile = about.profile
        store, self._refusals = Store(cluster, about.called), Refusals(clock)
        injector = Injector(cluster, profile, take_over=about.take_over)
        self._prober = Prober(cluster, profile.service, profile.namespace, profile.server_name, ask=ask, apart=apart, clock=clock)
        self._gatherer = Gatherer(cluster, about, store, injector, self._prober, self._refusals, now)
        self._teller = Teller(about, store, Recorder(cluster, COMPONENT, clock=clock, now=now))
        self._performer = Performer(about, store, injector, self._refusals, self.meters, self._teller)
        self._changed = asyncio.Event()
        self._mender = Mender(injector, self._performer, self._refusals, self._changed.set, clock)
        self._backoff = Backoff()
        self._taken: deque[float] = deque(maxlen=BURST)
        self._waiting = ""
        self._trouble = "nothing has been looked at yet"  # why the last look failed; empty when it didn't
        self._down = self._trouble  # why the installation isn't up; empty when it is
        self._since = self._began = clock()  # when that changed, and the beginning
        self._was_up = False

    async def run(self) -> None:
        """Runs until it is cancelled, and then releases the Lease."""
        await self.election.run(self._lead)

    async def once(self, patience: float) -> tuple[str, str] | None:
        """Takes steps until there is nothing to do but to wait; why not everything is ready, or None when it is.

        Raises: ApiError, also when it is not known for `patience` seconds who holds the Lease; TimeoutError when somebody else holds it.
        """
        try:
            async with asyncio.timeout(patience):
                while not await self.election.attempt():
                    await self._sleep(1.0)
        except TimeoutError:
            if self.election.unknown:
                raise UnavailableError(0, "", f"it is not known who leads: {self.election.unknown}") from None
            raise
        try:
            while True:
                found, step = await self._look()
                if isinstance(step, (Wait, Nothing)):
                    await self._teller.annotate(found)
                    return unready(found.state, found.now)
                await self.election.attempt()
                await self._take(step, found)
        finally:
            await self.election.release()

    async def reasons(self) -> list[str]:
        """Why it neither provisions nor stands by; roll-outs wait for this."""
        if self.election.unknown:
            return [f"it is not known who leads: {self.election.unknown}"]
        if self.election.leading and self._trouble:
            return [f"the cluster can't be looked at: {self._trouble}"]
        return [] if self._up() else [f"the installation is not up yet: {self._down or 'the API servers may not have seen it'}"]

    def _up(self) -> bool:
        """Whether requests can be answered; after the first time, or if another replica leads, this doesn't affect readiness."""
        now = self._clock()
        self._was_up |= not self.election.leading or (not self._down and now - self._since >= SEEN) or now - self._began >= UP
        return self._was_up

    async def details(self) -> list[str]:
        """For people: what it waits for, or for whom."""
        if not self.election.leading:
            return [] if self.election.unknown else [f"standing by: the Lease is held by {self.election.holder}"]
        return [f"waiting: {self._waiting}"] if self._waiting else ["working"]

    async def metrics(self) -> bytes:
        """For the metrics endpoint."""
        self.meters.leading = self.election.leading
        return self.meters.text()

    async def _lead(self) -> None:
        self._mender.forget()
        watches = [asyncio.ensure_future(self._mender.run()), *(asyncio.ensure_future(each.run()) for each in self._reflectors())]
        self._trouble = "nothing has been looked at yet"
        try:
            while True:
                self._changed.clear()
                pause = await self._pass()
                if pause:
                    with contextlib.suppress(TimeoutError):
                        await self._woken(pause)
        finally:
            for watch in watches:
                watch.cancel()
            await asyncio.gather(*watches, return_exceptions=True)

    async def _woken(self, pause: float) -> None:
        """Waits for so many seconds, or for a change."""
        sleeping = asyncio.ensure_future(self._sleep(pause))
        waking = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({sleeping, waking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (sleeping, waking):
                each.cancel()
            await asyncio.gather(sleeping, waking, return_exceptions=True)

    async def _pass(self) -> float:
        """One look and at most one step; the seconds until the next look unless something changes."""
        try:
            found, step = await self._look()
            if isinstance(step, (Wait, Nothing)):
                await self._teller.annotate(found)
                self._backoff.reset()
                return self._rest(step, found)
            if self.election.leading:
                await self._take(step, found)
        except ApiError as error:
            self._trouble = error.message
            LOG.warning("%s", error.message)
            await self._sleep(self._backoff.next())
        except Exception as error:
            self._trouble = f"internal error: {type(error).__name__}"
            LOG.exception("a pass failed with an unexpected error")
            await self._sleep(self._backoff.next())
        return 0.0

    async def _look(self) -> tuple[Gathered, Step]:
        found = await self._gatherer.gather()
        self._trouble = ""
        self.meters.gauges = gauges(found.state, found.now)
        self._mender.looked(found)
        down = not_up(found.state, found.now)
        if down != self._down:
            self._down, self._since = down, self._clock()
        step = next_step(found.state, found.now)
        await self._teller.stands(found)
        return found, step

    async def _take(self, step: Step, found: Gathered) -> None:
        """Takes a step; and while the next one writes the same bundle into another object, that too, without looking at everything."""
        while True:
            if len(self._taken) == BURST and self._clock() - self._taken[0] < SPAN:
                await self._sleep(BREATH)
            self._taken.append(self._clock())
            self._waiting = ""
            done = await self._performer.perform(step, found)
            if done and isinstance(step, WriteServing):
                self._prober.forget()
            if not done or not isinstance(step, WriteBundle) or not self.election.leading:
                return
            found = found._replace(state=_written(found.state, step))
            step = next_step(found.state, found.now)
            if not isinstance(step, WriteBundle):
                return

    def _rest(self, step: Wait | Nothing, found: Gathered) -> float:
        phase = phase_of(found.state, found.now)
        if step.why != self._waiting:
            self._waiting = step.why
            LOG.info("phase %s: %s", phase, step.why)
        longest = self._about.timings.resync.total_seconds()
        if phase not in RESTING or isinstance(step, Nothing):
            longest = min(longest, DRAINING if phase is Phase.DRAIN and clean(found.state) else self._apart)
        if isinstance(step, Wait):
            longest = min(longest, (step.until - found.now).total_seconds())
        if (soonest := self._refusals.soonest()) is not None:
            longest = min(longest, soonest)
        return max(longest, 0.05)

    def _reflectors(self) -> list[Reflector]:
        """Watches of exactly the objects that matter, by name, as the permissions are."""
        called, about = self._about.called, self._about
        secrets = [called.serving, *([called.authority] if about.mode is Mode.MANAGED else [])]
        found = [Reflector(self._cluster, SECRETS, called.namespace, name=name) for name in secrets]
        labels = f"kubernetes.io/service-name={about.profile.service}"
        found.append(Reflector(self._cluster, ENDPOINT_SLICES, called.namespace, labels=labels))
        for each in found:
            each.subscribe(self._note)
        return [*found, *(self._target(kind, name) for kind, name in about.targets)]

    def _target(self, kind: TargetKind, name: str) -> Reflector:
        """A watch of a configuration object, of whose changes the mender learns first."""
        found = Reflector(self._cluster, RESOURCES[kind], name=name)
        found.subscribe(lambda _, new: self._mender.changed(kind, name, new))
        return found

    def _note(self, _old: Node | None, _new: Node | None) -> None:
        self._changed.set()


def _written(state: CertificateState, step: WriteBundle) -> CertificateState:
    """The facts after a bundle was written and read back."""
    after = replace(step.target, stance=Stance.OURS, bundles=(step.bundle,))
    return replace(state, targets=tuple(after if one == step.target else one for one in state.targets))
