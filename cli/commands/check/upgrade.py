"""What later lines of the operator say of the same objects, in the order of an upgrade, which goes from line to line."""

from collections.abc import Callable

from ....api.line import Line
from ...console.exits import UsageError
from ...validation.finding import LocatedFinding, NotEvaluated
from .result import JudgedBy, Result

FLAG = "--upgrade-to"


def list_steps(now: Line, to: Line) -> list[Line]:
    """The lines after one, up to another. Raises: UsageError if there are none."""
    steps = [line for line in Line if now < line <= to]
    if not steps:
        raise UsageError(f"{FLAG} {to}: must be a line after {now}, by which files are judged; --line names another")
    return steps


def add_later_lines(result: Result, steps: list[Line], judge: Callable[[Line], Result]) -> Result:
    """The result with what each later line finds first, marked with that line; findings of an earlier line are not repeated."""
    findings, notes = list(result.findings), list(result.not_evaluated)
    known, noted = set(map(_about, findings)), set(map(_of_note, notes))
    for line in steps:
        later = judge(line)
        fresh = [one for one in later.findings if _about(one) not in known]
        known |= set(map(_about, fresh))
        findings += [one._replace(message=f"from line {line} on {one.message}", since="") for one in fresh]
        new = [one for one in later.not_evaluated if _of_note(one) not in noted]
        noted |= set(map(_of_note, new))
        notes += new
    lines = (*result.lines, *(JudgedBy(str(line), FLAG) for line in steps))
    return result._replace(findings=findings, not_evaluated=notes, lines=lines)


def _about(one: LocatedFinding) -> tuple[object, ...]:
    """What a finding is about: its rule and place. Its sentence may name other choices on another line."""
    return one.source.name, one.identity, one.rule, one.path, one.position


def _of_note(one: NotEvaluated) -> tuple[object, ...]:
    return one.source.name, one.identity, one.rule, one.reason
