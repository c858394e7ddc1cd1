"""Everything that a run of `check` found, sorted, and what its exit code is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from ....policies.checks import DUPLICATE
from ....policies.review import DELETE
from ...console.exits import BUG, NOT_EVALUATED, NOTHING_FOUND, REFUSED, UNREACHABLE, UNREADABLE, worst_code
from ...objects.manifest import Identity
from ...validation.finding import LocatedFinding, NotEvaluated, report_own
from ...validation.levels import DECODE, ERROR, FAULT, WARNING
from ...yaml.errors import InputError
from ...yaml.load import Position, Source

if TYPE_CHECKING:
    from ...validation.server_response import ServerResponse

COMMENT: Final = "comment"
BASELINE: Final = "baseline"
PROJECT: Final = "project"
DEFAULT: Final = "the default"  # the source of the line where nothing else names one
REFUSING: Final = {"error": (ERROR,), "warning": (ERROR, WARNING), "never": ()}


class CheckedObject(NamedTuple):
    """One object that was looked at, whatever came of it."""

    source: Source
    line: int
    identity: Identity
    operation: str  # CREATE, UPDATE or DELETE, as in policies.review
    name: Position | None = None  # of its name; None without a name


class SuppressedFinding(NamedTuple):
    """A finding that does not count, with its source (COMMENT, BASELINE or PROJECT) and the reason given there."""

    finding: LocatedFinding
    by: str
    reason: str


class CheckedLine(NamedTuple):
    """An operator line of a run, and its source."""

    line: str
    origin: str

    def __str__(self) -> str:
        """Writes `operator 1.2 (--line)`; of the default line also how to choose another."""
        other = "; --line names another" if self.origin.startswith(DEFAULT) else ""
        return f"operator {self.line} ({self.origin}{other})"


class CheckResult(NamedTuple):
    """The whole result; each list is in the order in which it is printed."""

    findings: list[LocatedFinding]
    not_evaluated: list[NotEvaluated]
    unreadable: list[InputError]
    checked: list[CheckedObject]
    suppressed: list[SuppressedFinding]
    answers: list[ServerResponse]  # one for each checked object, if requested
    unreachable: list[str]  # sentences about clusters that did not answer
    passed: list[InputError]  # files of others that can't be read
    others: int = 0  # ignored documents of other kinds
    lines: Sequence[CheckedLine] = ()  # the line of the run, and those of --upgrade-to
    site: str = ""  # the address of the documentation
    namespace: str = ""  # of a cluster, in which objects were looked for that name none
    own_rules: tuple[int, int] | None = None  # how many of the users' took part, of how many; None without rules-from

    def count(self, level: str) -> int:
        """Count the findings of a level."""
        return sum(1 for finding in self.findings if finding.level == level)


def make_empty_result() -> CheckResult:
    """A result to which findings are added."""
    return CheckResult([], [], [], [], [], [], [], [])


def join_results(parts: Sequence[CheckResult]) -> CheckResult:
    """Join the results of several parts of a run."""
    whole = make_empty_result()
    for name, held in whole._asdict().items():
        if isinstance(held, list):
            held.extend(item for part in parts for item in getattr(part, name))
    return whole


def sort_result(result: CheckResult) -> CheckResult:
    """Sort findings by file, line and rule, and the other lists alike."""
    order = attrgetter("name", "line", "column", "text")  # of errors
    return result._replace(
        findings=sorted(result.findings, key=lambda finding: finding.order),
        not_evaluated=sorted(result.not_evaluated, key=lambda note: (note.source.name, note.line, note.rule, note.identity, note.reason)),
        unreadable=sorted(result.unreadable, key=order),
        checked=sorted(result.checked, key=lambda obj: (obj.source.name, obj.line, obj.identity)),
        suppressed=sorted(result.suppressed, key=lambda suppression: suppression.finding.order),
        answers=sorted(result.answers, key=lambda answer: (answer.source.name, answer.line, answer.identity)),
        passed=sorted(result.passed, key=order),
    )


def exit_code(result: CheckResult, fail_on: str, *, require_facts: bool, allow_empty: bool) -> int:
    """Returns the published exit code; `never` hides a negative verdict, but neither input that can't be read nor an internal error."""
    codes = [BUG] * bool(result.count(FAULT))
    codes += [UNREACHABLE] * bool(result.unreachable)
    codes += [UNREADABLE] * bool(result.unreadable)
    codes += [REFUSED] * any(result.count(level) for level in REFUSING[fail_on])
    codes += [NOT_EVALUATED] * bool(require_facts and result.not_evaluated)
    codes += [NOTHING_FOUND] * (not result.checked and not allow_empty)
    return worst_code(codes)


def find_duplicates(checked: Sequence[CheckedObject]) -> Iterator[LocatedFinding]:
    """A finding for each object that occurred before: with its namespace, or in the same folder or text."""
    seen: dict[tuple[object, ...], CheckedObject] = {}
    for obj in checked:
        if obj.name is None or obj.operation == DELETE:
            continue
        places = _collision_keys(obj)
        before = next((seen[place] for place in places if place in seen), None)
        if before is not None:
            where = f"{before.source.name}:{before.line}"
            text = f"must name one object, and {where} has the same kind and name; of both, the one applied last stays"
            yield report_own(DUPLICATE, WARNING, DECODE, obj.source, obj.name, obj.identity, "metadata.name", text)
        for place in places:
            seen.setdefault(place, obj)


def _collision_keys(obj: CheckedObject) -> list[tuple[object, ...]]:
    """The places where an object would collide with another of its name."""
    name, identity = obj.source.name, obj.identity
    if name.startswith(("kustomize:", "cluster:")):  # no files; each holds what one place applies
        return [(name, identity)]
    folder = name.rpartition("/")[0]
    return [("folder", folder, identity), *([("namespace", identity)] if identity.namespace else [])]
