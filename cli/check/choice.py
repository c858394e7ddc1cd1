"""Which rules a run reports: `--select` and `--ignore` by name, code, or the beginning of either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from dynamo_webhooks.cli.check.record import LEGACY_KIND, OWN_RULES, UNCONVERTIBLE, UNKNOWN_KIND, WRONG_TYPE
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.nearest import hint
from dynamo_webhooks.policies.catalogue import rules

_UNJUDGED: Final = frozenset(rule.name for rule in (UNKNOWN_KIND, WRONG_TYPE, UNCONVERTIBLE, LEGACY_KIND))


class Choice(NamedTuple):
    """The words of both flags; no selecting word means every rule."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def takes(self, rule: str, code: str) -> bool:
        """Whether findings of a rule are reported.

        Those that keep an object from being judged at all are, unless `--ignore` names the whole rule.
        """
        if rule in _UNJUDGED:
            return rule not in self.ignore and code not in {word.upper() for word in self.ignore}
        return (not self.select or _matches(self.select, rule, code)) and not _matches(self.ignore, rule, code)


def choose(select: Sequence[str], ignore: Sequence[str], profile: str) -> Choice:
    """Makes a choice of what the flags say; each may hold several words between commas.

    Raises: UsageError for a word that means no rule of the profile.
    """
    choice = Choice(_words(select), _words(ignore))
    if choice.select or choice.ignore:
        known = [
            *((rule.name, rule.code) for rule in rules(profile)),
            *((rule.name, rule.code) for rule in OWN_RULES),
            ("policies", ""),
            ("updates", ""),
        ]
        for flag, words in (("--select", choice.select), ("--ignore", choice.ignore)):
            for word in words:
                if not any(_matches((word,), name, code) for name, code in known):
                    raise UsageError(f"{flag} {word}: no rule has this name, code or beginning{hint(word, [name for name, _ in known])}")
    return choice


def _words(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def _matches(words: tuple[str, ...], rule: str, code: str) -> bool:
    return any(rule.startswith(word) or code.startswith(word.upper()) for word in words)
