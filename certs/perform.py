"""Performs one step, which plan.py chooses."""

import logging
from typing import Final

from ..kube.errors import AlreadyExistsError, ApiError, ConflictError
from ..kube.protocol import Node
from .contents import make_content
from .gather import Refusals, RotationFacts
from .inject import Injector, OverwrittenError
from .installation import Installation
from .meters import Meters
from .step import CreateAuthority, DropPrevious, Step, StoreNext, WriteBundle, WriteServing, event_of
from .store import Store
from .tell import Reporter

LOG: Final = logging.getLogger("certs.perform")


class Performer:
    """Performs steps."""

    def __init__(
        self, about: Installation, store: Store, injector: Injector, refusals: Refusals, meters: Meters, reporter: Reporter
    ) -> None:
        self._about, self._store, self._injector = about, store, injector
        self._refusals, self._meters, self._reporter = refusals, meters, reporter

    async def perform(self, step: Step, facts: RotationFacts, current: Node | None = None) -> bool:
        """Takes the step; False when something had changed since the facts were gathered, so that they must be gathered again.

        `current` is the object that a bundle is written into, where a watch has just shown it.

        Raises: ApiError for what isn't a matter of one configuration object; the caller waits a while and begins anew.
        """
        try:
            if isinstance(step, WriteBundle):
                done = await self._inject(step, current)
            elif done := (write := make_content(step, facts.state, facts.now, self._about.names)) is not None:
                await self._store.write(write)
        except (ConflictError, AlreadyExistsError) as error:
            self._meters.count("secret_conflicts")
            LOG.info("%s: %s; looking again", type(step).__name__, error.message)
            return False
        if done:
            self._count(step, facts)
            LOG.info("%s%s", type(step).__name__, _detail(step))
            reason, text = event_of(step)
            if reason:
                await self._reporter.record(facts, "Normal", reason, text)
        return done

    async def _inject(self, step: WriteBundle, current: Node | None) -> bool:
        try:
            await self._injector.write(step.target, step.bundle, current=current)
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

    def _count(self, step: Step, facts: RotationFacts) -> None:
        if isinstance(step, WriteBundle):
            self._meters.count("bundle_writes", step.target.kind.value, step.target.name, step.reason)
        elif isinstance(step, WriteServing):
            self._meters.count("leaf_issued", step.reason)
        elif isinstance(step, StoreNext):
            self._meters.count("rotations", step.reason, "started")
        elif isinstance(step, CreateAuthority) and step.previous:
            self._meters.count("rotations", "key-lost", "started")
        elif isinstance(step, DropPrevious):
            why = facts.state.authority.reason if facts.state.authority else ""
            self._meters.count("rotations", why or "key-lost", "completed")


def _detail(step: Step) -> str:
    """The details of a step for the log: names and reasons, never content."""
    if isinstance(step, WriteBundle):
        return f": {step.target.kind} {step.target.name} ({step.reason})"
    if isinstance(step, (WriteServing, StoreNext)):
        return f": {step.reason}"
    phase = getattr(step, "phase", None)
    return f": {phase}" if phase else ""
