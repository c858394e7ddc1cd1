"""One case with its conditions, and its end."""

from typing import NamedTuple

from ...objects.forms import SimulatedServer
from ...userrules.load import UserRuleContext
from .files import Case


class CaseRequest(NamedTuple):
    """One case and its conditions."""

    case: Case
    text: str
    server: SimulatedServer
    rules: UserRuleContext | None = None  # users' own


class CaseVerdict(NamedTuple):
    """The end of one case. `update` are the files that would make it pass, with their texts."""

    case: Case
    failure: str = ""  # one sentence; empty where the case passed
    lines: tuple[str, ...] = ()  # the difference: `-` is expected, `+` was found
    notes: tuple[str, ...] = ()  # rules that could not be evaluated
    update: tuple[tuple[str, str], ...] = ()
    fault: bool = False  # a rule raised an exception

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.failure
