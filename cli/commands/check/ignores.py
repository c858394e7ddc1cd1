"""`check --add-ignores`: writes a comment above the line of each finding that counts, so that it no longer does, with one reason for all.

A comment that gives no reason yet gets this one. The rest of a file stays byte for byte; a second run changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from ....policies.checks import IGNORE_WITHOUT_REASON, UNUSED_IGNORE
from ...console.exits import OK, REFUSED, UsageError
from ...console.output import write_stderr
from ...validation.finding import LocatedFinding
from ...validation.levels import FAULT
from ...yaml.comments import find_lines_inside_texts
from ...yaml.load import Document, Source, read_text
from .fix import Mended
from .suppress import MARK, SCHEMA_NAMES, find_reasonless

_COMMENT_RULES: Final = (IGNORE_WITHOUT_REASON.name, UNUSED_IGNORE.name)


def read_reason(text: str) -> str:
    """The reason to write. Raises: UsageError for one that no comment can hold."""
    reason = text.strip()
    if not reason or not reason.isprintable():
        raise UsageError("--add-ignores must be followed by a reason on one line, such as 'the gateway sets it'")
    return reason


def ignore_findings(findings: Iterable[LocatedFinding], reason: str) -> tuple[list[Mended], int]:
    """The files with comments in them, in order, and the exit code: a line that can't have one is reported, and kept."""
    by_file: dict[str, tuple[Source, list[LocatedFinding]]] = {}
    for finding in findings:
        if finding.level != FAULT:
            by_file.setdefault(finding.source.name, (finding.source, []))[1].append(finding)
    done, code = [], OK
    for name, (source, found) in sorted(by_file.items()):
        if Path(name).is_symlink():
            write_stderr(f"{name} is left as it is: it is a link; name its target if that is to be written")
            code = REFUSED
            continue
        if source.text.lstrip()[:1] in ("{", "["):
            write_stderr(f"{name} is left as it is: JSON has no comments; accept its findings by --baseline")
            code = REFUSED
            continue
        text, count, refused = _with_comments(source, found, reason)
        for line in refused:
            write_stderr(f"{name}:{line}: no comment can be written above the line, which is inside a text; accept it by --baseline")
            code = REFUSED
        if count:
            done.append(Mended(source, text, count))
    return done, code


def _with_comments(source: Source, findings: list[LocatedFinding], reason: str) -> tuple[str, int, list[int]]:
    """The text with the comments, how many there are, and the lines that can't have one."""
    complained = {one.position.line for one in findings if one.rule == IGNORE_WITHOUT_REASON.name}
    incomplete = [(comment, words) for comment, words in find_reasonless(source) if comment.line in complained]
    covered = {(line, word) for comment, words in incomplete for line in (comment.line, comment.of) for word in words}
    said = {(one.identity, one.path, one.position) for one in findings if one.rule not in SCHEMA_NAMES}
    wanted: dict[int, set[str]] = {}
    for one in findings:
        line = one.position.line
        silenced = one.rule in SCHEMA_NAMES and (one.identity, one.path, one.position) in said
        if one.rule not in _COMMENT_RULES and not silenced and not covered & {(line, one.rule), (line, one.code)}:
            wanted.setdefault(line, set()).add(one.rule)
    edits = {source.starts[comment.line - 1] + len(source.lines[comment.line - 1].rstrip()): f" {reason}" for comment, _ in incomplete}
    return write_comments(source, wanted, edits, reason)


def write_comments(source: Source, wanted: dict[int, set[str]], edits: dict[int, str], reason: str) -> tuple[str, int, list[int]]:
    """The text with a comment above each line that names its rules, beside other edits; how many, and the lines that can't have one."""
    refused = find_lines_inside_texts(source, wanted)
    end = "\r\n" if "\r\n" in source.text else "\n"
    for line in wanted.keys() - refused:
        text = source.lines[line - 1]
        indent = text[: len(text) - len(text.lstrip())]
        edits[source.starts[line - 1]] = f"{indent}# {MARK} ignore[{', '.join(sorted(wanted[line]))}] {reason}{end}"
    text = _inserted(source.text, edits)
    if _data(source) != _data(Source(source.name, text, source.fill)):
        return source.text, 0, sorted(wanted)
    return text, len(edits), sorted(refused)


def _inserted(text: str, edits: dict[int, str]) -> str:
    parts, cursor = [], 0
    for at, new in sorted(edits.items()):
        parts += [text[cursor:at], new]
        cursor = at
    return "".join([*parts, text[cursor:]])


def _data(source: Source) -> list[Any]:
    return [one.data if isinstance(one, Document) else None for one in read_text(source)]
