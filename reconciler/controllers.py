"""The controllers of kinds behind a switch: the function that reconciles each, what the cache drops of it, and why nothing acts on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from ..api.line import Line, decide_line
from ..kube.errors import ForbiddenError
from ..kube.protocol import Node
from ..kube.resources import ENDPOINT_SLICES, PODS, SECRETS
from .checkpoint.reconcile import reconcile_checkpoint
from .common.problems import lacks_right
from .common.registered import lighten as lighten_registration
from .common.resources import CHECKPOINT, MODEL, POD_GANG, REQUESTS, WORKER_METADATA
from .engine.no_controller import PATIENCE, clear_no_controller, report_forbidden, report_no_controller
from .engine.passes import RETRY_UNLISTED, PassResult
from .engine.switches import SWITCHES, Switch
from .engine.work import Work
from .graph import ended_pods, placement
from .model import endpoints
from .model import status as model_status
from .model.reconcile import reconcile_model
from .request import phases
from .request.reconcile import reconcile_request
from .workload import pull_secrets

_RETIRED: Final = "there are no DynamoCheckpoints since line 1.5: nothing acts on it, and no pod is restored from it; delete it"
CONTROLLERS: Final[dict[str, Callable[[Work, Node], Awaitable[PassResult]]]] = {
    MODEL: reconcile_model,
    CHECKPOINT: reconcile_checkpoint,
    REQUESTS.kind: reconcile_request,
}
REDUCED: Final[dict[str, Callable[[Node], None]]] = {
    ENDPOINT_SLICES.kind: endpoints.lighten,
    MODEL: model_status.lighten,
    SECRETS.kind: pull_secrets.lighten,
    PODS.kind: ended_pods.lighten,
    REQUESTS.kind: phases.lighten,
    WORKER_METADATA.kind: lighten_registration,
    POD_GANG: placement.lighten,
}


async def reconcile_switched(work: Work, obj: Node) -> PassResult:
    """One pass over an object of such a kind; one that isn't reconciled, or not permitted to be, gets the reason in its status.

    Raises: ApiError, StandDownError.
    """
    switch = SWITCHES[obj["kind"]]
    if obj["kind"] == CHECKPOINT and decide_line(work.settings.operator.version) >= Line.V1_5:
        return await report_no_controller(work, obj, "NoController", _RETIRED, others=False)
    if not switch.is_on(work.settings.controllers, work.known()):
        return await report_no_controller(work, obj, *_explain_inaction(work, switch))
    if not work.cache.knows(obj["kind"]):  # which of two objects is the older one, say, is not known yet
        return PassResult((), RETRY_UNLISTED)
    try:
        outcome = await CONTROLLERS[obj["kind"]](work, obj)
        await clear_no_controller(work, obj)
    except ForbiddenError as error:
        if not lacks_right(error):
            raise
        return await report_forbidden(work, obj, f"the reconciler lacks a permission: {error.message}; {switch.grant}")
    return outcome


def _explain_inaction(work: Work, switch: Switch) -> tuple[str, str]:
    """The reason and the message for an object that no controller acts on."""
    what = f"no controller acts on objects of the kind {switch.resource.kind}"
    if switch.is_off(work.settings.controllers):
        return (
            "NoController",
            f"{what}: controllers.{switch.name} is off in the configuration, and no other one has acted within {PATIENCE:.0f} s",
        )
    lacking = work.lacking(switch.name)
    named = f" ({lacking})" if lacking else ""
    return "Forbidden", f"{what}: the reconciler lacks a permission for it{named}; {switch.grant}"
