"""Comments that ignore a rule at one place: `# dynamo-webhooks: ignore[rule] reason` on the finding's line or above it.

Several comment lines may stand above one line. Where comments are in a text is found in comments.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.line import USUAL, Line
from dynamo_webhooks.cli.check import record
from dynamo_webhooks.cli.check.record import NotEvaluated, Reported, own
from dynamo_webhooks.cli.check.result import COMMENT, Suppressed
from dynamo_webhooks.cli.yaml.load import Position, Source
from dynamo_webhooks.policies.review import CREATE, CURRENT, DELETE, UPDATE

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.comments import Comment
    from dynamo_webhooks.cli.check.record import OwnRule

_MARK: Final = "dynamo-webhooks:"
# compiled only where a file has such a comment: start-up time counts
_IGNORE: Final = r"#\s*dynamo-webhooks:\s*ignore\[(?P<rules>[^\]]*)\](?P<reason>.*)$"
_MEANT: Final = r"#\s*dynamo-webhooks:\s*ignore\b"
_RATCHETING: Final = (record.SCHEMA_RULE, record.CEL_RULE)
_SCHEMA_RULES: Final = (*_RATCHETING, record.UNKNOWN_FIELD)
_SCHEMA_NAMES: Final = tuple(rule.name for rule in _RATCHETING)


class Heard(NamedTuple):
    """What objects were asked, so that only what silences a rule that could have spoken is called needless."""

    notes: tuple[NotEvaluated, ...] = ()  # what of them could not be judged
    operations: frozenset[str] = frozenset((CREATE,))  # on them
    profile: str = CURRENT
    line: Line = USUAL
    schema: bool = True  # whether the schema was held against them


_CREATED: Final = Heard()


class _Ignore:
    """One rule named by one comment."""

    __slots__ = ("comment", "reason", "used", "width", "word")

    def __init__(self, word: str, reason: str, comment: Comment, width: int) -> None:
        self.word = word
        self.reason = reason
        self.comment = comment
        self.width = width  # of the comment up to its bracket
        self.used = False

    def covers(self, finding: Reported) -> bool:
        """Whether the comment names the rule of a finding on its lines; a fault of ours can't be ignored."""
        return self.word in (finding.rule, finding.code) and finding.level != record.FAULT


def suppress(source: Source, findings: list[Reported], heard: Heard = _CREATED) -> tuple[list[Reported], list[Suppressed]]:
    """Takes out of one source's findings those that a comment with a reason ignores.

    What the schema finds at the very value goes with them: it is the same mistake. A comment without a reason ignores nothing and is a
    finding itself, as is one that nothing made necessary or that names no rule.
    """
    if not source.holds(_MARK):
        return findings, []
    from dynamo_webhooks.cli.check.comments import comments

    found = comments(source, _MARK)
    ignores = [ignore for comment in found for ignore in _ignores(comment)]
    speaking = _by_line(ignores)
    kept: list[Reported] = []
    suppressed: list[Suppressed] = []
    reasons: dict[tuple[object, ...], str] = {}  # of values that a rule is ignored at: the schema may say the same of them
    for finding in sorted(findings, key=lambda one: one.rule in _SCHEMA_NAMES):
        covering = [ignore for ignore in speaking.get(finding.position.line, ()) if ignore.covers(finding)]
        for ignore in covering:
            ignore.used = True
        reason = next((ignore.reason for ignore in covering if ignore.reason), "")
        place = finding.identity, finding.path, finding.position
        if finding.rule in _SCHEMA_NAMES and not reason:
            reason = reasons.get(place, "")
        if reason:
            reasons.setdefault(place, reason)
            suppressed.append(Suppressed(finding, COMMENT, reason))
        else:
            kept.append(finding)
    kept += (_complaint(source, *said) for comment in found if (said := _misspelt(comment)))
    kept += (_complaint(source, *said) for ignore in ignores if (said := _wrong(ignore, heard)))
    return kept, suppressed


def reason_for(finding: Reported) -> str:
    """The reason of a comment that ignores a finding made after its file was done; empty without one."""
    if not finding.source.holds(_MARK):
        return ""
    return next((one.reason for one in _speaking(finding.source).get(finding.position.line, ()) if one.covers(finding) and one.reason), "")


