"""One question to the policies: an operation on an object, and what is known beside it."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from policies.facts import Facts

Fields: TypeAlias = dict[str, Any]

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"

CURRENT: Final = "current"
V1_2: Final = "1.2"
PROFILES: Final = (CURRENT, V1_2)


class Review:
    """An operation on one object, decoded and well-typed; `kind` is "Kind/version" as the rules spell it. Treated as read-only."""

    __slots__ = ("facts", "kind", "object", "old", "operation", "profile", "user")

    def __init__(
        self,
        kind: str,
        operation: str,
        obj: Fields,
        old: Fields | None = None,
        *,
        user: str = "",
        facts: Facts | None = None,
        profile: str = CURRENT,
    ) -> None:
        """`old` is the stored object of an update, else None; `user` is the request's user name, "" when unknown."""
        self.kind = kind
        self.operation = operation
        self.object = obj
        self.old = old
        self.user = user
        self.facts = facts if facts is not None else Facts()
        self.profile = profile

    @property
    def metadata(self) -> Fields:
        """The object's metadata, empty when absent."""
        return self.object.get("metadata") or {}

    @property
    def annotations(self) -> dict[str, str]:
        """The object's annotations, empty when absent."""
        return self.metadata.get("annotations") or {}

    @property
    def spec(self) -> Fields:
        """The object's spec, empty when absent."""
        return self.object.get("spec") or {}
