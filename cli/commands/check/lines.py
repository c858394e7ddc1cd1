"""By which lines of the operator a run judges: how it knows its own, and what later ones find, in the order of an upgrade."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Final

from ....api.line import NEAREST, Line, explain_upgrades, is_beyond
from ....policies.facts import UNKNOWN, Facts
from ...console.exits import UsageError
from ...project.targets import Target, Targets
from .options import Options
from .result import DEFAULT, JudgedBy, Result

_UPGRADE: Final = "--upgrade-to"
# what a finding is about: its sentence may name other choices on another line
_about = attrgetter("source.name", "identity", "rule", "path", "position")
_of_note = attrgetter("source.name", "identity", "rule", "reason")


def explain_lines(options: Options, targets: Targets, files: Iterable[str], fill: Callable[[Facts], Facts]) -> list[JudgedBy]:
    """The lines that files were judged by, each with its sources; `fill` adds facts of a live cluster."""
    used = {target.cluster: target for target in map(targets.of, files)} or {"": targets.usual}
    told: dict[str, list[str]] = {}
    for _, target in sorted(used.items()):
        known = fill(target.facts)
        line = known.line
        near = f"; rules of operator {NEAREST[line]}, the nearest known release" if line in NEAREST else ""
        told.setdefault(str(line), []).append(_told(options, target, known) + near)
    return [JudgedBy(line, ", ".join(dict.fromkeys(sources))) for line, sources in sorted(told.items())]


def _told(options: Options, target: Target, known: Facts) -> str:
    if options.facts.line is not None and "line" not in options.project.laid:
        return "--line"
    if target.cluster:
        return f"cluster {target.cluster}"
    if options.facts.line is not None:
        return "the project file"
    if known.operatorLine is not UNKNOWN:
        return "the fact operatorLine" if target.facts.operatorLine is not UNKNOWN else "the cluster's definitions"
    if known.operatorVersion is UNKNOWN:
        return DEFAULT
    beyond = "; later releases count as the newest known" if is_beyond(known.operatorVersion) else ""
    return f"operatorVersion {known.operatorVersion}{beyond}"


def list_steps(now: Line, to: Line) -> list[Line]:
    """The lines after one, up to another. Raises: UsageError if there are none."""
    steps = [line for line in Line if now < line <= to]
    if not steps:
        raise UsageError(f"{_UPGRADE} {to}: must be a later operator release than {now}, with which files are checked; --line sets another")
    return steps


def add_later_lines(result: Result, now: Line, to: Line, judge: Callable[[Line], Result]) -> Result:
    """The result with what each later line finds first, marked with that line; findings of an earlier line are not repeated."""
    steps = list_steps(now, to)
    findings, notes = list(result.findings), list(result.not_evaluated)
    known, noted = set(map(_about, findings)), set(map(_of_note, notes))
    for line in steps:
        later = judge(line)
        fresh = [one for one in later.findings if _about(one) not in known]
        known |= set(map(_about, fresh))
        findings += [one._replace(message=f"since operator {line}: {one.message}", since="") for one in fresh]
        new = [one for one in later.not_evaluated if _of_note(one) not in noted]
        noted |= set(map(_of_note, new))
        notes += new
    told = "; ".join(filter(None, (_UPGRADE, explain_upgrades(now, steps[-1]))))
    lines = (*result.lines, *(JudgedBy(str(line), told if line is steps[-1] else _UPGRADE) for line in steps))
    return result._replace(findings=findings, not_evaluated=notes, lines=lines)
