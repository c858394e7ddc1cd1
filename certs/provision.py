"""The provisioner: while it holds the Lease it looks, decides and takes one step, again and again, woken by watches."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from ..kube.clocks import LOCAL, Backoff, Clocks
from ..kube.errors import ApiError, UnavailableError
from ..kube.events import Recorder
from ..kube.lease import Election
from ..kube.lease import Timings as LeaseTimings
from ..kube.protocol import Cluster, Node
from ..kube.reflector import Reflector
from ..kube.resources import ENDPOINT_SLICES, SECRETS
from .gather import REWRITE_PAUSE_SECONDS, Gatherer, Refusals, RotationFacts
from .inject import RESOURCES, Injector
from .installation import Installation
from .meters import Meters
from .perform import Performer
from .plan import next_step, published_bundle, repair
from .policy import has_converged
from .probe import Ask, Prober
from .report import explain_not_up, find_unready_cause, make_gauges, phase_of
from .state import ROUND_APART, CertificateState, Mode, Ownership, Phase, TargetKind
from .step import NoStep, Step, Wait, WriteBundle, WriteServing
from .store import Store
from .tell import Reporter

_T = TypeVar("_T")
LOG: Final = logging.getLogger("certs.provision")
COMPONENT: Final = "dynamo-webhooks-provisioner"
RESTING: Final = frozenset({Phase.STABLE, Phase.BOOTSTRAP})
DRAIN_POLL_SECONDS: Final = 60.0  # between two looks while only time has to pass
MAX_BURST_STEPS: Final = 60  # several times what a whole rotation takes
BURST_SECONDS: Final = 60.0
UPDATE_SECONDS: Final = 2.0  # for API servers and nodes to update endpoints and bundles
INSTALLING_SECONDS: Final = 60.0  # for one `kubectl apply` to write all objects
START_TIMEOUT_SECONDS: Final = 300.0  # after which an installation that isn't up holds no roll-out up any more


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
        clocks: Clocks = LOCAL,
    ) -> None:
        """`identity` is unique per process start; `apart` is seconds between rounds of probes."""
        self.meters = Meters()
        clock, now = clocks.monotonic, clocks.wall
        self.election = Election(cluster, about.names.lease, about.names.namespace, identity, timings=lease, clocks=clocks)
        self._cluster, self._about, self._clock, self._sleep, self._apart = cluster, about, clock, clocks.sleep, apart
        profile = about.profile
        store, self._refusals = Store(cluster, about.names), Refusals(clock)
        self._injector = injector = Injector(cluster, profile, take_over=about.take_over)
        self._prober = Prober(cluster, profile.service, profile.namespace, profile.server_name, ask=ask, apart=apart, clock=clock)
        self._gatherer = Gatherer(cluster, about, store, injector, self._prober, self._refusals, now)
        self._reporter = Reporter(about, store, Recorder(cluster, COMPONENT, clocks=clocks))
        self._performer = Performer(about, store, injector, self._refusals, self.meters, self._reporter)
        self._news = asyncio.Event()  # set by watches
        self._watched: dict[tuple[TargetKind, str], Node | None] = {}  # configuration objects as watches showed them since
        self._due = False  # whether something has changed since the last look began
        self._last_published: tuple[RotationFacts, bytes] | None = None  # the last look, and the bundle that was everywhere
        self._repaired: dict[tuple[TargetKind, str], float] = {}
        self._backoff = Backoff()
        self._step_times: deque[float] = deque(maxlen=MAX_BURST_STEPS)
        self._wait_reason = ""
        self._read_error = "the cluster has not been read yet"  # why the last look failed; empty when it didn't
        self._down_reason = self._read_error  # why the installation isn't up; empty when it is
        self._since = self._began = clock()  # when that changed, and the beginning
        self._was_up = False

    async def run(self) -> None:
        """Runs until it is cancelled, and then releases the Lease."""
        await self.election.run(self._lead)

    async def once(self, patience: float) -> tuple[str, str] | None:
        """Takes steps until only waiting is left; returns why not everything is ready, or None.

        Raises: ApiError, also when the Lease's holder stays unknown for `patience` seconds; TimeoutError when another replica holds it.
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
                facts, step = await self._observe()
                if isinstance(step, (Wait, NoStep)):
                    await self._reporter.annotate(facts)
                    return find_unready_cause(facts.state, facts.now)
                await self.election.attempt()
                await self._take_steps(step, facts)
        finally:
            await self.election.release()

    async def reasons(self) -> list[str]:
        """Lists why the provisioner neither provisions nor is on standby; roll-outs wait for this."""
        if self.election.unknown:
            return [f"it is not known who leads: {self.election.unknown}"]
        if self.election.leading and self._read_error:
            return [f"the cluster can't be read: {self._read_error}"]
        now = self._clock()
        # whether requests can be answered; after the first time, or if another replica leads, this doesn't affect readiness
        self._was_up |= (
            not self.election.leading
            or (not self._down_reason and now - self._since >= UPDATE_SECONDS)
            or now - self._began >= START_TIMEOUT_SECONDS
        )
        return [] if self._was_up else [f"the installation is not up yet: {self._down_reason or 'the API servers may not have seen it'}"]

    async def details(self) -> list[str]:
        """The step or the leader that it waits for."""
        if not self.election.leading:
            return [] if self.election.unknown else [f"standing by: the Lease is held by {self.election.holder}"]
        return [f"waiting: {self._wait_reason}"] if self._wait_reason else ["working"]

    async def metrics(self) -> bytes:
        """For the metrics endpoint."""
        self.meters.leading = self.election.leading
        return self.meters.text()

    async def _lead(self) -> None:
        self._last_published = None  # the leader in between may have published something else
        watches = [asyncio.ensure_future(each.run()) for each in self._reflectors()]
        self._read_error = "the cluster has not been read yet"
        try:
            while True:
                self._due = False
                pause = await self._run_with_repairs(self._pass())
                if pause and not self._due:
                    await self._run_with_repairs(self._sleep(pause), wakes=True)
        finally:
            for watch in watches:
                watch.cancel()
            await asyncio.gather(*watches, return_exceptions=True)

    async def _run_with_repairs(self, work: Awaitable[_T], *, wakes: bool = False) -> _T | None:
        """Do work, and repair bundles that are lost meanwhile; with `wakes`, a change of anything that is watched ends it."""
        doing = asyncio.ensure_future(work)
        try:
            while not doing.done() and not (wakes and self._due):
                waking = asyncio.ensure_future(self._news.wait())
                await asyncio.wait({doing, waking}, return_when=asyncio.FIRST_COMPLETED)
                waking.cancel()
                if self._news.is_set():
                    self._news.clear()
                    await self._repair()
                    self._due = True
            return doing.result() if doing.done() else None
        finally:
            doing.cancel()
            await asyncio.gather(doing, return_exceptions=True)

    async def _repair(self) -> None:
        """Write the published bundle into objects that a watch showed without it, in the version that it showed.

        A look asks every server for its certificate, and waits for those that don't answer; requests fail meanwhile, or lose fields.
        """
        watched, self._watched = self._watched, {}
        for (kind, name), obj in watched.items():
            if self._last_published is None or obj is None:
                continue
            facts, bundle = self._last_published
            step, now = repair(self._refusals.apply(self._injector.to_target(kind, name, obj)), bundle), self._clock()
            if step is None or now - self._repaired.get((kind, name), float("-inf")) < REWRITE_PAUSE_SECONDS:
                continue  # another writer reverts it: passes have their own delays
            self._repaired[kind, name] = now
            try:
                await self._performer.perform(step, facts, obj)
            except ApiError as error:
                LOG.warning("%s %s: %s", kind, name, error.message)
            except Exception:
                LOG.exception("%s %s could not be repaired at once", kind, name)

    async def _pass(self) -> float:
        """One look and at most one step; the seconds until the next look unless something changes."""
        try:
            facts, step = await self._observe()
            if isinstance(step, (Wait, NoStep)):
                await self._reporter.annotate(facts)
                self._backoff.reset()
                return self._choose_pause(step, facts)
            if self.election.leading:
                await self._take_steps(step, facts)
        except ApiError as error:
            self._read_error = error.message
            LOG.warning("%s", error.message)
            await self._sleep(self._backoff.next())
        except Exception as error:
            self._read_error = f"internal error: {type(error).__name__}"
            LOG.exception("a pass failed with an unexpected error")
            await self._sleep(self._backoff.next())
        return 0.0

    async def _observe(self) -> tuple[RotationFacts, Step]:
        facts = await self._gatherer.gather()
        self._read_error = ""
        self.meters.gauges = make_gauges(facts.state, facts.now)
        bundle = published_bundle(facts.state, facts.now, self._last_published[1] if self._last_published else b"")
        self._last_published = (facts, bundle) if bundle else None
        down = explain_not_up(facts.state, facts.now)
        if down != self._down_reason:
            self._down_reason, self._since = down, self._clock()
        step = next_step(facts.state, facts.now)
        await self._reporter.report_problems(facts, installing=self._installing() > 0)
        return facts, step

    async def _take_steps(self, step: Step, facts: RotationFacts) -> None:
        """Takes a step; and while the next one writes the same bundle into another object, that too, without looking at everything."""
        while True:
            if len(self._step_times) == MAX_BURST_STEPS and self._clock() - self._step_times[0] < BURST_SECONDS:
                await self._sleep(REWRITE_PAUSE_SECONDS)
            self._step_times.append(self._clock())
            self._wait_reason = ""
            done = await self._performer.perform(step, facts)
            if done and isinstance(step, WriteServing):
                self._prober.forget()
            if not done or not isinstance(step, WriteBundle) or not self.election.leading:
                return
            facts = facts._replace(state=_written(facts.state, step))
            step = next_step(facts.state, facts.now)
            if not isinstance(step, WriteBundle):
                return

    def _choose_pause(self, step: Wait | NoStep, facts: RotationFacts) -> float:
        phase = phase_of(facts.state, facts.now)
        if step.why != self._wait_reason:
            self._wait_reason = step.why
            LOG.info("phase %s: %s", phase, step.why)
        longest = self._about.timings.resync.total_seconds()
        if phase not in RESTING or isinstance(step, NoStep):
            longest = min(longest, DRAIN_POLL_SECONDS if phase is Phase.DRAIN and has_converged(facts.state) else self._apart)
        if isinstance(step, Wait):
            longest = min(longest, (step.until - facts.now).total_seconds())
        if (soonest := self._refusals.soonest()) is not None:
            longest = min(longest, soonest)
        if (left := self._installing()) > 0:
            longest = min(longest, left)
        return max(longest, 0.05)

    def _installing(self) -> float:
        """Seconds for which objects of an installation that began with this process may still come."""
        return self._began + INSTALLING_SECONDS - self._clock()

    def _reflectors(self) -> list[Reflector]:
        """Watches of exactly the objects that matter, by name, as the permissions are."""
        object_names, about = self._about.names, self._about
        secrets = [object_names.serving, *([object_names.authority] if about.mode is Mode.MANAGED else [])]
        reflectors = [Reflector(self._cluster, SECRETS, object_names.namespace, name=name) for name in secrets]
        labels = f"kubernetes.io/service-name={about.profile.service}"
        reflectors.append(Reflector(self._cluster, ENDPOINT_SLICES, object_names.namespace, labels=labels))
        for each in reflectors:
            each.subscribe(lambda _old, _new: self._news.set())
        for kind, name in about.targets:  # whose bundles are repaired at once
            reflectors.append(Reflector(self._cluster, RESOURCES[kind], name=name))
            reflectors[-1].subscribe(partial(self._on_change, kind, name))
        return reflectors

    def _on_change(self, kind: TargetKind, name: str, _old: Node | None, new: Node | None) -> None:
        self._watched[kind, name] = new
        self._news.set()


def _written(state: CertificateState, step: WriteBundle) -> CertificateState:
    """The facts after a bundle was written and read back."""
    after = replace(step.target, ownership=Ownership.OURS, bundles=(step.bundle,))
    return replace(state, targets=tuple(after if target == step.target else target for target in state.targets))
