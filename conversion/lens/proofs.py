"""What the way there already proves of the way back: converted structs that plainly come back as what they were made of.

A lens that can tell says so as it converts; the engine then runs the way back only through what nobody vouches for. That both give the
same bytes, the tests hold against an engine that always runs the whole way back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields


class Proofs:
    """The proven structs of one conversion, by identity: a struct that was changed since is another one, and proven no more."""

    __slots__ = ("_origins",)

    def __init__(self) -> None:
        """Nothing is proven yet."""
        # with the struct itself, so that it lives on and no other one can get its identity
        self._origins: dict[int, tuple[Fields, Fields]] = {}

    def add(self, made: Fields, origin: Fields) -> None:
        """From now on `made` is known to come back as `origin`, with the remainder that was saved beside it."""
        self._origins[id(made)] = (made, origin)

    def origin(self, made: Fields) -> Fields | None:
        """What a struct comes back as; None where that isn't proven."""
        found = self._origins.get(id(made))
        return None if found is None else found[1]
