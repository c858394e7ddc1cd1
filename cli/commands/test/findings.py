"""Holds `allow` and `deny` cases to their marks: what `check` finds, where, and whether the object would be accepted.

A mark is `# expect: rule-name, other-rule` on the line of a finding or above it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ....api.wording import count_of, shorten
from ....policies.catalogue import list_all
from ....policies.review import CREATE, UPDATE
from ...console.exits import UsageError
from ...console.nearest import did_you_mean
from ...objects.stored import load_stored
from ...validation.finding import LocatedFinding, ValidationOutcome, merge_duplicates
from ...validation.levels import ERROR, FAULT
from ...validation.pipeline import ValidationSettings, check_object
from ...yaml.comments import comments
from ...yaml.load import InputError, Source
from ..check.fix import read_data
from .files import ALLOW, load_case_objects
from .verdict import CaseRequest, CaseVerdict

_WORD: Final = "expect:"
_MARK: Final = re.compile(r"\s*#\s*expect:(?P<rules>[^#]*)")
_AS: Final = re.compile(r"#\s*as:\s*(?P<user>\S+)")


_MAX_LINE_CHARACTERS: Final = 300


class _Mark(NamedTuple):
    """One expectation: a rule (by name or code) with a finding on a line."""

    line: int
    rule: str


def judge(question: CaseRequest) -> CaseVerdict:
    """Runs one case."""
    case, source = question.case, Source(question.case.file, question.text)
    if source.text.lstrip()[:1] in ("{", "[") and case.sort != ALLOW:
        return CaseVerdict(case, "must be written in block style YAML, since JSON has no comments for marks")
    try:
        outcome = _check_source(source, question)
    except (InputError, UsageError) as error:
        return CaseVerdict(case, str(error).removeprefix("--old "))
    missing, surplus = _difference(_marks(source), outcome.findings, every=case.sort != ALLOW)
    refused = any(finding.level in (ERROR, FAULT) for finding in outcome.findings)
    failure = _failure(case.sort, missing, surplus, refused=refused)
    lines = (*(_expected(mark, outcome) for mark in missing), *map(_describe_surplus, surplus))
    notes = tuple(dict.fromkeys(f"{note.rule} is not evaluated: {note.reason}" for note in outcome.not_evaluated))
    fault = any(finding.level == FAULT for finding in outcome.findings)
    update = _update(question) if failure and refused == (case.sort != ALLOW) and not fault else ()
    return CaseVerdict(case, failure, tuple(shorten(line, _MAX_LINE_CHARACTERS) for line in lines), notes, update, fault)


def _check_source(source: Source, question: CaseRequest) -> ValidationOutcome:
    """Raises: InputError, UsageError."""
    old = load_stored([question.case.old]) if question.case.old else None
    server = question.server
    settings = ValidationSettings(server.facts, _user(source) or server.user, user_rules=question.rules)
    whole = ValidationOutcome([], [])
    every = load_case_objects(source.name, source.text)
    if old is not None and not any(obj.identity in old for obj in every):
        raise UsageError(f"{question.case.old} holds no object that this case changes")
    for manifest in every:
        before = old.of(manifest, settings.line) if old is not None and manifest.identity in old else None
        if isinstance(before, InputError):
            raise before
        outcome = check_object(manifest, CREATE if before is None else UPDATE, before, settings)
        whole.findings.extend(outcome.findings)
        whole.not_evaluated.extend(outcome.not_evaluated)
    return whole._replace(findings=merge_duplicates(sorted(whole.findings, key=lambda finding: finding.order)))


def _difference(expected: list[_Mark], findings: Sequence[LocatedFinding], *, every: bool) -> tuple[list[_Mark], list[LocatedFinding]]:
    """Marks that nothing meets, and findings that no mark speaks of; of an accepted object only those that refuse it.

    A mark may name any of the rules that find the same mistake.
    """
    words = [{(finding.position.line, word) for word in _rules(finding)} for finding in findings]
    met = set().union(*words)
    spoken = {(mark.line, mark.rule) for mark in expected}
    surplus = [finding for finding, named in zip(findings, words, strict=True) if not spoken & named]
    return (
        [mark for mark in expected if (mark.line, mark.rule) not in met],
        [finding for finding in (surplus if every else findings) if every or finding.level in (ERROR, FAULT)],
    )


def _rules(finding: LocatedFinding) -> list[str]:
    return [finding.rule, finding.code, *(word for also in finding.also for word in (also.rule, also.code))]


def _failure(sort: str, missing: list[_Mark], surplus: list[LocatedFinding], *, refused: bool) -> str:
    if sort == ALLOW:
        if refused:
            return "must be accepted, and is refused"
        return f"{_counted(len(missing), 'expected finding')} missing" if missing else ""
    if not refused:
        return "must be refused, and is accepted"
    parts = [f"{_counted(len(missing), 'expected finding')} missing"] * bool(missing)
    parts += [f"{_counted(len(surplus), 'finding')} not expected"] * bool(surplus)
    return ", ".join(parts)


def _counted(count: int, what: str) -> str:
    return f"{count_of(count, what)} {'is' if count == 1 else 'are'}"


def _expected(mark: _Mark, outcome: ValidationOutcome) -> str:
    """A mark that nothing meets, with the likeliest reason."""
    elsewhere = sorted({finding.position.line for finding in outcome.findings if mark.rule in (finding.rule, finding.code)})
    note = next((note for note in outcome.not_evaluated if mark.rule in (note.rule, note.code)), None)
    known = {word for rule in list_all() for word in (rule.name, rule.code)}
    reason = ""
    if not mark.rule:
        reason = "; the mark must name a rule"
    elif mark.rule not in known:
        reason = f"; there is no such rule{did_you_mean(mark.rule, sorted(known))}"
    elif elsewhere:
        reason = f"; it is found on line {', '.join(map(str, elsewhere))}"
    elif note is not None:
        reason = f"; it is not evaluated, because {note.reason}: facts.yaml beside the case can say it"
    return f"- line {mark.line}: {mark.rule}{reason}"


def _describe_surplus(finding: LocatedFinding) -> str:
    field = f"{finding.path}: " if finding.path else ""
    return f"+ line {finding.position.line}: {finding.rule} ({finding.level}): {field}{finding.message}"


def _update(question: CaseRequest) -> tuple[tuple[str, str], ...]:
    """The case's file with marks as things are found; nothing where marks can't be written so that they are read back."""
    bare = _remove_marks(question.text)
    source = Source(question.case.file, bare)
    try:
        findings = _check_source(source, question).findings
        # all of a refused case; of an accepted one those that its marks named, at their current lines
        named = {mark.rule for mark in _marks(Source("", question.text))}
        every = question.case.sort != ALLOW
        marks = [
            _Mark(finding.position.line, finding.rule) for finding in findings if every or named.intersection((finding.rule, finding.code))
        ]
        text = _add_marks(bare, marks)
        after = Source(question.case.file, text)
        same = set(_marks(after)) == set(marks) and read_data(after) == read_data(source)
    except (InputError, UsageError):
        return ()
    return ((question.case.file, text),) if same else ()


def _marks(source: Source) -> list[_Mark]:
    """The expectations of a text, in their order; a mark that names no rule has an empty one."""
    marks = []
    for comment in comments(source, _WORD):
        for mark in _MARK.finditer(comment.text):
            # a mark above blank lines speaks of the next line that holds something
            below = (at for at in range(comment.of, len(source.lines) + 1) if source.lines[at - 1].strip())
            line = next(below, comment.of)
            marks += [_Mark(line, word.strip().split(" ")[0]) for word in mark["rules"].split(",")]
    return marks


def _user(source: Source) -> str:
    """The user of the request, from a comment `# as: NAME` of its own; empty without one."""
    matches = (_AS.fullmatch(comment.text.strip()) for comment in comments(source, "as:"))
    return next((match["user"] for match in matches if match), "")


def _remove_marks(text: str) -> str:
    """The text without its marks; lines that held nothing else are gone."""
    lines = text.split("\n")
    for comment in sorted(comments(Source("", text), _WORD), reverse=True):
        if not _MARK.search(comment.text):
            continue
        line = lines[comment.line - 1]
        kept = line[: comment.column - 1] + _MARK.sub("", comment.text)
        lines[comment.line - 1 : comment.line] = [kept.rstrip() + "\r" * line.endswith("\r")] if kept.strip() else []
    return "\n".join(lines)


def _add_marks(text: str, expected: Iterable[tuple[int, str]]) -> str:
    """An unmarked text with a mark behind each line that something is found on; `expected` are pairs of line and rule."""
    rules: dict[int, list[str]] = {}
    for line, rule in sorted(set(expected)):
        rules.setdefault(line, []).append(rule)
    lines = text.split("\n")
    for number, names in rules.items():
        whole = lines[number - 1]
        bare = whole.removesuffix("\r")
        lines[number - 1] = f"{bare.rstrip()}  # expect: {', '.join(names)}{whole[len(bare) :]}"
    return "\n".join(lines)
