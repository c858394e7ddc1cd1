"""What a case comes to: passed, or failed with the difference between expected and found, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dynamo_webhooks.cli.cases.files import Case
    from dynamo_webhooks.policies.facts import Facts


class Asked(NamedTuple):
    """What a run was asked for; the same for every case."""

    facts: Facts  # those of the command line
    profile: str
    user: str


class Question(NamedTuple):
    """One case with what it is asked under."""

    case: Case
    text: str
    facts: Facts
    asked: Asked


class Verdict(NamedTuple):
    """The end of one case. `update` are the files that would make it pass, with their texts."""

    case: Case
    failure: str = ""  # one sentence; empty where the case passed
    lines: tuple[str, ...] = ()  # the difference: `-` is expected, `+` was found
    notes: tuple[str, ...] = ()  # rules that could not be evaluated
    update: tuple[tuple[str, str], ...] = ()
    fault: bool = False  # a rule of ours raised

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.failure
