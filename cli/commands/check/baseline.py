"""Findings that are known and do not count: a file of their fingerprints, read, held against a result, and written anew on request.

An entry is only called outdated where its object was looked at and its rule could have spoken: most runs see a part of all files.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...console.exits import UsageError
from ...files.read import STDIN, load_text
from ...files.write import replace_file
from ...objects.manifest import Identity
from ...validation.finding import LocatedFinding, NotEvaluated
from ...validation.levels import FAULT
from ...yaml.errors import InputError
from .result import BASELINE, CheckResult, SuppressedFinding
from .suppress import RuleCoverage, could_report, explain_unknown_word

FORMAT: Final = 1
_FLAG: Final = "--baseline"
_FINGERPRINT_DIGITS: Final = 32  # of 64: 128 bits, which no two findings share by chance


def make_fingerprint(finding: LocatedFinding, ordinal: int) -> str:
    """Names a finding over time, in hexadecimal digits: by rule, object and field. `ordinal` counts from 0 among those equal in all of it.

    The file belongs to it only where there is no object: objects move between files, and stay what they are.
    """
    parts = (*_same(finding), str(ordinal))
    text = "".join(f"{len(part)}:{part}" for part in parts)  # with lengths, no part can reach into the next
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_FINGERPRINT_DIGITS]


def make_fingerprints(findings: Iterable[LocatedFinding]) -> list[str]:
    """The fingerprints of findings, in their order: the order in which they are reported, or the ordinals would change with it."""
    seen: Counter[tuple[str, ...]] = Counter()
    names = []
    for finding in findings:
        same = _same(finding)
        names.append(make_fingerprint(finding, seen[same]))
        seen[same] += 1
    return names


def name_findings(result: CheckResult) -> list[tuple[str, LocatedFinding, SuppressedFinding | None]]:
    """All findings with their fingerprints, in order, and what suppresses one; such findings count among equal ones, too."""
    both: list[tuple[LocatedFinding, SuppressedFinding | None]] = [(finding, None) for finding in result.findings]
    both = sorted([*both, *((suppression.finding, suppression) for suppression in result.suppressed)], key=lambda pair: pair[0].order)
    return [(name, *pair) for name, pair in zip(make_fingerprints(finding for finding, _ in both), both, strict=True)]


def _same(finding: LocatedFinding) -> tuple[str, ...]:
    place = tuple(finding.identity) if finding.identity is not None else (finding.source.name,)
    return (finding.rule, *place, finding.path)


class BaselineEntry(NamedTuple):
    """One known finding. Only its fingerprint counts, and users may add a reason; the rest describes it."""

    fingerprint: str
    file: str
    kind: str  # empty, as are namespace and name, where the finding belongs to no object
    namespace: str
    name: str
    path: str
    rule: str
    code: str
    message: str
    reason: str

    @property
    def order(self) -> tuple[str, ...]:
        """The key that files sort by: what moves seldom comes first, so that two branches seldom touch the same line."""
        return (*self.about_object, self.rule, self.path, self.fingerprint)

    @property
    def about_object(self) -> tuple[str, str, str]:
        """The object; empty texts where there is none."""
        return self.kind, self.namespace, self.name

    @property
    def about(self) -> str:
        """The object and field, or the file where there is no object."""
        return ", ".join(filter(None, (str(Identity(*self.about_object)), self.path))) if self.kind else self.file


class BaselineResult(NamedTuple):
    """A result without its known findings, the entries that find nothing any more, and the file as it should be."""

    result: CheckResult
    outdated: list[BaselineEntry]
    new: list[BaselineEntry]
    entries: list[BaselineEntry]


def load(file: str, *, missing: bool = False) -> list[BaselineEntry]:
    """Reads a baseline; `missing`: a file that isn't there is an empty one. Raises: UsageError when it can't be used."""
    if file == STDIN:
        raise UsageError(f"{_FLAG} must be a file, and - is standard input")
    if missing and not Path(file).exists():
        return []
    try:
        data = json.loads(load_text(file))
    except InputError as error:
        writes = "; --update-baseline writes it" if file and not Path(file).exists() else ""
        raise UsageError(f"{_FLAG} {error}{writes}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{_FLAG} {file}:{error.lineno}:{error.colno}: must be JSON, as --update-baseline writes it") from None
    except (RecursionError, ValueError):
        raise UsageError(f"{_FLAG} {file}: must be a baseline, is nested too deep or holds a number of too many digits") from None
    if not isinstance(data, dict) or not isinstance(data.get("findings"), list):
        raise UsageError(f"{_FLAG} {file}: must be a baseline, an object with format and findings")
    if data.get("format") != FORMAT:
        raise UsageError(f"{_FLAG} {file}: format must be {FORMAT}, got {json.dumps(data.get('format'))[:80]}")
    return [_parse_entry(row, f"{_FLAG} {file}: findings[{index}]") for index, row in enumerate(data["findings"])]


def apply_baseline(
    result: CheckResult, entries: list[BaselineEntry], includes: Callable[[BaselineEntry], bool], coverage: RuleCoverage, *, learn: bool
) -> BaselineResult:
    """Take the known findings out of a result; `includes` is true for an entry whose rule the run reports.

    `coverage` holds the line of the run and whether it looked at schemas. With `learn`, all findings but internal errors become known.
    """
    known = {entry.fingerprint: entry for entry in entries}
    named = [(name, finding) for name, finding, by in name_findings(result) if by is None]
    current = {name: _make_entry(name, finding, known.get(name)) for name, finding in named if finding.level != FAULT}
    new = [entry for name, entry in current.items() if name not in known] if learn else []
    passing = current if learn else {name: entry for name, entry in current.items() if name in known}
    hidden = {id(finding): passing[name] for name, finding in named if name in passing}
    suppressed = [SuppressedFinding(finding, BASELINE, hidden[id(finding)].reason) for finding in result.findings if id(finding) in hidden]
    silent = [entry for entry in entries if entry.fingerprint not in current and includes(entry)]
    # objects with a file that was not read: overlays of one graph share its name, and fingerprints don't distinguish files
    seen = {obj.source.name for obj in result.checked}
    unseen = {entry.about_object for entry in entries if entry.kind and entry.file not in seen and Path(entry.file).is_file()}
    outdated = [entry for entry in _outdated(silent, result, coverage) if entry.about_object not in unseen]
    gone = {entry.fingerprint for entry in outdated}
    kept = [
        entry if entry.about_object in unseen else current.get(entry.fingerprint, entry)
        for entry in entries
        if entry.fingerprint not in gone
    ]
    cleared = result._replace(
        findings=[finding for finding in result.findings if id(finding) not in hidden],
        suppressed=sorted([*result.suppressed, *suppressed], key=lambda suppression: suppression.finding.order),
    )
    return BaselineResult(
        cleared, outdated, new, sorted({entry.fingerprint: entry for entry in (*kept, *new)}.values(), key=lambda entry: entry.order)
    )


def write(file: str, entries: list[BaselineEntry]) -> None:
    """Writes a baseline in one step; the same entries make the same bytes. Raises: UsageError when it can't be written."""
    rows = [{word: text for word, text in entry._asdict().items() if text} for entry in entries]
    text = json.dumps({"format": FORMAT, "findings": rows}, indent=2)  # in ASCII: a file name may be no Unicode text
    replace_file(file, text + "\n")


