"""The places of a request's nested members on the other side, as data for path translation, field map and coverage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from ..api.paths import Path
from .lens.protocol import Fields, Row
from .lens.struct import require_claims

Steps: TypeAlias = tuple[str | int, ...]


class Route(NamedTuple):
    """One correspondence; an empty side has no such place. `whole`: members below are the same on both sides."""

    left: Steps
    right: Steps
    rule: str
    whole: bool = True


class Routes:
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

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """Translate a right path to the most exact left place; None if there is none."""
        found = _longest(self._to_left, path)
        return None if found is None or not found.left else (*found.left, *(path[len(found.right) :] if found.whole else ()))

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The mirror image."""
        found = _longest(self._to_right, path)
        return None if found is None or not found.right else (*found.right, *(path[len(found.left) :] if found.whole else ()))

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
        if (found := table.get(path[:length])) is not None:
            return found
    return None


def _text(steps: Steps) -> str:
    return ".".join(str(step) for step in steps).replace(".0", "[0]")
