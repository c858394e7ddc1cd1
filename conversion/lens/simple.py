"""Lenses of plain members: the same on both sides, renamed, on one side only, or converted by functions."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from ...api.paths import Path
from .protocol import Context, Fields, Group, Lens, Row
from .struct import Struct, require_claims
from .structs import object_member


class Rename(Lens):
    """A member whose value is the same on both sides, or converts by a struct (`via`). Null is converted too.

    Server-side apply writes null for a block with only schema defaults, and looks for its place in the other version.
    """

    nulls = True

    def __init__(self, left: str, right: str, via: Struct | None = None) -> None:
        """`via` converts objects; other values are copied."""
        self.left: tuple[str, ...] = (left,)
        self.right: tuple[str, ...] = (right,)
        self._from, self._to, self.via = left, right, via

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Copy or convert; the remainder of a nested struct has the same member name."""
        if self._from not in left:
            return
        value = left[self._from]
        if self.via is None or type(value) is not dict:
            right[self._to] = value
            return
        below: Fields = {}
        right[self._to] = self.via.forward(value, object_member(remainder, self._to), below, context)
        if below:
            save[self._from] = below

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """The mirror image."""
        if self._to not in right:
            return
        value = right[self._to]
        if self.via is None or type(value) is not dict:
            left[self._from] = value
            return
        below: Fields = {}
        left[self._from] = self.via.backward(value, object_member(remainder, self._from), below, context)
        if below:
            save[self._to] = below

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """Rename the first step, and translate the rest if the value converts."""
        below: Path | None = path[1:]
        if self.via is not None:
            below = self.via.to_left(path[1:], object_member(right, self._to), object_member(left, self._from))
        return None if below is None else (self._from, *below)

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The mirror image."""
        below: Path | None = path[1:]
        if self.via is not None:
            below = self.via.to_right(path[1:], object_member(left, self._from))
        return None if below is None else (self._to, *below)

    def rows(self) -> Iterator[Row]:
        """One row, and those of the nested struct."""
        yield Row(self._from, self._to, "copied" if self._from == self._to else "renamed")
        if self.via is not None:
            for row in self.via.rows():
                yield row.below(self._from, self._to)


def same(*names: str, via: Struct | None = None) -> list[Rename]:
    """Members that have the same name on both sides."""
    return [Rename(name, name, via) for name in names]


class OneSided(Group):
    """Members that one side lacks: saved, and restored whatever happens there."""

    def __init__(self, *, left: tuple[str, ...] = (), right: tuple[str, ...] = (), save_if: Callable[[Any], bool] | None = None) -> None:
        """`save_if` selects the values that the Go operator saves; the engine saves the others as differences."""
        self.left, self.right = left, right
        self._save_if = save_if

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Save the present members of the left side, and restore the saved ones of the right side."""
        _copy_present(self.left, left, save, self._save_if)
        _copy_present(self.right, remainder, right, None)

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Save the present members of the right side, and restore the saved ones of the left side."""
        _copy_present(self.right, right, save, self._save_if)
        _copy_present(self.left, remainder, left, None)

    def rows(self) -> Iterator[Row]:
        """A row a member."""
        for name in self.left:
            yield Row(name, "", "kept aside")
        for name in self.right:
            yield Row("", name, "kept aside")


def _copy_present(names: tuple[str, ...], source: Fields, target: Fields, save_if: Callable[[Any], bool] | None) -> None:
    for name in names:
        value = source.get(name)
        if value is not None and (save_if is None or save_if(value)):
            target[name] = value


class View(Group):
    """A group of members on each side, and a pair of pure functions between them.

    `to` maps the present members of the left group to the right one, `back` the reverse. What `back(to(x))` doesn't restore is saved; a
    saved group is restored only if it converts to exactly the live one.
    """

    def __init__(
        self, left: tuple[str, ...], right: tuple[str, ...], to: Callable[[Fields], Fields], back: Callable[[Fields], Fields], rule: str
    ) -> None:
        """`rule` describes the functions for the field map."""
        self.left, self.right = left, right
        self._to, self._back, self._rule = to, back, rule

    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Convert, restore a saved right group with the same meaning, save a left group that wouldn't round-trip."""
        _convert(left, self.left, right, self.right, remainder, save if context.saving else None, self._to, self._back)

    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """The mirror image."""
        _convert(right, self.right, left, self.left, remainder, save if context.saving else None, self._back, self._to)

    def rows(self) -> Iterator[Row]:
        """One row for the group."""
        yield Row(", ".join(self.left), ", ".join(self.right), self._rule)


def _convert(
    source: Fields,
    names: tuple[str, ...],
    target: Fields,
    others: tuple[str, ...],
    remainder: Fields,
    save: Fields | None,
    there: Callable[[Fields], Fields],
    back: Callable[[Fields], Fields],
) -> None:
    live = {name: source[name] for name in names if source.get(name) is not None}
    converted = plain = there(live)
    remembered = {name: remainder[name] for name in others if remainder.get(name) is not None}
    if remembered and remembered != converted and back(remembered) == live:
        converted = remembered
    target.update(converted)
    if save is not None and live and back(plain) != live:
        save.update(live)


Steps: TypeAlias = tuple[str | int, ...]


class Route(NamedTuple):
    """One correspondence; an empty side has no such place. `whole`: members below are the same on both sides."""

    left: Steps
    right: Steps
    rule: str
    whole: bool = True


class Routes(Lens):
    """The places of a lens as routes; the longest match counts."""

    def __init__(self, *routes: Route) -> None:
        """The first of several routes from one place translates it."""
        self.routes = routes
        self._to_left: dict[Steps, Route] = {}
        self._to_right: dict[Steps, Route] = {}
        for route in routes:
            if route.left:
                self._to_right.setdefault(route.left, route)
            if route.right:
                self._to_left.setdefault(route.right, route)

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """Translate a right path to the most exact left place; None if there is none."""
        route = _longest(self._to_left, path)
        return None if route is None or not route.left else (*route.left, *(path[len(route.right) :] if route.whole else ()))

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The mirror image."""
        route = _longest(self._to_right, path)
        return None if route is None or not route.right else (*route.right, *(path[len(route.left) :] if route.whole else ()))

    def rows(self) -> Iterator[Row]:
        """A row a route."""
        for route in self.routes:
            yield Row(_text(route.left), _text(route.right), route.rule)

    def require(self, where: str, side: str, parent: Steps, schema: dict[str, Any]) -> None:
        """Check that routes name exactly the members of a nested object.

        Raises: DeclarationError naming unclaimed or unknown members.
        """
        depth, wanted = len(parent), set(schema["properties"])
        places: list[Steps] = [getattr(route, side) for route in self.routes]
        claimed = {str(place[depth]) for place in places if len(place) > depth and place[:depth] == parent}
        require_claims(f"{where} ({side})", wanted, claimed)


def _longest(table: dict[Steps, Route], path: Path) -> Route | None:
    for length in range(len(path), 0, -1):
        if (route := table.get(path[:length])) is not None:
            return route
    return None


def _text(steps: Steps) -> str:
    return ".".join(str(step) for step in steps).replace(".0", "[0]")
