"""Comments that ignore a rule at one place: `# dynamo-webhooks: ignore[rule] reason` on the finding's line or above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ....api.line import DEFAULT_LINE, Line
from ....policies.checks import CEL_RULE, CHECKS, DUPLICATE, IGNORE_WITHOUT_REASON, SCHEMA_RULE, UNKNOWN_FIELD, UNUSED_IGNORE
from ....policies.review import CREATE, DELETE, UPDATE
from ...console.nearest import did_you_mean
from ...validation import levels
from ...validation.finding import LocatedFinding, NotEvaluated, report_own
from ...validation.levels import ERROR, FAULT, POLICIES, WARNING
from ...yaml.load import Position, Source
from .result import COMMENT, SuppressedFinding

if TYPE_CHECKING:
    from ....policies.rule import Rule
    from ...yaml.comments import Comment

MARK: Final = "dynamo-webhooks:"
# compiled only where a file has such a comment: start-up time counts
IGNORE: Final = r"#\s*dynamo-webhooks:\s*ignore\[(?P<rules>[^\]]*)\](?P<reason>.*)$"
_MEANT: Final = r"#\s*dynamo-webhooks:\s*ignore\b"
_RATCHETING: Final = (SCHEMA_RULE, CEL_RULE)
_SCHEMA_RULES: Final = (*_RATCHETING, UNKNOWN_FIELD)
_SCHEMA_NAMES: Final = tuple(rule.name for rule in _RATCHETING)


class RuleCoverage(NamedTuple):
    """The rules and operations of a run, so that only a comment on a rule that could have reported something is called needless."""

    notes: tuple[NotEvaluated, ...] = ()  # what of them couldn't be evaluated
    operations: frozenset[str] = frozenset((CREATE,))  # on them
    line: Line = DEFAULT_LINE
    schema: bool = True  # whether the schema was held against them


_CREATED: Final = RuleCoverage()


class _Ignore(NamedTuple):
    """One rule named by one comment."""

    word: str
    reason: str
    comment: Comment
    width: int  # of the comment up to its bracket

    def covers(self, finding: LocatedFinding) -> bool:
        """Whether the comment names the rule of a finding on its lines; internal errors can't be ignored."""
        return self.word in (finding.rule, finding.code) and finding.level != FAULT


def suppress(
    source: Source, findings: list[LocatedFinding], coverage: RuleCoverage = _CREATED
) -> tuple[list[LocatedFinding], list[SuppressedFinding]]:
    """Takes out of one source's findings those that a comment with a reason ignores.

    What the schema finds at the very value goes with them: it is the same mistake. A comment without a reason ignores nothing and is a
    finding itself, as is one that nothing made necessary or that names no rule.
    """
    comments = _comments(source)
    if not comments:
        return findings, []
    ignores = [ignore for comment in comments for ignore in _ignores(comment)]
    speaking = _speaking(source)
    kept: list[LocatedFinding] = []
    suppressed: list[SuppressedFinding] = []
    used: set[_Ignore] = set()
    reasons: dict[tuple[object, ...], str] = {}  # of values that a rule is ignored at: the schema may say the same of them
    for finding in sorted(findings, key=lambda finding: finding.rule in _SCHEMA_NAMES):
        covering = [ignore for ignore in speaking.get(finding.position.line, ()) if ignore.covers(finding)]
        used.update(covering)
        reason = next((ignore.reason for ignore in covering if ignore.reason), "")
        place = finding.identity, finding.path, finding.position
        if finding.rule in _SCHEMA_NAMES and not reason:
            reason = reasons.get(place, "")
        if reason:
            reasons.setdefault(place, reason)
            suppressed.append(SuppressedFinding(finding, COMMENT, reason))
        else:
            kept.append(finding)
    return [*kept, *_misspelt(source, comments), *_wrong(source, ignores, used, coverage)], suppressed


def find_reason(finding: LocatedFinding) -> str:
    """The reason of a comment that ignores a finding made after its file was done; empty without one."""
    return next(
        (ignore.reason for ignore in _speaking(finding.source).get(finding.position.line, ()) if ignore.covers(finding) and ignore.reason),
        "",
    )


