"""The record of a twin, and finding the twin of a rule by its CEL text. The twins themselves stand in `api.cel.rules`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class EvaluationError(Exception):
    """A rule that can't be evaluated on a value; the API server then refuses, as if the rule were broken."""


class UnportedRuleError(LookupError):
    """A schema carries a CEL rule that has no twin here: port it to `api.cel.rules`."""


class Twin(NamedTuple):
    """One rule: its id, its CEL text, and the same as a function of the value and the value that was there before.

    `holds` may raise EvaluationError. A transition rule speaks of `oldSelf`, so it is asked only where there is an old value.
    """

    id: str
    rule: str
    holds: Callable[[Any, Any], bool]

    @property
    def transition(self) -> bool:
        """Says whether the rule compares with the old value; such a rule is never silenced because nothing changed."""
        return "oldSelf" in self.rule


def twin_of(rule: str) -> Twin:
    """Returns the twin of a CEL text. Raises UnportedRuleError when there is none, because a rule left out would be silently kept."""
    try:
        return _twins()[rule]
    except KeyError:
        raise UnportedRuleError(f"no twin in api.cel.rules for the CEL rule: {rule}") from None


@cache
def _twins() -> Mapping[str, Twin]:
    """Collects the twins; done at first use, so that the twins' module may import this one."""
    from dynamo_webhooks.api.cel.rules import TWINS

    return {twin.rule: twin for twin in TWINS}
