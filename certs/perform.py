"""Performs one step, which plan.py chooses: its write, metrics and Events; reports problems. report.py computes the gauges."""

import asyncio
import logging
from collections import Counter
from typing import Final, Literal

from ..kube.errors import AlreadyExistsError, ApiError, ConflictError
from ..kube.events import Recorder
from ..kube.metrics import COUNTER, GAUGE, Declared, Values, export
from ..kube.protocol import Node
from ..kube.resources import DEPLOYMENTS, SECRETS, Resource
from . import names
from .gather import Gathered, Refusals
from .inject import Injector, OverwrittenError
from .installation import Installation
from .report import Report, conditions, reports
from .state import Mode
from .step import CreateAuthority, DropPrevious, Step, StoreNext, WriteBundle, WriteServing, event_of
from .store import Store, make_content

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

    async def stands(self, found: Gathered) -> None:
        """Reports the current problems that are new since the last call."""
        now = frozenset(reports(found.state, found.now))
        for report in sorted(now - self._reported):
            _TOLD.warning("%s: %s", report.reason, report.text)
            await self.record(found, "Warning", report.reason, report.text)
        self._reported = now

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
        await asyncio.gather(
            self._recorder.record(self._secret(found.serving), kind, reason, message), self._record_on_servers(kind, reason, message)
        )

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

    def _secret(self, serving: Node | None) -> Node:
        """A reference to the serving Secret, which may not exist."""
        called = {"name": self._about.called.serving, "namespace": self._about.called.namespace}
        return _regarding(SECRETS, {**((serving or {}).get("metadata") or {}), **called})


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
            done = await self._inject(step, seen) if isinstance(step, WriteBundle) else await self._store_step(step, found)
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

    async def _store_step(self, step: Step, found: Gathered) -> bool:
        write = make_content(step, found.state, found.now, self._about.called)
        if write is None:
            return False
        await self._store.write(write)
        return True

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
