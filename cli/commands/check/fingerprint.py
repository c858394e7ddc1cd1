"""Identifies a finding over time: by rule, object and field, never by file, line or wording."""

import hashlib
from collections import Counter
from collections.abc import Iterable

from ...validation.finding import LocatedFinding

_DIGITS = 32  # of 64: 128 bits, which no two findings share by chance


def fingerprint(finding: LocatedFinding, ordinal: int) -> str:
    """A stable name of a finding, in hexadecimal digits; `ordinal` counts from 0 among findings that are equal in all of it.

    The file belongs to it only where there is no object: objects move between files, and stay what they are.
    """
    parts = (*_same(finding), str(ordinal))
    text = "".join(f"{len(part)}:{part}" for part in parts)  # with lengths, no part can reach into the next
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def fingerprints(findings: Iterable[LocatedFinding]) -> list[str]:
    """The fingerprints of findings, in their order: the order in which they are reported, or the ordinals would change with it."""
    seen: Counter[tuple[str, ...]] = Counter()
    names = []
    for finding in findings:
        same = _same(finding)
        names.append(fingerprint(finding, seen[same]))
        seen[same] += 1
    return names


def _same(finding: LocatedFinding) -> tuple[str, ...]:
    place = tuple(finding.identity) if finding.identity is not None else (finding.source.name,)
    return (finding.rule, *place, finding.path)
