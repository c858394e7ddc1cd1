"""Every rule and default there is, found by looking at this package's folders: adding a rule is adding a file."""

from __future__ import annotations

from functools import cache
from typing import Final

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.index import indexed
from dynamo_webhooks.policies.modules import imported
from dynamo_webhooks.policies.rule import BOTH, Rule


class _Reading:
    """How the rules are found, decided before anybody asks for them."""

    __slots__ = ("lazily",)

    def __init__(self) -> None:
        self.lazily = False


_reading: Final = _Reading()


def read_lazily() -> None:
    """Lets the catalogue come from the index, each rule's module imported when the rule is first asked: for commands that start often.

    A server imports all at once, so that no request waits for it and its processes share the memory.
    """
    _reading.lazily = True


@cache
def declared() -> tuple[Rule, ...]:
    """All records, variants of profile 1.2 included, sorted by code.

    Raises: RuleError when a file holds no rule of its own name, or two rules share a code or a name.
    """
    found = indexed() if _reading.lazily else None
    return tuple(found) if found is not None else imported()


@cache
def rules(profile: str, line: Line | None = None) -> tuple[Rule, ...]:
    """The rules and defaults of one profile and line (None: of any), one record a name, sorted by code."""
    chosen: dict[str, Rule] = {}
    for rule in declared():
        # the variant of 1.2 sorts behind the rule that it replaces
        if rule.profile in (BOTH, profile) and (line is None or rule.is_of(line)):
            chosen[rule.name] = rule
    return tuple(chosen.values())


@cache
def by_word(word: str) -> Rule | None:
    """Finds a rule by its name or code; the record of profile current where there are two."""
    wanted = word.strip()
    for rule in declared():
        if wanted.lower() == rule.name or wanted.upper() == rule.code:
            return rule
    return None
