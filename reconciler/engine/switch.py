"""The switch of a kind that is reconciled only where the configuration and the permissions allow it."""

from typing import NamedTuple

from ...api.line import Line, decide_line
from ...api.operator.configuration import OperatorConfiguration
from ...api.operator.controllers import AUTO, OFF, ON
from ...kube.capability import Presence
from ..common.problems import explain_missing_permission
from .watch import Known


class Switch(NamedTuple):
    """One switch. The key in `controllers`, the capability, and the component and chart value that grant permissions share its name."""

    name: str
    until: Line | None = None  # the first operator release in which nothing acts on the kind
    ended: str = ""  # why, and what to do

    @property
    def grant(self) -> str:
        """The instruction that follows a missing permission."""
        return explain_missing_permission(self.name)

    def is_off(self, settings: OperatorConfiguration) -> bool:
        """Return whether the configuration turns the kind off."""
        return bool(getattr(settings.controllers, self.name) == OFF)

    def is_on(self, settings: OperatorConfiguration, known: Known) -> bool:
        """Whether objects of the kind are reconciled: as configured, and in `auto` where the required permissions are granted."""
        value = getattr(settings.controllers, self.name)
        return bool(value == ON or (value == AUTO and known.get(self.name) is Presence.USABLE))

    def is_over(self, settings: OperatorConfiguration) -> bool:
        """Whether the operator release has no such kind any more."""
        return self.until is not None and decide_line(settings.operator.version) >= self.until
