"""Lenses of plain members: the same on both sides, renamed, on one side only, one level deeper, or present as a switch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dynamo_webhooks.conversion.lens.protocol import Context, Fields, Row
from dynamo_webhooks.conversion.reading import fields

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.conversion.lens.struct import Struct


def _anything(value: Any) -> bool:
    return True


class Rename:
    """A member whose value is the same on both sides, or converts by a struct of its own (`via`); null is one, too.

    Server-side apply makes null of a block whose members are all the schema's, and looks for its place in the other version.
    """

    nulls = True

    def __init__(self, left: str, right: str, via: Struct | None = None) -> None:
        """`via` converts the value when it is an object; anything else is copied as it is."""
        self.left: tuple[str, ...] = (left,)
        self.right: tuple[str, ...] = (right,)
        self._from, self._to, self._via = left, right, via

    def forward(self, left: Fields, right: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Copies or converts; the remainder of a nested struct lies under the same member name."""
        if self._from not in left:
            return
        value = left[self._from]
        if self._via is None or type(value) is not dict:
            right[self._to] = value
            return
        below: Fields = {}
        right[self._to] = self._via.forward(value, fields(kept, self._to), below, context)
        if below:
            save[self._from] = below

    def backward(self, right: Fields, left: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """The mirror image."""
        if self._to not in right:
            return
        value = right[self._to]
        if self._via is None or type(value) is not dict:
            left[self._from] = value
            return
        below: Fields = {}
        left[self._from] = self._via.backward(value, fields(kept, self._from), below, context)
        if below:
            save[self._to] = below

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """Renames the first step, and translates the rest where the value converts."""
        rest: Path | None = path[1:]
        if self._via is not None:
            rest = self._via.to_left(path[1:], fields(right, self._to))
        return None if rest is None else (self._from, *rest)

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The mirror image."""
        rest: Path | None = path[1:]
        if self._via is not None:
            rest = self._via.to_right(path[1:], fields(left, self._from))
        return None if rest is None else (self._to, *rest)

    def rows(self) -> Iterator[Row]:
        """One row, and those of the nested struct."""
        yield Row(self._from, self._to, "copied" if self._from == self._to else "renamed")
        if self._via is not None:
            for row in self._via.rows():
                yield row.below(self._from, self._to)


def same(*names: str, via: Struct | None = None) -> list[Rename]:
    """Members that have the same name on both sides."""
    return [Rename(name, name, via) for name in names]


class LeftOnly:
    """Members that only the left side can say: they go into the remainder, and come back whatever happens on the right."""

    right: tuple[str, ...] = ()

    def __init__(self, *names: str, worth: Callable[[Any], bool] = _anything) -> None:
        """`worth` says which values the Go operator keeps (others are kept by the engine, in a place that it ignores)."""
        self.left = names
        self._worth = worth

    def forward(self, left: Fields, right: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Saves what is there."""
        for name in self.left:
            value = left.get(name)
            if value is not None and self._worth(value):
                save[name] = value

    def backward(self, right: Fields, left: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Takes back what was saved."""
        for name in self.left:
            value = kept.get(name)
            if value is not None:
                left[name] = value

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """Nothing on the right is this lens's."""
        return None

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """There is no such place on the right."""
        return None

    def rows(self) -> Iterator[Row]:
        """A row a member."""
        for name in self.left:
            yield Row(name, "", "kept aside")


class RightOnly:
    """Members that only the right side can say: the mirror image of LeftOnly."""

    left: tuple[str, ...] = ()

    def __init__(self, *names: str, worth: Callable[[Any], bool] = _anything) -> None:
        """`worth` as for LeftOnly."""
        self.right = names
        self._worth = worth

    def forward(self, left: Fields, right: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Takes back what was saved."""
        for name in self.right:
            value = kept.get(name)
            if value is not None:
                right[name] = value

    def backward(self, right: Fields, left: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Saves what is there."""
        for name in self.right:
            value = right.get(name)
            if value is not None and self._worth(value):
                save[name] = value

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """There is no such place on the left."""
        return None

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """Nothing on the left is this lens's."""
        return None

    def rows(self) -> Iterator[Row]:
        """A row a member."""
        for name in self.right:
            yield Row("", name, "kept aside")


class View:
    """A group of members on each side and a pair of pure functions between them; the engine's guard decides when a kept value may speak.

    `to` maps the left group to the right one, `back` the right to the left; each gets the members that are present and returns those
    that it says. What `back(to(x))` does not give again is saved; a kept group returns only while it converts to exactly the live one.
    """

    def __init__(
        self, left: tuple[str, ...], right: tuple[str, ...], to: Callable[[Fields], Fields], back: Callable[[Fields], Fields], rule: str
    ) -> None:
        """`rule` says in words what the functions do, for the field map."""
        self.left, self.right = left, right
        self._to, self._back, self._rule = to, back, rule

    def forward(self, left: Fields, right: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Converts, restores a kept right group that says the same, saves a left group that would not come back."""
        _convert(left, self.left, right, self.right, kept, save if context.saving else None, self._to, self._back)

    def backward(self, right: Fields, left: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """The mirror image."""
        _convert(right, self.right, left, self.left, kept, save if context.saving else None, self._back, self._to)

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """The first member of the other group stands for the whole group."""
        return (self.left[0],) if self.left else None

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The mirror image."""
        return (self.right[0],) if self.right else None

    def rows(self) -> Iterator[Row]:
        """One row for the group."""
        yield Row(", ".join(self.left), ", ".join(self.right), self._rule)


def _convert(
    source: Fields,
    names: tuple[str, ...],
    target: Fields,
    others: tuple[str, ...],
    kept: Fields,
    save: Fields | None,
    there: Callable[[Fields], Fields],
    back: Callable[[Fields], Fields],
) -> None:
    live = {name: source[name] for name in names if source.get(name) is not None}
    said = plain = there(live)
    remembered = {name: kept[name] for name in others if kept.get(name) is not None}
    if remembered and remembered != said and back(remembered) == live:
        said = remembered
    target.update(said)
    if save is not None and live and back(plain) != live:
        save.update(live)
