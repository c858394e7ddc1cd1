"""Marks in case files: `# expect: rule-name, other-rule` on the line of a finding or above it; reading them, and writing them anew."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ...yaml.comments import comments
from ...yaml.load import Source

_WORD: Final = "expect:"
_MARK: Final = re.compile(r"\s*#\s*expect:(?P<rules>[^#]*)")
_AS: Final = re.compile(r"#\s*as:\s*(?P<user>\S+)")


class Mark(NamedTuple):
    """One expectation: a rule (by name or code) with a finding on a line; `at` is the line of the mark itself."""

    line: int
    rule: str
    at: int


def marks(source: Source) -> list[Mark]:
    """The expectations of a text, in their order; a mark that names no rule has an empty one."""
    found = []
    for comment in comments(source, _WORD):
        for mark in _MARK.finditer(comment.text):
            # a mark above blank lines speaks of the next line that holds something
            below = (at for at in range(comment.of, len(source.lines) + 1) if source.lines[at - 1].strip())
            line = next(below, comment.of)
            found += [Mark(line, word, comment.line) for word in _words(mark["rules"])]
    return found


def user(source: Source) -> str:
    """Who makes the request, as a comment `# as: NAME` of its own says; empty where none does."""
    found = (_AS.fullmatch(comment.text.strip()) for comment in comments(source, "as:"))
    return next((one["user"] for one in found if one), "")


def remove_marks(text: str) -> str:
    """The text without its marks; lines that held nothing else are gone."""
    lines = text.split("\n")
    for comment in sorted(comments(Source("", text), _WORD), reverse=True):
        if not _MARK.search(comment.text):
            continue
        line = lines[comment.line - 1]
        kept = line[: comment.column - 1] + _MARK.sub("", comment.text)
        lines[comment.line - 1 : comment.line] = [kept.rstrip() + "\r" * line.endswith("\r")] if kept.strip() else []
    return "\n".join(lines)


def add_marks(text: str, expected: Iterable[tuple[int, str]]) -> str:
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
