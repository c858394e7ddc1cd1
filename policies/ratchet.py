"""What an update is not blamed for: errors that the stored object had already. Both sides are read one finding at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from api.paths import MISSING, Path, lookup
from policies.finding import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from policies.review import Fields

_Key: TypeAlias = tuple[str, Path, str]

# Findings of the stored object that are remembered because they came earlier than they were asked for. Rules meet both objects in one
# order, so that hardly any are; what is forgotten counts as new.
REMEMBERED: Final = 10_000


def new_ones(findings: Iterable[Finding], before: Iterable[Finding], obj: Fields, old: Fields) -> Iterator[Finding]:
    """Drops errors that are among those `before`, at the same place with the same value."""
    had = _Had(before)
    for finding in findings:
        if not (_may_ratchet(finding) and _key(finding) in had and _same(obj, old, finding.path)):
            yield finding


class _Had:
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
                if len(self._passed) < REMEMBERED:
                    self._passed.add(key)
                if key == wanted:
                    return True
        return False


def _key(finding: Finding) -> _Key:
    return finding.rule.code, finding.path, finding.text


def _may_ratchet(finding: Finding) -> bool:
    return finding.rule.ratchets and finding.level in (Level.ERROR, Level.NOT_EVALUATED)


def _same(new: Fields, old: Fields, path: Path) -> bool:
    """Whether the value is the same; a block counts as the same, since the sentence names what is wrong inside it."""
    now, then = lookup(new, path), lookup(old, path)
    if isinstance(now, (dict, list)) and isinstance(then, (dict, list)):
        return True
    return (None if now is MISSING else now) == (None if then is MISSING else then)
