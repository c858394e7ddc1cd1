"""What became of each field of a legacy document, and how people are told. Deciding it is not done here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.api.paths import Key, render
from dynamo_webhooks.api.wording import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.paths import Path

MAPPED: Final = "mapped"
NO_EQUIVALENT: Final = "no equivalent"
DECIDE: Final = "decide"
_HEADINGS: Final = {NO_EQUIVALENT: "no equivalent", DECIDE: "you must decide"}
_NAMED: Final = 3  # fields that one sentence names before it counts the others
_LONGEST: Final = 300  # characters of a path: map keys come from authors


class Row(NamedTuple):
    """What became of one leaf of a legacy document, or, as a need, what today's object lacks that the legacy one never said.

    `to` is where the value lies today, empty when it lies nowhere. `text` says the rest in words that follow the field. `at` is the
    field that people are told of: the block that a whole subtree left with, else the leaf itself.
    """

    field: Path
    outcome: str  # MAPPED, NO_EQUIVALENT or DECIDE
    to: Path
    text: str
    at: Path


class Modernised(NamedTuple):
    """Today's objects for a legacy document, in v1alpha1, and exactly one row for each of its leaves. Image builds become no object.

    `needs` are rows for places that the document has nothing at, and where a person must add something; all are DECIDE.
    """

    kind: str
    name: str
    objects: list[dict[str, Any]]
    rows: tuple[Row, ...]
    needs: tuple[Row, ...]

    def lines(self) -> list[str]:
        """Tells a person: what it becomes, what moved, what has no equivalent, and last what is theirs to decide."""
        return [self._head(), *self._moved(), *(line for outcome in _HEADINGS for line in self._told(outcome))]

    def _head(self) -> str:
        mapped = sum(row.outcome == MAPPED for row in self.rows)
        fields = "1 field" if mapped == 1 else f"{mapped} fields"
        becomes = (
            f"becomes {self.objects[0]['kind']} of v1alpha1, {fields} mapped"
            if self.objects
            else "becomes no object: images are built outside the cluster today"
        )
        return f"{f'{self.kind} {self.name}'.rstrip()} (a kind of the first releases) {becomes}"

    def _moved(self) -> Iterator[str]:
        for row in self.rows:
            if row.outcome == MAPPED and (row.to != row.field or row.text):
                moved = f" is {_shown(row.to)} today" if row.to != row.field else ""
                yield f"  mapped: {_shown(row.field)}{moved}{'; ' if moved and row.text else ' ' if row.text else ''}{row.text}"

    def _told(self, outcome: str) -> Iterator[str]:
        """One line for each sentence, however many fields it is true of."""
        said: dict[str, dict[Path, None]] = {}
        for row in (*self.rows, *self.needs):
            if row.outcome == outcome:
                said.setdefault(row.text, {})[row.at] = None
        for text, places in said.items():
            yield f"  {_HEADINGS[outcome]}: {_listed(list(places))}: {text}"


def leaves(value: object, path: Path) -> Iterator[Path]:
    """Where the values of a tree lie, in its order; an empty mapping or list is a value of its own."""
    left = [(value, path)]
    while left:
        here, where = left.pop()
        below: list[tuple[object, Path]] = []
        if isinstance(here, dict):
            below = [(child, (*where, step(key))) for key, child in here.items()]
        elif isinstance(here, list):
            below = [(child, (*where, index)) for index, child in enumerate(here)]
        if not below:
            yield where
        left += reversed(below)


def step(key: object) -> str:
    """A key of a mapping as a step of a path; what can't be the name of a field is printed in brackets."""
    return key if isinstance(key, str) and key.isidentifier() else Key(key)


def _listed(places: list[Path]) -> str:
    more = len(places) - _NAMED
    named = ", ".join(_shown(place) for place in places[:_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _shown(path: Path) -> str:
    return shortened(render(path), _LONGEST)
