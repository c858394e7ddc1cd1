"""Holds `allow` and `deny` cases to their marks: what `check` finds, where, and whether the object would be accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.wording import many, shortened
from dynamo_webhooks.cli.cases.files import ALLOW
from dynamo_webhooks.cli.cases.given import given
from dynamo_webhooks.cli.cases.marks import Mark, marked, marks, unmarked, user
from dynamo_webhooks.cli.cases.verdict import Verdict
from dynamo_webhooks.cli.check.old import load_old
from dynamo_webhooks.cli.check.pipeline import Settings, check_object
from dynamo_webhooks.cli.check.record import ERROR, FAULT, OWN_RULES
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.nearest import hint
from dynamo_webhooks.cli.yaml.load import Document, InputError, Source, read
from dynamo_webhooks.policies.catalogue import by_word, rules
from dynamo_webhooks.policies.review import CREATE, UPDATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dynamo_webhooks.cli.cases.verdict import Question
    from dynamo_webhooks.cli.check.record import NotEvaluated, Reported

LONGEST: Final = 300  # characters of one line


class _Found(NamedTuple):
    findings: list[Reported]
    notes: list[NotEvaluated]


def judge(question: Question) -> Verdict:
    """Runs one case."""
    case, source = question.case, Source(question.case.file, question.text)
    if source.text.lstrip()[:1] in ("{", "[") and case.sort != ALLOW:
        return Verdict(case, "must be written in block style YAML, since JSON has no comments for marks")
    try:
        found = _found(source, question)
    except (InputError, UsageError) as error:
        return Verdict(case, str(error).removeprefix("--old "))
    missing, surplus = _difference(marks(source), found.findings, every=case.sort != ALLOW)
    refused = any(finding.level in (ERROR, FAULT) for finding in found.findings)
    failure = _failure(case.sort, missing, surplus, refused=refused)
    lines = (*(_expected(mark, found) for mark in missing), *map(_seen, surplus))
    notes = tuple(dict.fromkeys(f"{note.rule} is not evaluated: {note.reason}" for note in found.notes))
    fault = any(finding.level == FAULT for finding in found.findings)
    update = _update(question) if failure and refused == (case.sort != ALLOW) and not fault else ()
    return Verdict(case, failure, tuple(shortened(line, LONGEST) for line in lines), notes, update, fault)


def _found(source: Source, question: Question) -> _Found:
    """Raises: InputError, UsageError."""
    old = load_old([question.case.old]) if question.case.old else None
    asked = question.asked
    settings = Settings(question.facts, asked.profile, user(source) or asked.user)
    found = _Found([], [])
    every = given(source.name, source.text)
    if old is not None and not any(one.identity in old for one in every):
        raise UsageError(f"{question.case.old} holds no object that this case changes")
    for one in every:
        before = old.of(one, settings.line) if old is not None and one.identity in old else None
        if isinstance(before, InputError):
            raise before
        outcome = check_object(one, CREATE if before is None else UPDATE, before, settings)
        found.findings.extend(outcome.findings)
        found.notes.extend(outcome.not_evaluated)
    found.findings.sort(key=lambda finding: finding.order)
    return found


def _difference(expected: list[Mark], findings: Iterable[Reported], *, every: bool) -> tuple[list[Mark], list[Reported]]:
    """Marks that nothing meets, and findings that no mark speaks of; of an accepted object only those that refuse it."""
    met = {(finding.position.line, word) for finding in findings for word in (finding.rule, finding.code)}
    spoken = {(mark.line, mark.rule) for mark in expected}
    surplus = [one for one in findings if not spoken.intersection(((one.position.line, one.rule), (one.position.line, one.code)))]
    return (
        [mark for mark in expected if (mark.line, mark.rule) not in met],
        [one for one in (surplus if every else findings) if every or one.level in (ERROR, FAULT)],
    )


def _failure(sort: str, missing: list[Mark], surplus: list[Reported], *, refused: bool) -> str:
    if sort == ALLOW:
        if refused:
            return "must be accepted, and is refused"
        return f"{_counted(len(missing), 'expected finding')} missing" if missing else ""
    if not refused:
        return "must be refused, and is accepted"
    told = [f"{_counted(len(missing), 'expected finding')} missing"] * bool(missing)
    told += [f"{_counted(len(surplus), 'finding')} not expected"] * bool(surplus)
    return ", ".join(told)


def _counted(count: int, what: str) -> str:
    return f"{many(count, what)} {'is' if count == 1 else 'are'}"


def _expected(mark: Mark, found: _Found) -> str:
    """A mark that nothing meets, with the likeliest reason."""
    elsewhere = sorted({finding.position.line for finding in found.findings if mark.rule in (finding.rule, finding.code)})
    note = next((note for note in found.notes if mark.rule in (note.rule, note.code)), None)
    known = {*(rule.name for rule in OWN_RULES), *(rule.code for rule in OWN_RULES)}
    reason = ""
    if not mark.rule:
        reason = "; the mark must name a rule"
    elif mark.rule not in known and by_word(mark.rule) is None:
        reason = f"; there is no such rule{hint(mark.rule, [*known, *(rule.name for rule in rules('current'))])}"
    elif elsewhere:
        reason = f"; it is found on line {', '.join(map(str, elsewhere))}"
    elif note is not None:
        reason = f"; it is not evaluated, because {note.reason}: facts.yaml beside the case can say it"
    return f"- line {mark.line}: {mark.rule}{reason}"


def _seen(finding: Reported) -> str:
    field = f"{finding.path}: " if finding.path else ""
    return f"+ line {finding.position.line}: {finding.rule} ({finding.level}): {field}{finding.message}"


def _update(question: Question) -> tuple[tuple[str, str], ...]:
    """The case's file with marks as things are found; nothing where marks can't be written so that they are read back."""
    bare = unmarked(question.text)
    source = Source(question.case.file, bare)
    try:
        found = list(_chosen(question, _found(source, question).findings))
        text = marked(bare, found)
        after = Source(question.case.file, text)
        same = {(mark.line, mark.rule) for mark in marks(after)} == set(found) and _data(after) == _data(source)
    except (InputError, UsageError):
        return ()
    return ((question.case.file, text),) if same else ()


def _chosen(question: Question, findings: Iterable[Reported]) -> Iterator[tuple[int, str]]:
    """What is to be marked: everything in a refused case, and in an accepted one what its marks named, wherever that is now."""
    named = {mark.rule for mark in marks(Source("", question.text))}
    for finding in findings:
        if question.case.sort != ALLOW or named.intersection((finding.rule, finding.code)):
            yield finding.position.line, finding.rule


def _data(source: Source) -> list[object]:
    return [one.data if isinstance(one, Document) else None for one in read(source)]
