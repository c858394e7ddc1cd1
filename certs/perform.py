"""What a provisioner reads and does: the facts of one moment, and one step, which plan.py chooses, with metrics and Events.

The facts are read fresh from the API server and the endpoints. report.py computes the gauges.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ..api.line import NEWEST, of_release
from ..kube.errors import AlreadyExistsError, ApiError, ConflictError, ForbiddenError
from ..kube.events import Recorder
from ..kube.metrics import COUNTER, GAUGE, Declared, Values, export
from ..kube.protocol import Cluster, Node
from ..kube.resources import DEPLOYMENTS, SECRETS, Resource
from ..kube.times import now as local_now
from . import names
from .files import PairError, read_file
from .inject import Injector, OverwrittenError
from .installation import Installation
from .probe import Prober
from .reading import read_authority, read_serving, read_trust
from .report import Report, conditions, reports
from .state import CertificateState, Mode, Serving, Target, TargetKind
from .step import CreateAuthority, DropPrevious, Step, StoreNext, WriteBundle, WriteServing, event_of
from .store import OPAQUE, TLS, Store, explain_immutable, make_content

PAUSE: Final = 30.0  # seconds before an object that refused a write is tried again
BREATH: Final = 3.0  # seconds before rewriting an object that another writer overwrote at once, against floods


class _Refusal(NamedTuple):
    version: str  # resourceVersion that refused; empty: any
    reason: str
    until: float


class Gathered(NamedTuple):
    """The facts of one moment."""

    state: CertificateState
    now: datetime  # by the API server's clock
    serving: Node | None  # the Secret itself, for Events; it holds a key: never log it
    notes: dict[str, str]  # annotations of the object that the hint is kept in


class Refusals:
    """Objects not to be written for a while: writes failed, or another writer overwrites them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found: dict[tuple[TargetKind, str], _Refusal] = {}

    def add(self, target: Target, reason: str, *, overwritten: bool = False) -> None:
        """Notes a refusal. A change of the object ends it, except where it is a change that we mustn't answer at once."""
        version, pause = ("", BREATH) if overwritten else (target.version, PAUSE)
        self._found[target.kind, target.name] = _Refusal(version, reason, self._clock() + pause)

    def applied(self, target: Target) -> Target:
        """The target with the reason for which it isn't written now, if there is one."""
        found = self._found.get((target.kind, target.name))
        if found is None:
            return target
        if self._clock() >= found.until or found.version not in ("", target.version):
            del self._found[target.kind, target.name]
            return target
        return replace(target, refused=found.reason)

    def soonest(self) -> float | None:
        """Seconds until the next of them may be written again; None when there are none."""
        return min((each.until - self._clock() for each in self._found.values()), default=None)


@dataclass(slots=True)
class Gatherer:
    """Reads everything that a decision depends on."""

    cluster: Cluster
    about: Installation
    store: Store
    injector: Injector
    prober: Prober
    refusals: Refusals
    now: Callable[[], datetime] = local_now  # the local wall clock, which is only compared with the API server's

    async def gather(self) -> Gathered:
        """Read everything. Raises ApiError if the API server is unreachable."""
        about, store = self.about, self.store
        managed = about.mode is Mode.MANAGED
        # all at once: a busy API server needs a second for each answer
        serving, authority, trust, endpoints, targets = await asyncio.gather(
            store.serving(),
            store.authority() if managed else asyncio.sleep(0),  # which there is no need to read
            self._trust(),
            self.prober.look(),
            asyncio.gather(*(self._target(kind, name) for kind, name in about.targets)),
        )
        theirs = await self.cluster.server_time()
        found = read_serving(serving) if serving else None
        state = CertificateState(
            mode=about.mode,
            profile=about.profile,
            timings=about.timings,
            authority=read_authority(authority) if authority else None,
            serving=found,
            trust=read_trust(trust) if trust else None,
            targets=tuple(targets),
            endpoints=endpoints,
            skew=self.now() - theirs,
            configured_trust=_content(about.trust_file),
            fixed=self._fixed(authority, serving if managed else None, trust),
            reference_running=managed and await self._reference_runs(found),
        )
        holder = (authority if managed else trust) or {}
        notes = dict((holder.get("metadata") or {}).get("annotations") or {})
        return Gathered(state, theirs, serving, notes)

    def _fixed(self, authority: Node | None, serving: Node | None, trust: Node | None) -> tuple[str, ...]:
        """The stored objects that can't be replaced, and why."""
        typed = ((authority, OPAQUE), (serving, TLS), (trust, ""))
        found = ((obj, explain_immutable(obj, type_)) for obj, type_ in typed if obj)
        return tuple(f"{obj['kind']} {obj['metadata']['name']} is {why}" for obj, why in found if why)

    async def _trust(self) -> Node | None:
        try:
            return await self.store.trust()
        except ForbiddenError:
            if self.about.mode is Mode.EXTERNAL_INJECTION:
                return None  # there is no use for the permission, hence it may be missing
            raise

    async def _target(self, kind: TargetKind, name: str) -> Target:
        try:
            return self.refusals.applied(await self.injector.read(kind, name))
        except ForbiddenError as error:  # counts as untrusting: unknown
            return Target(kind, name, bundles=(b"",), refused=error.message)

    async def _reference_runs(self, serving: Serving | None) -> bool:
        """Whether the Go operator, which left its authority's key in the Secret, has ready endpoints behind the Service it signed for."""
        if serving is None or serving.authority_key is None or serving.leaf is None or self.about.force_adoption:
            return False
        ending = f".{self.about.profile.namespace}.svc"
        services = {name.removesuffix(ending) for name in serving.leaf.names if name.endswith(ending)}
        return any([await self.prober.anybody_behind(one) for one in sorted(services - {self.about.profile.service})])


