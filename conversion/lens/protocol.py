"""The protocol of a lens: one correspondence of members of a left (v1alpha1) and a right (v1beta1) struct."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from ...api.line import Line
from ...api.paths import Path

Fields: TypeAlias = dict[str, Any]


class ConversionError(ValueError):
    """An object that the other version can't represent; `path` is the field, `reason` a sentence without a stop."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.path, self.reason = path, reason


class Context:
    """Facts that a lens knows besides its struct: the object's name, and whether it comes from the other version."""

    __slots__ = ("both", "has_remainder", "line", "name", "pods", "saving", "stored")

    def __init__(self, name: str, *, has_remainder: bool, saving: bool, both: bool, stored: bool, line: Line, pods: bool = True) -> None:
        """No tuple, which takes compiled code longer to make and to read."""
        self.name = name
        # rightward: the left object has a valid remainder, so it was first written as a right one; leftward: the mirror image
        self.has_remainder = has_remainder
        self.saving = saving  # whether saved values will be read; otherwise lenses may skip saving
        self.both = both  # whether each version has had values that the other lacks, so that both have a remainder
        self.stored = stored  # whether the object is stored, or a part of a stored one: its nulls are from server-side apply
        self.line = line  # of the operator whose definitions the right object must fit
        self.pods = pods  # whether the right object has its pod templates; defaults, which never read one, need none


class Row(NamedTuple):
    """One line of the field map: left member, right member ("" for none), and a description.

    A side may list several members, separated by commas.
    """

    left: str
    right: str
    rule: str

    def below(self, left: str, right: str) -> Row:
        """The row of a nested struct, with its names in the enclosing struct as prefixes."""
        return Row(_below(left, self.left), _below(right, self.right), self.rule)


def _below(parent: str, members: str) -> str:
    return ", ".join(f"{parent}.{member}" for member in members.split(", ")) if members else ""


class Lens(ABC):
    """Converts its members both ways. Values are shared with the input, which doesn't change; null means absent.

    `remainder` is the saved one of this struct, typed like the struct to build; `save` is the remainder to write, typed like the struct
    to read. A lens is called only if one of its members is present in the live struct or in `remainder`.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    nulls = False  # whether it is called for null, too

    @abstractmethod
    def forward(self, left: Fields, right: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Reads `left`, writes `right`; `remainder` is sparse right, `save` sparse left."""

    @abstractmethod
    def backward(self, right: Fields, left: Fields, remainder: Fields, save: Fields, context: Context) -> None:
        """Reads `right`, writes `left`; `remainder` is sparse left, `save` sparse right."""

    @abstractmethod
    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """Translate a path below the right struct, where `left` is the same as it was written; None if it isn't this lens's."""

    @abstractmethod
    def to_right(self, path: Path, left: Fields) -> Path | None:
        """Translate a path below the left struct; None if it isn't this lens's."""

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """The lines of the field map."""


class Group(Lens):
    """Members that correspond as a whole: on each side the first one represents them."""

    def to_left(self, path: Path, right: Fields, left: Fields) -> Path | None:
        """The first member on the left, if there is one."""
        return self.left[:1] or None

    def to_right(self, path: Path, left: Fields) -> Path | None:
        """The first member on the right, if there is one."""
        return self.right[:1] or None