@lru_cache(maxsize=1)  # findings come file by file
def _speaking(source: Source) -> dict[int, list[_Ignore]]:
    from dynamo_webhooks.cli.check.comments import comments

    return _by_line([ignore for comment in comments(source, _MARK) for ignore in _ignores(comment)])


def _by_line(ignores: list[_Ignore]) -> dict[int, list[_Ignore]]:
    """What speaks of each line: a generated file may hold thousands of comments and findings, too many to compare each with each."""
    found: dict[int, list[_Ignore]] = {}
    for ignore in ignores:
        for line in {ignore.comment.line, ignore.comment.of}:
            found.setdefault(line, []).append(ignore)
    return found


def _ignores(comment: Comment) -> Iterator[_Ignore]:
    if found := re.search(_IGNORE, comment.text):
        for word in found["rules"].split(","):
            yield _Ignore(word.strip(), found["reason"].strip(), comment, found.end("rules") + 1)


_Said = tuple["OwnRule", str, "Comment", int, str]  # rule, level, place and width, sentence


def _misspelt(comment: Comment) -> _Said | None:
    if not re.search(_MEANT, comment.text, re.IGNORECASE) or re.search(_IGNORE, comment.text):
        return None
    text = "the comment ignores nothing: it must read # dynamo-webhooks: ignore[rule] reason"
    return record.UNUSED_IGNORE, record.WARNING, comment, len(comment.text), text


def _wrong(ignore: _Ignore, heard: Heard) -> _Said | None:
    place = ignore.comment, ignore.width
    if not ignore.used and (mistake := unknown(ignore.word)):
        return record.UNUSED_IGNORE, record.WARNING, *place, f"the comment ignores {mistake}"
    if not ignore.reason:
        return record.IGNORE_WITHOUT_REASON, record.ERROR, *place, f"the comment ignores {ignore.word} without a reason"
    if not ignore.used and could_speak(ignore.word, heard):
        return record.UNUSED_IGNORE, record.WARNING, *place, f"the comment ignores {ignore.word}, which finds nothing here"
    return None


@lru_cache  # the same mistake may stand a thousand times in a file, and what is nearest to it takes long to find
def unknown(word: str) -> str:
    """What is wrong with a word that is no rule's name or code; empty where it is one."""
    from dynamo_webhooks.cli.nearest import hint
    from dynamo_webhooks.policies.catalogue import declared

    pairs = [*((rule.name, rule.code) for rule in declared()), *((rule.name, rule.code) for rule in record.OWN_RULES)]
    known = [one for pair in pairs for one in pair]
    if word in known:
        return ""
    return f"{word}, which is no rule{hint(word, known)}" if word else "no rule: name one in the brackets"


def could_speak(word: str, heard: Heard) -> bool:
    """Whether the rule would have found something if it were there: not when it was left out, or for want of a fact or an old object."""
    if any(note.rule == record.POLICIES or word in (note.rule, note.code) for note in heard.notes):
        return False
    own_rule = next((rule for rule in record.OWN_RULES if word in (rule.name, rule.code)), None)
    return _policy_could_speak(word, heard) if own_rule is None else _own_could_speak(own_rule, heard)


def _own_could_speak(rule: OwnRule, heard: Heard) -> bool:
    if rule is record.DUPLICATE:  # only a run with the other file tells
        return False
    if DELETE in heard.operations or (rule in _SCHEMA_RULES and not heard.schema):
        return False
    # what an update leaves alone, an API server doesn't hold against the schema again
    return not (rule in _RATCHETING and UPDATE in heard.operations)


def _policy_could_speak(word: str, heard: Heard) -> bool:
    from dynamo_webhooks.policies.catalogue import rules

    rule = next((rule for rule in rules(heard.profile, heard.line) if word in (rule.name, rule.code)), None)
    if rule is None or not heard.operations <= rule.on:
        return False
    return not (rule.ratchets and UPDATE in heard.operations)  # an old violation that an update leaves alone is not told again


def _complaint(source: Source, rule: OwnRule, level: str, comment: Comment, width: int, text: str) -> Reported:
    position = Position(comment.line, comment.column, comment.column + width)
    return own(rule, level, record.COMMENT, source, position, None, "", text)