def _content(file: str) -> bytes:
    """A small local file's bytes; empty when there is none, which the readiness report explains."""
    try:
        return read_file(Path(file)) if file else b""
    except PairError:
        return b""


LOG: Final = logging.getLogger("certs.perform")
_TOLD: Final = logging.getLogger("certs.tell")
# by name without the prefix
DECLARED: Final = {
    each.name: each._replace(name=f"dynamo_webhooks_{each.name}")
    for each in (
        Declared("provisioner_leading", GAUGE, "1 if this provisioner holds the Lease; only then it has the other gauges"),
        Declared("ca_not_after_seconds", GAUGE, "End of an authority, as Unix time", ("generation",)),
        Declared("leaf_not_after_seconds", GAUGE, "End of the serving certificate, as Unix time"),
        Declared("rotation_phase", GAUGE, "1 for the current phase", ("phase",)),
        Declared("trust_in_sync", GAUGE, "1 if a configuration object has the right bundle", ("kind", "name")),
        Declared("trust_mismatch", GAUGE, "1 if a configuration object exists and has another bundle", ("kind", "name")),
        Declared("endpoint_leaf_in_sync", GAUGE, "1 if an endpoint presents the newest certificate", ("address",)),
        Declared("clock_skew_seconds", GAUGE, "The provisioner's clock minus the API server's"),
        Declared("expected_objects_missing", GAUGE, "1 if a configuration object is missing", ("kind", "name")),
        Declared("roll_stuck", GAUGE, "1 if a rotation waits too long for objects or endpoints"),
        Declared("probe_unavailable", GAUGE, "1 if no endpoint can be probed"),
        Declared("secret_conflicts", COUNTER, "Writes that conflicted with another"),
        Declared("bundle_writes", COUNTER, "Bundles written; `reason` is bootstrap, rotation or drift", ("kind", "name", "reason")),
        Declared("leaf_issued", COUNTER, "Serving certificates issued", ("reason",)),
        Declared("rotations", COUNTER, "Rotations of the authority", ("reason", "result")),
    )
}


class Meters:
    """Counts of one process, and the gauges of its last look."""

    def __init__(self) -> None:
        self._counts = {name: Counter[tuple[str, ...]]() for name, each in DECLARED.items() if each.type == COUNTER}
        self._counts["secret_conflicts"][()] = 0
        self.gauges: dict[str, dict[tuple[str, ...], float]] = {}
        self.leading = False

    def count(self, name: str, *labels: str) -> None:
        """Adds one to a counter."""
        self._counts[name][labels] += 1

    def text(self) -> bytes:
        """All metrics in the Prometheus text format. A gauge that has no value now is absent, not zero."""
        values: dict[str, Values] = {**self._counts, "provisioner_leading": {(): self.leading}}
        values |= {name: each for name, each in self.gauges.items() if each and self.leading}
        return export((DECLARED[name], each) for name, each in values.items())


