"""One review: an operation on an object, its user and facts."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from ..api.line import Line
from ..api.paths import Key
from .facts import Facts

Fields: TypeAlias = dict[str, Any]

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"
DELETING: Final = "DELETING"  # an update of a graph on its way out, of which line 1.6 still judges two annotations


class Review:
    """An operation on one object, decoded and well-typed; `kind` is "Kind/version" as the rules spell it. Treated as read-only."""

    __slots__ = ("_keys", "_line", "facts", "kind", "object", "old", "operation", "user")

    def __init__(
        self,
        kind: str,
        operation: str,
        obj: Fields,
        old: Fields | None = None,
        *,
        user: str = "",
        facts: Facts | None = None,
    ) -> None:
        """`old` is the stored object of an update, else None; `user` is the request's user name, "" when unknown."""
        self._keys: dict[str, Key] = {}
        self._line: Line | None = None
        self.kind = kind
        self.operation = operation
        self.object = obj
        self.old = old
        self.user = user
        self.facts = facts if facts is not None else Facts()

    @property
    def line(self) -> Line:
        """The release line whose rules apply; cached, because it is read several times."""
        line = self._line
        if line is None:
            line = self._line = self.facts.line
        return line

    def before(self, old: Fields) -> Review:
        """The review of the stored object. Paths of both share their map keys."""
        return self._like(self.kind, UPDATE, old, old)

    def with_old(self, old: Fields | None) -> Review:
        """A copy of the review with another stored object."""
        return self._like(self.kind, self.operation, self.object, old)

    def across(self, kind: str, obj: Fields, old: Fields | None) -> Review:
        """A copy of the review with objects that were converted to another version."""
        return self._like(kind, self.operation, obj, old)

    def _like(self, kind: str, operation: str, obj: Fields, old: Fields | None) -> Review:
        made = Review(kind, operation, obj, old, user=self.user, facts=self.facts)
        made._line, made._keys = self._line, self._keys
        return made

    def key(self, name: str) -> Key:
        """A map key for paths, the same one each time: very many findings may lie below one name, which may be very long."""
        key = self._keys.get(name)
        if key is None:
            key = self._keys[name] = Key(name)
        return key

    @property
    def metadata(self) -> Fields:
        """The object's metadata, empty when absent."""
        return self.object.get("metadata") or {}

    @property
    def annotations(self) -> dict[str, str]:
        """The object's annotations, empty when absent."""
        return (self.object.get("metadata") or {}).get("annotations") or {}

    @property
    def spec(self) -> Fields:
        """The object's spec, empty when absent."""
        return self.object.get("spec") or {}


def is_line_1_4(review: Review) -> bool:
    """Whether line 1.4 of the operator, or a later one, is what judges."""
    return review.line >= Line.V1_4


def is_line_1_5(review: Review) -> bool:
    """Whether line 1.5 of the operator, or a later one, is what judges."""
    return review.line >= Line.V1_5


def is_line_1_6(review: Review) -> bool:
    """Whether line 1.6 of the operator, or a later one, is what judges."""
    return review.line >= Line.V1_6