def _make_entry(name: str, finding: LocatedFinding, before: BaselineEntry | None) -> BaselineEntry:
    identity = finding.identity or ("", "", "")
    reason = before.reason if before else ""
    return BaselineEntry(name, finding.source.name, *identity, finding.path, finding.rule, finding.code, finding.message, reason)


def _outdated(entries: list[BaselineEntry], result: CheckResult, coverage: RuleCoverage) -> Iterator[BaselineEntry]:
    """Those entries whose findings would be there if they still were: their object or file was seen, and their rule could have reported."""
    operations: defaultdict[object, set[str]] = defaultdict(set)  # by identity, and by file
    notes: defaultdict[object, list[NotEvaluated]] = defaultdict(list)
    for obj in result.checked:
        for key in (tuple(obj.identity), obj.source.name):
            operations[key].add(obj.operation)
    for note in result.not_evaluated:
        notes[tuple(note.identity)].append(note)
    for entry in entries:
        about = entry.about_object if entry.kind else entry.file
        narrowed = coverage._replace(notes=tuple(notes.get(about, ())), operations=frozenset(operations.get(about, ())))
        if about in operations and (explain_unknown_word(entry.rule) or could_report(entry.rule, narrowed)):
            yield entry


def _parse_entry(data: Any, label: str) -> BaselineEntry:
    if not isinstance(data, dict) or not isinstance(data.get("fingerprint"), str):
        raise UsageError(f"{label} must be an object with a fingerprint")
    for word in BaselineEntry._fields:
        if not isinstance(data.get(word, ""), str):
            raise UsageError(f"{label}.{word} must be a string, got {json.dumps(data[word])[:80]}")
    return BaselineEntry(*(data.get(word, "") for word in BaselineEntry._fields))
