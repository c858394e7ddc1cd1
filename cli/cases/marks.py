"""Marks in case files: `# expect: rule-name, other-rule` on the line of a finding or above it; reading them, and writing them anew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.cli.check.comments import comments
from dynamo_webhooks.cli.yaml.load import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WORD: Final = "expect:"
_MARK: Final = re.compile(r"\s*#\s*expect:(?P<rules>[^#]*)")
_AS: Final = re.compile(r"#\s*as:\s*(?P<user>\S+)")


class Mark(NamedTuple):
    """One expectation: a rule (by name or code) that must find something on a line; `at` is the line that the mark itself stands on."""

    line: int
    rule: str
    at: int


def marks(source: Source) -> list[Mark]:
    """The expectations of a text, in their order; a mark that names no rule has an empty one."""
    found = []
    for comment in comments(source, _WORD):
        for mark in _MARK.finditer(comment.text):
            # a mark above blank lines speaks of the next line that holds something
            line = _filled(source.lines, comment.of)
            found += [Mark(line, word, comment.line) for word in _words(mark["rules"])]
    return found


def user(source: Source) -> str:
    """Who makes the request, as a comment `# as: NAME` of its own says; empty where none does."""
    found = (_AS.fullmatch(comment.text.strip()) for comment in comments(source, "as:"))
    return next((one["user"] for one in found if one), "")


def unmarked(text: str) -> str:
    """The text without its marks; lines that held nothing else are gone."""
    lines = text.split("\n")
    for comment in sorted(comments(Source("", text), _WORD), reverse=True):
        if not _MARK.search(comment.text):
            continue
        line = lines[comment.line - 1]
        kept = line[: comment.column - 1] + _MARK.sub("", comment.text)
        lines[comment.line - 1 : comment.line] = [kept.rstrip() + "\r" * line.endswith("\r")] if kept.strip() else []
    return "\n".join(lines)


def marked(text: str, expected: Iterable[tuple[int, str]]) -> str:
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


def _words(text: str) -> Iterator[str]:
    for word in text.split(","):
        yield word.strip().split(" ")[0]


def _filled(lines: list[str], number: int) -> int:
    return next((at for at in range(number, len(lines) + 1) if lines[at - 1].strip()), number)