class Teller:
    """Reports each step and problem once, until it changes."""

    def __init__(self, about: Installation, store: Store, recorder: Recorder) -> None:
        self._about, self._store, self._recorder = about, store, recorder
        self._reported: frozenset[Report] = frozenset()
        self._unread = ""  # why the servers' Deployment can't be read
        self._other_release = ""  # of the definitions, as it was last logged

    async def stands(self, found: Gathered) -> None:
        """Reports the current problems that are new since the last call."""
        now = frozenset(reports(found.state, found.now))
        for report in sorted(now - self._reported):
            _TOLD.warning("%s: %s", report.reason, report.text)
            await self.record(found, "Warning", report.reason, report.text)
        self._reported = now
        self._compare_releases(found.state.targets)

    def _compare_releases(self, targets: tuple[Target, ...]) -> None:
        """Warns once of definitions of another operator release than `operator.version`: fields would be lost or refused."""
        version = self._about.version
        wanted = of_release(version)
        other = next((f"{each.name} is of operator {each.release}" for each in targets if each.release not in ("", wanted)), "")
        if wanted is not None and other and other != self._other_release:
            text = "both must be of one operator release, or fields are lost or refused; `dynamo-webhooks doctor` prints the repair"
            _TOLD.warning("%s, and operator.version is %s, which is %s.0 by default: %s", other, version, NEWEST, text)
        self._other_release = other

    async def annotate(self, found: Gathered) -> None:
        """Updates the annotation; a failure is only logged, since nothing depends on it."""
        text = conditions(found.state, found.now)
        managed, called = self._about.mode is Mode.MANAGED, self._about.called
        own = found.state.authority if managed else found.state.trust
        if text == found.notes.get(names.CONDITIONS) or own is None or self._about.mode is Mode.EXTERNAL_INJECTION:
            return  # nothing new, or no object of our own
        kind, name = ("Secret", called.authority) if managed else ("ConfigMap", called.trust)
        try:
            await self._store.annotate(kind, name, {names.CONDITIONS: text})
        except ApiError as error:
            _TOLD.warning("the conditions can't be written: %s", error.message)

    async def record(self, found: Gathered, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Writes one Event on the serving Secret and one on the servers' Deployment."""
        called = {"name": self._about.called.serving, "namespace": self._about.called.namespace}  # the Secret may not exist
        secret = _regarding(SECRETS, {**((found.serving or {}).get("metadata") or {}), **called})
        await asyncio.gather(self._recorder.record(secret, kind, reason, message), self._record_on_servers(kind, reason, message))

    async def _record_on_servers(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Reads the Deployment first: `kubectl describe` finds Events by uid. Without the permission, it writes no Event."""
        try:
            servers = await self._store.servers(self._about.profile.service)
        except ApiError as error:
            if error.message != self._unread:
                self._unread = error.message
                _TOLD.warning("the Deployment of the servers gets no Events; this is logged once: %s", error.message)
            return
        if servers:
            await self._recorder.record(_regarding(DEPLOYMENTS, servers["metadata"]), kind, reason, message)


def _regarding(resource: Resource, metadata: Node) -> Node:
    """The object that an Event is about."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


class Performer:
    """Performs steps."""

    def __init__(self, about: Installation, store: Store, injector: Injector, refusals: Refusals, meters: Meters, teller: Teller) -> None:
        self._about, self._store, self._injector = about, store, injector
        self._refusals, self._meters, self._teller = refusals, meters, teller

    async def perform(self, step: Step, found: Gathered, seen: Node | None = None) -> bool:
        """Takes the step; False when something had changed since the facts were gathered, so that they must be gathered again.

        `seen` is the object that a bundle is written into, where a watch has just shown it.

        Raises: ApiError for what isn't a matter of one configuration object; the caller waits a while and begins anew.
        """
        try:
            if isinstance(step, WriteBundle):
                done = await self._inject(step, seen)
            elif done := (write := make_content(step, found.state, found.now, self._about.called)) is not None:
                await self._store.write(write)
        except (ConflictError, AlreadyExistsError) as error:
            self._meters.count("secret_conflicts")
            LOG.info("%s: %s; looking again", type(step).__name__, error.message)
            return False
        if done:
            self._count(step, found)
            LOG.info("%s%s", type(step).__name__, _detail(step))
            reason, text = event_of(step)
            if reason:
                await self._teller.record(found, "Normal", reason, text)
        return done

    async def _inject(self, step: WriteBundle, seen: Node | None) -> bool:
        try:
            await self._injector.write(step.target, step.bundle, seen=seen)
        except OverwrittenError as error:
            self._refuse(step, str(error), overwritten=True)
        except ApiError as error:
            if isinstance(error, ConflictError) or error.code < 400:  # looked at again, or not an answer
                raise
            self._refuse(step, error.message)
        else:
            return True
        return False

    def _refuse(self, step: WriteBundle, reason: str, *, overwritten: bool = False) -> None:
        """One object that can't be written must not keep the others from being written."""
        LOG.warning("%s %s can't be given its bundle: %s", step.target.kind, step.target.name, reason)
        self._refusals.add(step.target, reason, overwritten=overwritten)

    def _count(self, step: Step, found: Gathered) -> None:
        if isinstance(step, WriteBundle):
            self._meters.count("bundle_writes", step.target.kind.value, step.target.name, step.reason)
        elif isinstance(step, WriteServing):
            self._meters.count("leaf_issued", step.reason)
        elif isinstance(step, StoreNext):
            self._meters.count("rotations", step.reason, "started")
        elif isinstance(step, CreateAuthority) and step.previous:
            self._meters.count("rotations", "key-lost", "started")
        elif isinstance(step, DropPrevious):
            why = found.state.authority.reason if found.state.authority else ""
            self._meters.count("rotations", why or "key-lost", "completed")


def _detail(step: Step) -> str:
    """The details of a step for the log: names and reasons, never content."""
    if isinstance(step, WriteBundle):
        return f": {step.target.kind} {step.target.name} ({step.reason})"
    if isinstance(step, (WriteServing, StoreNext)):
        return f": {step.reason}"
    phase = getattr(step, "phase", None)
    return f": {phase}" if phase else ""
