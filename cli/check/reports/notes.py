"""Rules that could not be evaluated, one entry a rule and reason with its objects counted: a thousand objects make no thousand lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dynamo_webhooks.api.wording import many
from dynamo_webhooks.cli.check.record import NotEvaluated


class Group(NamedTuple):
    """All notes of one rule and reason: the first one, and how many there are."""

    first: NotEvaluated
    size: int

    @property
    def name(self) -> str:
        """The rule with its code."""
        return f"{self.first.rule} ({self.first.code})" if self.first.code else self.first.rule

    @property
    def where(self) -> str:
        """The first object with its place, and how many others."""
        first, others = self.first, self.size - 1
        more = f" and {many(others, 'more object')}" if others else ""
        return f"{first.identity} ({first.source.name}:{first.line}){more}"


def why(note: NotEvaluated) -> str:
    """The reason, and the flag that helps."""
    return f"{note.reason}; supply it with {note.flag}" if note.flag else note.reason


def grouped(notes: Iterable[NotEvaluated]) -> Iterator[Group]:
    """The groups in the order of their first notes."""
    groups: dict[tuple[str, str, str, str], list[NotEvaluated]] = {}
    for note in notes:
        groups.setdefault((note.rule, note.code, note.reason, note.flag), []).append(note)
    for group in groups.values():
        yield Group(group[0], len(group))
