"""What a lens is: one correspondence between members of a left (v1alpha1) and a right (v1beta1) struct, declared once, read both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path

Fields: TypeAlias = dict[str, Any]


class ConversionError(ValueError):
    """An object that the other version cannot say at all; `path` is where, `reason` what, in a sentence without a stop."""

    def __init__(self, path: Path, reason: str) -> None:
        """The path is one of the object that was to be converted."""
        super().__init__(reason)
        self.path, self.reason = path, reason


class Context(NamedTuple):
    """What a lens may know beside its own struct: the object's name, and whether it comes from the other version."""

    name: str = ""
    # going right: the left object carries a usable remainder, so it was written as a right one first; going left: the mirror image
    travelled: bool = False
    # whether anybody will read what is saved; where nobody will, lenses may leave out the work that it takes
    saving: bool = True
    # whether each version has said what the other one can't, so that the object carries a remainder in both
    both: bool = False
    # whether the object is stored, or a part of one that is: nulls in it are server-side apply's, nobody's text
    stored: bool = False


class Row(NamedTuple):
    """One line of the field map: left member, right member ("" for none), and what happens, for people.

    A side may list several members, with a comma between them.
    """

    left: str
    right: str
    rule: str

    def below(self, left: str, right: str) -> Row:
        """The row of a nested struct as the struct around it has it, which holds it under these names."""
        return Row(_below(left, self.left), _below(right, self.right), self.rule)


def _below(parent: str, members: str) -> str:
    return ", ".join(f"{parent}.{member}" for member in members.split(", ")) if members else ""


class Lens(Protocol):
    """Converts its members both ways. Values are shared with the input, which nobody changes; null means absent.

    `kept` is the remainder that came along for this struct, typed like the struct that is being built; `save` is the remainder
    being written, typed like the struct that is being read. A lens is called only when one of its members is present in the
    live struct or in `kept`; with nothing present it must have nothing to say.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]

    def forward(self, left: Fields, right: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Reads `left`, writes `right`; `kept` is sparse right, `save` sparse left."""

    def backward(self, right: Fields, left: Fields, kept: Fields, save: Fields, context: Context) -> None:
        """Reads `right`, writes `left`; `kept` is sparse left, `save` sparse right."""

    def to_left(self, path: Path, right: Fields) -> Path | None:
        """Translates a path below the right struct; None when it isn't this lens's."""

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """Translates a path below the left struct; None when it isn't this lens's."""

    def rows(self) -> Iterator[Row]:
        """The lines of the field map."""
