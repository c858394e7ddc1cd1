"""The report as JUnit XML: a suite a file, a case an object, so that clean objects are seen to pass.

A failure is a finding at or above the threshold of `--fail-on`, because a pipeline that reads this file fails with it; findings below
are in the case's output. Checks that could not run are cases of their own: a rule without its fact is skipped, an input that can't be
read is an error. No times, no host: the same input gives the same bytes.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter

from ....console.junit import JUnitCase, format_element, format_junit
from ....objects.manifest import Identity
from ....validation.finding import LocatedFinding
from ....validation.levels import FAULT
from ..result import REFUSING, CheckedObject, CheckResult, make_empty_result
from .shared import format_reason


def document(result: CheckResult, fail_on: str) -> str:
    """The whole document; `fail_on` is the threshold of the run."""
    files = sorted(_by_file(result).items())
    return format_junit("dynamo-webhooks check", [(name, _cases(name, file, REFUSING[fail_on])) for name, file in files])


def _by_file(result: CheckResult) -> dict[str, CheckResult]:
    files: defaultdict[str, CheckResult] = defaultdict(make_empty_result)
    for held in ("checked", "findings", "not_evaluated"):
        for item in getattr(result, held):
            getattr(files[item.source.name], held).append(item)
    for error in result.unreadable:
        files[error.name or "inputs"].unreadable.append(error)
    if result.unreachable:
        files["cluster"].unreachable.extend(result.unreachable)
    return files


def _cases(name: str, file: CheckResult, refusing: tuple[str, ...]) -> list[JUnitCase]:
    objects = _Objects(file.checked)
    comments = JUnitCase("comments")
    for finding in file.findings:
        case = comments if finding.identity is None else objects.of(finding.identity, finding.position.line)
        _add(case, name, finding, refusing)
    cases = [*objects.cases]
    if comments.failures or comments.errors or comments.output:
        cases.append(comments)
    for note in file.not_evaluated:
        case = JUnitCase(f"{objects.of(note.identity, note.line).name}: {note.rule}")
        case.skipped.append(format_element("skipped", "", format_reason(note), ""))
        cases.append(case)
    unread = [f"line {error.line}, column {error.column}: {error.text}" if error.line else error.text for error in file.unreadable]
    unread += file.unreachable
    if unread:
        case = JUnitCase("can be read")
        case.errors += [format_element("error", "unreadable", text, "") for text in unread]
        cases.append(case)
    return cases


class _Objects:
    """The cases of the objects of one file, each with the line where it begins; the line distinguishes duplicate objects."""

    def __init__(self, checked: Iterable[CheckedObject]) -> None:
        self._same: dict[Identity, list[tuple[int, JUnitCase]]] = {}
        self.cases = [self._add(obj.identity, obj.line) for obj in checked]

    def of(self, identity: Identity, line: int) -> JUnitCase:
        """The case of the object that a line belongs to: the last one of that identity that begins at or above it."""
        if identity not in self._same:
            self.cases.append(self._add(identity, line))
        same = self._same[identity]
        return same[max(bisect_right(same, line, key=itemgetter(0)) - 1, 0)][1]

    def _add(self, identity: Identity, line: int) -> JUnitCase:
        same = self._same.setdefault(identity, [])
        same.append((line, JUnitCase(f"{identity} (line {line})" if same else str(identity))))
        return same[-1][1]


def _add(case: JUnitCase, name: str, finding: LocatedFinding, refusing: tuple[str, ...]) -> None:
    line, column, _ = finding.position
    more = f"{name}:{line}:{column} {finding.level} {finding.rule} ({finding.code})" + (f"\nfix: {finding.fix}" if finding.fix else "")
    if finding.level == FAULT:
        case.errors.append(format_element("error", finding.rule, finding.about, more))
    elif finding.level in refusing:
        case.failures.append(format_element("failure", finding.rule, finding.about, more))
    else:
        case.output.append(f"{more}\n{finding.about}")
