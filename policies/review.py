"""One question to the policies: an operation on an object, and what is known beside it."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.policies.facts import Facts

Fields: TypeAlias = dict[str, Any]

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"

CURRENT: Final = "current"
V1_2: Final = "1.2"
NOTHING: Final[frozenset[str]] = frozenset()
PROFILES: Final = (CURRENT, V1_2)


def line_of(facts: Facts, profile: str) -> Line:
    """The line to judge by: that of the facts; profile 1.2 is the Go operator 1.2, whatever runs in the cluster."""
    return Line.V1_2 if profile == V1_2 else facts.line


class Review:
    """An operation on one object, decoded and well-typed; `kind` is "Kind/version" as the rules spell it. Treated as read-only."""

    __slots__ = ("_keys", "_line", "facts", "forced", "kind", "object", "old", "operation", "profile", "user")

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
        self._keys: dict[str, Key] = {}
        self._line: Line | None = None
        # components with a scaling group of their own, which v1alpha1 has no field for; its rules find their names here
        self.forced: frozenset[str] = NOTHING
        self.kind = kind
        self.operation = operation
        self.object = obj
        self.old = old
        self.user = user
        self.facts = facts if facts is not None else Facts()
        self.profile = profile

    @property
    def line(self) -> Line:
        """The line to judge by; told once, because it is asked for several times."""
        found = self._line
        if found is None:
            found = self._line = line_of(self.facts, self.profile)
        return found

    def before(self, old: Fields) -> Review:
        """The same question about the stored object. Paths of both share their map keys."""
        made = Review(self.kind, UPDATE, old, old, user=self.user, facts=self.facts, profile=self.profile)
        made._keys, made._line, made.forced = self._keys, self._line, self.forced
        return made

    def key(self, name: str) -> Key:
        """A map key for paths, the same one each time: very many findings may lie below one name, which may be very long."""
        found = self._keys.get(name)
        if found is None:
            found = self._keys[name] = Key(name)
        return found

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
