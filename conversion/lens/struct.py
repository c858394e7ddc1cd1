"""A struct of lenses: every member of both sides is claimed by exactly one of them."""

from collections.abc import Iterator

from ...api.paths import Path
from .protocol import Context, Fields, Lens, Row


class DeclarationError(ValueError):
    """A declaration that claims a member twice, or not at all; raised at import."""


class Struct:
    """Runs the lenses whose members are present. The engine saves members that no lens claims."""

    def __init__(self, *lenses: Lens, first: Lens | None = None) -> None:
        """`first` is a lens that always runs, before the others.

        Raises: DeclarationError if two lenses claim one member.
        """
        self.lenses = lenses
        self._first = first
        self.by_left = _claims(lenses, "left")
        self.by_right = _claims(lenses, "right")

    def forward(self, left: Fields, remainder: Fields, save: Fields, context: Context, into: Fields | None = None) -> Fields:
        """Convert a left struct to a right one; `into` holds what the enclosing lens has already written."""
        right: Fields = {} if into is None else into
        woken: dict[Lens, None] = {} if self._first is None else {self._first: None}
        _wake(woken, self.by_left, left, self.by_right, remainder)
        for lens in woken:
            lens.forward(left, right, remainder, save, context)
        return right

    def backward(self, right: Fields, remainder: Fields, save: Fields, context: Context) -> Fields:
        """Converts a right struct into a left one."""
        left: Fields = {}
        woken: dict[Lens, None] = {} if self._first is None else {self._first: None}
        _wake(woken, self.by_right, right, self.by_left, remainder)
        for lens in woken:
            lens.backward(right, left, remainder, save, context)
        return left

    def sign(self, right: Fields, save: Fields) -> None:
        """Add to a remainder what readers need in any; nothing by default."""

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """Translates a path below the right struct; the empty path is the struct itself."""
        if not path:
            return ()
        lens = self.by_right.get(str(path[0]))
        return lens.to_left(path, right, left) if lens else None

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """Translates a path below the left struct; the empty path is the struct itself."""
        if not path:
            return ()
        lens = self.by_left.get(str(path[0]))
        return lens.to_right(path, left) if lens else None

    def rows(self) -> Iterator[Row]:
        """The field map of the struct."""
        for lens in self.lenses:
            yield from lens.rows()

    def require(self, where: str, left: frozenset[str] | set[str], right: frozenset[str] | set[str]) -> None:
        """Check that exactly the schema's members are claimed.

        Raises: DeclarationError naming unclaimed or unknown members.
        """
        for side, wanted, claimed in (("left", left, set(self.by_left)), ("right", right, set(self.by_right))):
            require_claims(f"{where} ({side})", wanted, claimed)


def require_claims(where: str, wanted: frozenset[str] | set[str], claimed: set[str]) -> None:
    """Check that exactly the wanted members are claimed. Raises: DeclarationError naming unclaimed or unknown ones."""
    if unclaimed := sorted(wanted - claimed):
        raise DeclarationError(f"{where}: unclaimed {unclaimed}: each needs a lens, as same(...) if versions agree, or OneSided(...)")
    if unknown := sorted(claimed - wanted):
        raise DeclarationError(f"{where}: unknown {unknown}: the schema has no such field")


def _claims(lenses: tuple[Lens, ...], side: str) -> dict[str, Lens]:
    claims: dict[str, Lens] = {}
    for lens in lenses:
        for name in getattr(lens, side):
            if claims.setdefault(name, lens) is not lens:
                raise DeclarationError(f"two lenses claim the {side} member {name}")
    return claims


def _wake(woken: dict[Lens, None], live: dict[str, Lens], source: Fields, other: dict[str, Lens], remainder: Fields) -> None:
    """Add the lenses with members to read, in order of appearance, each once."""
    for name, value in source.items():
        lens = live.get(name)
        if lens is not None and (value is not None or lens.nulls):
            woken[lens] = None
    for name in remainder:
        if name in other:
            woken[other[name]] = None
