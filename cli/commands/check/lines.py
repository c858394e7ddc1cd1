"""By which lines of the operator a run judges: how it knows its own, and what later ones find, in the order of an upgrade."""

from collections.abc import Callable
from operator import attrgetter
from typing import Final

from ....api.line import NEAREST, Line, explain_upgrades, is_beyond
from ....policies.facts import UNKNOWN, Facts
from ...console.exits import UsageError
from .options import Options
from .result import DEFAULT, CheckedLine, CheckResult

_UPGRADE: Final = "--upgrade-to"
# what a finding is about: its sentence may name other choices on another line
_about = attrgetter("source.name", "identity", "rule", "path", "position")
_of_note = attrgetter("source.name", "identity", "rule", "reason")


def explain_line(options: Options, stated_facts: Facts, known_facts: Facts) -> CheckedLine:
    """The line that a run judges by, with its source; `known_facts` are the stated ones, and those of a live cluster."""
    line = known_facts.line
    near = f"; rules of operator {NEAREST[line]}, the nearest known release" if line in NEAREST else ""
    return CheckedLine(str(line), _line_origin(options, stated_facts, known_facts) + near)


def _line_origin(options: Options, stated_facts: Facts, known_facts: Facts) -> str:
    if options.facts.line is not None:
        return "the project file" if "line" in options.project.laid else "--line"
    if known_facts.operatorLine is not UNKNOWN:
        return "the fact operatorLine" if stated_facts.operatorLine is not UNKNOWN else "the cluster's definitions"
    if known_facts.operatorVersion is UNKNOWN:
        return DEFAULT
    beyond = "; later releases count as the newest known" if is_beyond(known_facts.operatorVersion) else ""
    return f"operatorVersion {known_facts.operatorVersion}{beyond}"


def list_steps(now: Line, to: Line) -> list[Line]:
    """The lines after one, up to another. Raises: UsageError if there are none."""
    steps = [line for line in Line if now < line <= to]
    if not steps:
        raise UsageError(f"{_UPGRADE} {to}: must be a later operator release than {now}, with which files are checked; --line sets another")
    return steps


def add_later_lines(result: CheckResult, now: Line, to: Line, judge: Callable[[Line], CheckResult]) -> CheckResult:
    """The result with what each later line finds first, marked with that line; findings of an earlier line are not repeated."""
    steps = list_steps(now, to)
    findings, notes = list(result.findings), list(result.not_evaluated)
    known, noted = set(map(_about, findings)), set(map(_of_note, notes))
    for line in steps:
        later = judge(line)
        fresh = [finding for finding in later.findings if _about(finding) not in known]
        known |= set(map(_about, fresh))
        findings += [finding._replace(message=f"since operator {line}: {finding.message}", since="") for finding in fresh]
        new = [note for note in later.not_evaluated if _of_note(note) not in noted]
        noted |= set(map(_of_note, new))
        notes += new
    origin = "; ".join(filter(None, (_UPGRADE, explain_upgrades(now, steps[-1]))))
    lines = (*result.lines, *(CheckedLine(str(line), origin if line is steps[-1] else _UPGRADE) for line in steps))
    return result._replace(findings=findings, not_evaluated=notes, lines=lines)