def _comments(source: Source) -> list[Comment]:
    """The comments that may ignore something."""
    if not source.holds(MARK):
        return []
    from ...yaml.comments import comments

    return comments(source, MARK)


@lru_cache(maxsize=1)  # findings come file by file
def _speaking(source: Source) -> dict[int, list[_Ignore]]:
    """Ignore comments by line: a generated file may hold thousands of comments and findings, too many to compare each with each."""
    by_line: dict[int, list[_Ignore]] = {}
    for ignore in (ignore for comment in _comments(source) for ignore in _ignores(comment)):
        for line in {ignore.comment.line, ignore.comment.of}:
            by_line.setdefault(line, []).append(ignore)
    return by_line


def _ignores(comment: Comment) -> Iterator[_Ignore]:
    if match := re.search(IGNORE, comment.text):
        for word in match["rules"].split(","):
            yield _Ignore(word.strip(), match["reason"].strip(), comment, match.end("rules") + 1)


def _misspelt(source: Source, comments: list[Comment]) -> Iterator[LocatedFinding]:
    for comment in comments:
        if re.search(_MEANT, comment.text, re.IGNORECASE) and not re.search(IGNORE, comment.text):
            text = "the comment ignores nothing: it must read # dynamo-webhooks: ignore[rule] reason"
            yield _complaint(source, UNUSED_IGNORE, WARNING, comment, len(comment.text), text)


def _wrong(source: Source, ignores: list[_Ignore], used: set[_Ignore], coverage: RuleCoverage) -> Iterator[LocatedFinding]:
    for ignore in ignores:
        place = ignore.comment, ignore.width
        if ignore not in used and (mistake := explain_unknown_word(ignore.word)):
            yield _complaint(source, UNUSED_IGNORE, WARNING, *place, f"the comment ignores {mistake}")
        elif not ignore.reason:
            yield _complaint(source, IGNORE_WITHOUT_REASON, ERROR, *place, f"the comment ignores {ignore.word} without a reason")
        elif ignore not in used and could_report(ignore.word, coverage):
            yield _complaint(source, UNUSED_IGNORE, WARNING, *place, f"the comment ignores {ignore.word}, which finds nothing here")


def explain_unknown_word(word: str) -> str:
    """Explain why a word is no rule's name or code; empty if it is one."""
    from ....policies.catalogue import list_all

    return _explain_unknown(word, list_all())


@lru_cache  # a file may repeat a mistake a thousand times, and the nearest word is slow to find
def _explain_unknown(word: str, rules: tuple[Rule, ...]) -> str:
    known = [word for rule in rules for word in (rule.name, rule.code)]
    if word in known:
        return ""
    return f"{word}, which is no rule{did_you_mean(word, known)}" if word else "no rule: name one in the brackets"


def could_report(word: str, coverage: RuleCoverage) -> bool:
    """Whether the rule would have found something if it were there: not when it was left out, or for want of a fact or an old object."""
    if any(note.rule == POLICIES or word in (note.rule, note.code) for note in coverage.notes):
        return False
    own_rule = next((rule for rule in CHECKS if word in (rule.name, rule.code)), None)
    if own_rule is None:
        from ....policies.catalogue import list_rules, list_user_rules

        rule = next((rule for rule in (*list_rules(coverage.line), *list_user_rules()) if word in (rule.name, rule.code)), None)
        # an update does not report old violations again
        return rule is not None and coverage.operations <= rule.on and not (rule.ratchets and UPDATE in coverage.operations)
    # only a run with the other file can decide on duplicates
    if own_rule is DUPLICATE or DELETE in coverage.operations or (own_rule in _SCHEMA_RULES and not coverage.schema):
        return False
    # what an update leaves alone, an API server doesn't hold against the schema again
    return not (own_rule in _RATCHETING and UPDATE in coverage.operations)


def _complaint(source: Source, rule: Rule, level: str, comment: Comment, width: int, text: str) -> LocatedFinding:
    position = Position(comment.line, comment.column, comment.column + width)
    return report_own(rule, level, levels.COMMENT, source, position, None, "", text)
