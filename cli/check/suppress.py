"""Comments that ignore a rule at one place: `# dynamo-webhooks: ignore[rule] reason` on the finding's line or the line above it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from cli.check import record
from cli.check.record import Reported, own
from cli.check.result import COMMENT, Suppressed
from cli.yaml.load import Position, Source

# compiled only where a file has such a comment: start-up time counts
_COMMENT: Final = r"#\s*dynamo-webhooks:\s*ignore\[(?P<rules>[^\]]*)\](?P<reason>.*)$"
_MARK: Final = "dynamo-webhooks:"


class _Ignore:
    """One rule named by one comment."""

    __slots__ = ("lines", "position", "reason", "used", "word")

    def __init__(self, word: str, reason: str, position: Position, lines: frozenset[int]) -> None:
        self.word = word
        self.reason = reason
        self.position = position
        self.lines = lines
        self.used = False

    def covers(self, finding: Reported) -> bool:
        """Whether the comment speaks of that finding; a fault of ours can't be ignored."""
        named = self.word in (finding.rule, finding.code)
        return named and finding.position.line in self.lines and finding.level != record.FAULT


def suppress(source: Source, findings: list[Reported]) -> tuple[list[Reported], list[Suppressed]]:
    """Takes out of one source's findings those that a comment with a reason ignores.

    A comment without a reason ignores nothing and is a finding itself, as is one that nothing made necessary.
    """
    if _MARK not in source.text:
        return findings, []
    ignores = list(_ignores(source))
    kept: list[Reported] = []
    suppressed: list[Suppressed] = []
    for finding in findings:
        covering = [ignore for ignore in ignores if ignore.covers(finding)]
        for ignore in covering:
            ignore.used = True
        reason = next((ignore.reason for ignore in covering if ignore.reason), "")
        if reason:
            suppressed.append(Suppressed(finding, COMMENT, reason))
        else:
            kept.append(finding)
    return [*kept, *_complaints(source, ignores)], suppressed


def _ignores(source: Source) -> Iterable[_Ignore]:
    for number, line in enumerate(source.lines, start=1):
        if _MARK not in line or not (comment := re.search(_COMMENT, line)):
            continue
        alone = not line[: comment.start()].strip()
        lines = frozenset((number, number + 1) if alone else (number,))
        position = Position(number, comment.start() + 1, comment.end("rules") + 2)
        for word in comment["rules"].split(",") or [""]:
            yield _Ignore(word.strip(), comment["reason"].strip(), position, lines)


def _complaints(source: Source, ignores: Iterable[_Ignore]) -> Iterable[Reported]:
    for ignore in ignores:
        if not ignore.reason:
            text = f"the comment ignores {ignore.word or 'no rule'} without a reason"
            yield own(record.IGNORE_WITHOUT_REASON, record.ERROR, record.COMMENT, source, ignore.position, None, "", text)
        elif not ignore.used:
            text = f"the comment ignores {ignore.word or 'no rule'}, which finds nothing here"
            yield own(record.UNUSED_IGNORE, record.WARNING, record.COMMENT, source, ignore.position, None, "", text)
