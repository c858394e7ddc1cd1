"""Ratcheting: an update isn't refused for errors that the stored object already had. Both sides are read one finding at a time."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from ..api.paths import MISSING, Key, Path, lookup
from .finding import Finding
from .review import Fields
from .rule import Level

_Key: TypeAlias = tuple[str, Path, str]

# Cached findings of the stored object that are needed later. Rules visit both objects in the same order, so that hardly any are;
# dropped ones count as new.
MAX_CACHED: Final = 10_000
_ENTRY: Final = len(("spec", "services", "NAME"))


def drop_stored_errors(findings: Iterable[Finding], before: Iterable[Finding], obj: Fields, old: Fields) -> Iterator[Finding]:
    """Drops errors that are among those `before`, at the same place with the same value."""
    had, same = _StoredErrors(before), _UnchangedValues(obj, old)
    for finding in findings:
        if not (_may_ratchet(finding) and _key(finding) in had and same(finding.path)):
            yield finding


class _StoredErrors:
    """The errors of the stored object, looked for no further than they are asked for."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._findings = iter(findings)
        self._passed: set[_Key] = set()

    def __contains__(self, wanted: _Key) -> bool:
        if wanted in self._passed:
            return True
        for finding in self._findings:
            if _may_ratchet(finding):
                key = _key(finding)
                if len(self._passed) < MAX_CACHED:
                    self._passed.add(key)
                if key == wanted:
                    return True
        return False


def _key(finding: Finding) -> _Key:
    return finding.rule.code, finding.path, finding.text


def _may_ratchet(finding: Finding) -> bool:
    return finding.rule.ratchets and finding.level in (Level.ERROR, Level.NOT_EVALUATED)


class _UnchangedValues:
    """Whether the value at a place is the same; a block counts as the same, since the message names the wrong part of it."""

    def __init__(self, obj: Fields, old: Fields) -> None:
        self._both: tuple[object, object] = (obj, old)
        # the value at `spec.services.NAME` and the like: very many findings may be below one name, which may be very long
        self._entry: Path = ()
        self._values: tuple[object, object] = self._both

    def __call__(self, path: Path) -> bool:
        both, rest = self._both, path
        if len(path) > _ENTRY and isinstance(path[_ENTRY - 1], Key):
            both, rest = self._below(path[:_ENTRY]), path[_ENTRY:]
        now, then = (lookup(value, rest) for value in both)
        if isinstance(now, (dict, list)) and isinstance(then, (dict, list)):
            return True
        return (None if now is MISSING else now) == (None if then is MISSING else then)

    def _below(self, entry: Path) -> tuple[object, object]:
        if not (self._entry and entry[-1] is self._entry[-1] and entry == self._entry):
            self._entry = entry
            self._values = lookup(self._both[0], entry), lookup(self._both[1], entry)
        return self._values
