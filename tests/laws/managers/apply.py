"""Server-side apply and the bookkeeping of other writes: who owns what, conflicts, and what is removed when its owner drops it.

Kubernetes: structured-merge-diff's `merge.Updater`, and the managers around it in apimachinery's `managedfields`. Left out: the limit of
ten updating managers, the annotation of client-side apply, and the scale subresource.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from dynamo_webhooks.api.line import Line
from tests.laws.laws import version_of
from tests.laws.managers.fields import NOTHING, Fields
from tests.laws.managers.typed import Changes, compare, fields_of, merge, remove, validate
from tests.laws.managers.types import type_of

Object = dict[str, Any]
# Gives an object in another version; the version says which, without its group.
Convert = Callable[[Object, str], Object]


class Who(NamedTuple):
    """A manager as the API server tells them apart: who updates in two versions is two managers, who applies is one."""

    name: str
    applies: bool
    version: str = ""  # of updates
    subresource: str = ""


class Owned(NamedTuple):
    """What a manager owns, in the version in which it wrote last."""

    version: str
    fields: Fields


Managers = dict[Who, Owned]


class ConflictError(Exception):
    """An apply that would change what others own, without being forced."""

    def __init__(self, conflicts: dict[Who, Fields], message: str = "") -> None:
        """`conflicts`: by the other manager, in its version; where only an API server's words are known, those."""
        super().__init__(message or {who.name: fields.v1() for who, fields in conflicts.items()})


# What no manager ever owns.
_STRIPPED: Final = Fields.of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in ("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "resourceVersion")
    ),
)
_OF_STATUS: Final = Fields.of(("f:status",))
_OF_SPEC: Final = Fields.of(("f:spec",))
_SELF: Final = Who("current-operation", applies=False)


class Updater:
    """The algorithm for one kind; it holds no state."""

    def __init__(self, kind: str, convert: Convert, line: Line) -> None:
        """`convert` is asked for other versions alone."""
        self.kind, self._line = kind, line
        self._convert = convert

    def apply(self, live: Object, applied: Object, managers: Managers, who: Who, *, force: bool) -> tuple[Object | None, Managers]:
        """The merged object, None when it is the live one, and who owns what then. Raises ConflictError and InvalidError."""
        version = version_of(applied)
        kind = type_of(self.kind, version, self._line)
        validate(kind, applied)
        validate(kind, live, duplicates=True)
        for owned in managers.values():
            self._as(live, owned.version)  # the API server compares each manager's fields with today's schema, and fails as this does
        merged = merge(kind, live, applied)
        last = managers.get(who)
        own = fields_of(kind, applied).without(_reset(who))
        managers = {**managers, who: Owned(version, own)}
        merged = self._pruned(merged, managers, version, last)
        managers, _ = self._updated(live, merged, version, managers, who, force=force)
        return (None if merged == live else merged), _stripped(managers, who)

    def update(self, live: Object, new: Object, managers: Managers, who: Who) -> tuple[Managers, bool]:
        """Who owns what after another write than an apply, and whether the writer changed anything."""
        version = version_of(new)
        for value in (new, live):
            validate(type_of(self.kind, version, self._line), value, duplicates=True)
        for owned in managers.values():
            self._as(live, owned.version)
        managers, changes = self._updated(live, new, version, managers, _SELF, force=True, reset=_reset(who))
        own = (changes.modified | changes.added).without(_reset(who)) - _STRIPPED
        if not own:
            return managers, False
        before = managers[who].fields if who in managers else NOTHING
        return {**managers, who: Owned(version, before | own)}, True

    def _as(self, obj: Object, version: str) -> Object:
        if version_of(obj) == version:
            return obj
        converted = self._convert(obj, version)
        validate(type_of(self.kind, version, self._line), converted)
        return converted

    def _updated(
        self, old: Object, new: Object, version: str, managers: Managers, who: Who, *, force: bool, reset: Fields | None = None
    ) -> tuple[Managers, Changes]:
        """Takes from the others what changed; what they own of it is a conflict unless it is forced."""
        own = compare(type_of(self.kind, version, self._line), old, new)
        own = Changes(*(fields.without(_reset(who) if reset is None else reset) for fields in own))
        changes = {version: own}
        conflicts: dict[Who, Fields] = {}
        for other, owned in managers.items():
            if other != who and owned.version not in changes:
                pair = [self._as(obj, owned.version) for obj in (old, new)]
                changes[owned.version] = compare(type_of(self.kind, owned.version, self._line), *pair)
            if other != who and (taken := owned.fields & (changes[owned.version].modified | changes[owned.version].added)):
                conflicts[other] = taken
        if conflicts and not force:
            raise ConflictError(conflicts)
        left = {}
        for other, owned in managers.items():
            fields = owned.fields
            if other != who:
                fields = fields - conflicts.get(other, NOTHING) - changes[owned.version].removed
            if fields:
                left[other] = Owned(owned.version, fields)
        return left, own

    def _pruned(self, merged: Object, managers: Managers, version: str, last: Owned | None) -> Object:
        """Without what the manager applied last time and nobody owns now."""
        if last is None or not last.fields:
            return merged
        there = self._as(merged, last.version)
        kind = type_of(self.kind, last.version, self._line)
        pruned = remove(kind, there, last.fields.with_named(kind))
        pruned = self._with_owned(there, pruned, last.version, managers)
        pruned = self._with_dangling(there, pruned, last)
        return self._as(pruned, version)

    def _with_owned(self, merged: Object, pruned: Object, first: str, managers: Managers) -> Object:
        """Puts back what is owned, version by version, that of the last apply first."""
        by_version: dict[str, Fields] = {}
        for owned in managers.values():
            by_version[owned.version] = by_version.get(owned.version, NOTHING) | owned.fields
        for version in sorted(by_version, key=lambda version: version != first):
            merged, pruned = self._as(merged, version), self._as(pruned, version)
            kind = type_of(self.kind, version, self._line)
            whole, rest = fields_of(kind, merged).with_named(kind), fields_of(kind, pruned).with_named(kind)
            pruned = remove(kind, merged, whole - (rest | by_version[version].with_named(kind)))
        return pruned

    def _with_dangling(self, merged: Object, pruned: Object, last: Owned) -> Object:
        """Puts back what went but wasn't the manager's."""
        kind = type_of(self.kind, last.version, self._line)
        rest = fields_of(kind, self._as(pruned, last.version)).with_named(kind)
        whole = fields_of(kind, merged).with_named(kind)
        return remove(kind, merged, (whole - rest) & last.fields.with_named(kind))  # type: ignore[no-any-return]


def _reset(who: Who) -> Fields:
    """What the endpoint of a write never takes from it."""
    return _OF_SPEC if who.subresource else _OF_STATUS


def _stripped(managers: Managers, who: Who) -> Managers:
    if who not in managers:
        return managers
    left = managers[who].fields - _STRIPPED
    return {**managers, who: Owned(managers[who].version, left)} if left else {k: v for k, v in managers.items() if k != who}
