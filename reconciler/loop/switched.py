"""Kinds that are reconciled only where the configuration and the permissions let us: one line a kind, and what their objects are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.operator.settings import AUTO, OFF, ON
from dynamo_webhooks.kube.capability import Presence
from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.resources import ENDPOINT_SLICES
from dynamo_webhooks.reconciler.loop.checkpoint import reconcile_checkpoint
from dynamo_webhooks.reconciler.loop.kinds import CHECKPOINTS, JOBS, MODELS, REQUESTS
from dynamo_webhooks.reconciler.loop.marks import RECONCILED
from dynamo_webhooks.reconciler.loop.model import reconcile_model
from dynamo_webhooks.reconciler.loop.problems import grant, lacks_right
from dynamo_webhooks.reconciler.loop.request import reconcile_request
from dynamo_webhooks.reconciler.loop.unattended import PATIENCE, no_longer_told, tell_forbidden, tell_unattended
from dynamo_webhooks.reconciler.loop.work import PassResult
from dynamo_webhooks.reconciler.render.names import BASE_MODEL_HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.kube.resources import Resource
    from dynamo_webhooks.reconciler.loop.work import Work

UNLISTED: Final = 1.0  # seconds between two looks whether all objects of a kind have been listed


class Switched(NamedTuple):
    """A kind behind a switch; all of `controllers`, the capability, the overlay and the chart's value have the one name."""

    resource: Resource
    name: str
    reconcile: Callable[[Work, Node], Awaitable[PassResult]] | None = None  # None: no controller of this installation
    watched: tuple[tuple[Resource, str], ...] = ()  # what its passes read beside, each with the label that it is watched by

    @property
    def grant(self) -> str:
        """What to do about a missing permission."""
        return grant(self.name)

    def runs(self, controllers: Mapping[str, str], known: Mapping[str, Presence]) -> bool:
        """Whether its objects are reconciled here: as the switch says, in `auto` where what it needs is permitted."""
        switch = controllers.get(self.name, AUTO)
        return self.reconcile is not None and (switch == ON or (switch == AUTO and known.get(self.name) is Presence.USABLE))


SWITCHED: Final = (
    Switched(MODELS, "models", reconcile_model, ((ENDPOINT_SLICES, BASE_MODEL_HASH),)),
    Switched(CHECKPOINTS, "checkpoints", reconcile_checkpoint, ((JOBS, f"{RECONCILED}=true"),)),
    Switched(REQUESTS, "requests", reconcile_request, ((JOBS, f"{RECONCILED}=true"),)),
)
_ROWS: Final = {each.resource.kind: each for each in SWITCHED}


def row_of(kind: str) -> Switched:
    """The line of a kind."""
    return _ROWS[kind]


async def attend(work: Work, obj: Node) -> PassResult:
    """One pass over an object of such a kind; one that isn't reconciled, or not permitted to be, says why.

    Raises: ApiError, StandDownError.
    """
    row = _ROWS[obj["kind"]]
    if row.reconcile is None or not row.runs(work.settings.controllers, work.known()):
        return await tell_unattended(work, obj, *_reason(work, row))
    if not work.cache.knows(obj["kind"]):  # which of two objects is the older one, say, is not known yet
        return PassResult((), UNLISTED)
    try:
        outcome = await row.reconcile(work, obj)
        await no_longer_told(work, obj)
    except ForbiddenError as error:
        if not lacks_right(error):
            raise
        return await tell_forbidden(work, obj, f"the reconciler lacks a permission: {error.message}; {row.grant}")
    return outcome


def _reason(work: Work, row: Switched) -> tuple[str, str]:
    """The reason and the message for an object that nobody acts on."""
    what = f"no controller acts on objects of the kind {row.resource.kind}"
    nobody = f"other one has acted within {PATIENCE:.0f} s"
    if row.reconcile is None:
        return "NoController", f"{what}: the reconciler has none, and no {nobody}"
    if work.settings.controllers.get(row.name) == OFF:
        return "NoController", f"{what}: controllers.{row.name} is off in the configuration, and no {nobody}"
    lacking = work.lacking(row.name)
    named = f" ({lacking})" if lacking else ""
    return "Forbidden", f"{what}: the reconciler lacks a permission for it{named}; {row.grant}"
