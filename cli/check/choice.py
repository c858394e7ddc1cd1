"""Which rules a run reports, and as what: `--select` and `--ignore` name rules, codes, or beginnings; a project weighs single rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.cli.check.record import (
    EARLY,
    ERROR,
    FAULT,
    LEGACY_KIND,
    OWN_RULES,
    UNCONVERTIBLE,
    UNFILLED,
    UNKNOWN_FIELD,
    UNKNOWN_KIND,
    WARNING,
    WRONG_TYPE,
)
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.nearest import hint
from dynamo_webhooks.policies.catalogue import rules

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.record import Reported
    from dynamo_webhooks.cli.project.load import Severity

_UNJUDGED: Final = frozenset(rule.name for rule in (UNKNOWN_KIND, WRONG_TYPE, UNCONVERTIBLE, LEGACY_KIND, UNFILLED))


class Choice(NamedTuple):
    """The words of both flags, and what a project makes of single rules; no selecting word means every rule."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = {}

    def takes(self, rule: str, code: str) -> bool:
        """Whether findings of a rule are reported.

        Those that keep an object from being judged at all are, unless `--ignore` or the project names the whole rule.
        """
        return not self.why_off(rule) and self.asks(rule, code)

    def why_off(self, rule: str) -> str:
        """The project's reason to switch a rule off; empty where it does not."""
        severity = self.severities.get(rule)
        return severity.reason if severity is not None and severity.level not in (ERROR, WARNING) else ""

    def judges(self, profile: str) -> bool:
        """Whether the flags ask for more than the schema finds: for rules, conversion, or comments that silence these."""
        named = ((name, code) for name, code in (*_known(profile), ("policies", "")) if name not in EARLY)
        return not self.select or any(_matches(self.select, name, code) for name, code in named)

    def weighed(self, finding: Reported) -> Reported:
        """A finding with the level that the project gives its rule; a fault of ours stays one."""
        severity = self.severities.get(finding.rule)
        return finding if severity is None or finding.level == FAULT else finding._replace(level=severity.level)

    def asks(self, rule: str, code: str) -> bool:
        """Whether the flags ask for a rule, whatever the project makes of it."""
        if rule in _UNJUDGED:
            return rule not in self.ignore and code not in {word.upper() for word in self.ignore}
        return (not self.select or _matches(self.select, rule, code)) and not _matches(self.ignore, rule, code)


def choose(
    select: Sequence[str], ignore: Sequence[str], profile: str, severities: Mapping[str, Severity] | None = None, *, strict: bool = False
) -> Choice:
    """Makes a choice of what the flags say; each may hold several words between commas.

    `severities` are a project's, over which flags win: a rule that `--select` names is as it is, and so are unknown fields where `strict`.

    Raises: UsageError for a word that means no rule of the profile.
    """
    choice = Choice(_words(select), _words(ignore))
    won = {UNKNOWN_FIELD.name} if strict else set()
    won |= {name for name, code in _known(profile) if severities and {name, code} & {*choice.select}}
    left = {name: one for name, one in (severities or {}).items() if name not in won}
    choice = choice._replace(severities=left)
    if choice.select or choice.ignore:
        known = [*_known(profile), ("policies", ""), ("updates", "")]
        for flag, words in (("--select", choice.select), ("--ignore", choice.ignore)):
            for word in words:
                if not any(_matches((word,), name, code) for name, code in known):
                    raise UsageError(f"{flag} {word}: no rule has this name, code or beginning{hint(word, [name for name, _ in known])}")
    return choice


def _known(profile: str) -> Iterator[tuple[str, str]]:
    """The name and code of every rule."""
    yield from ((rule.name, rule.code) for rule in rules(profile))
    yield from ((rule.name, rule.code) for rule in OWN_RULES)


def _words(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def _matches(words: tuple[str, ...], rule: str, code: str) -> bool:
    return any(rule.startswith(word) or code.startswith(word.upper()) for word in words)
