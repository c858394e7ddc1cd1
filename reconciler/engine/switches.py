"""Switches of kinds that are reconciled only where the configuration and the permissions allow it."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ...api.operator.controllers import AUTO, OFF, ON, Controllers
from ...kube.capability import Presence
from ...kube.resources import ENDPOINT_SLICES, Resource
from ..common.marks import RECONCILED
from ..common.problems import explain_missing_permission as grant
from ..common.resources import CHECKPOINTS, JOBS, MODELS, REQUESTS
from ..render.names import BASE_MODEL_HASH


class Switch(NamedTuple):
    """The switch of a kind; its key in `controllers`, the capability, the overlay and the chart's value share its name."""

    resource: Resource
    name: str
    watched: tuple[Resource, str]  # the kind that its passes also read, and the label by which that is watched

    @property
    def grant(self) -> str:
        """The instruction that follows a missing permission."""
        return grant(self.name)

    def is_off(self, controllers: Controllers) -> bool:
        """Whether the configuration says so."""
        return bool(getattr(controllers, self.name) == OFF)

    def is_on(self, controllers: Controllers, known: Mapping[str, Presence]) -> bool:
        """Whether objects of the kind are reconciled: as configured, and in `auto` where the required permissions are granted."""
        value = getattr(controllers, self.name)
        return bool(value == ON or (value == AUTO and known.get(self.name) is Presence.USABLE))


SWITCHES: Final = {
    each.resource.kind: each
    for each in (
        Switch(MODELS, "models", (ENDPOINT_SLICES, BASE_MODEL_HASH)),
        Switch(CHECKPOINTS, "checkpoints", (JOBS, f"{RECONCILED}=true")),
        Switch(REQUESTS, "requests", (JOBS, f"{RECONCILED}=true")),
    )
}
