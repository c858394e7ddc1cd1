"""Answers about comments that ignore a rule: the page of the rule that one names, and the edit that writes one. Contains no protocol."""

import re

from ...rewrite.unified_diff import find_changes
from ...yaml.comments import comments
from ...yaml.load import Source
from ..check.fix import write_comments
from ..check.suppress import IGNORE, MARK
from ..explain import rule
from .answers import Action


def find_named_rule(name: str, text: str, line: int, column: int) -> str:
    """The page of the rule whose name or code in a comment is at a place, as Markdown; empty where there is none."""
    source = Source(name, text)
    if not source.holds(MARK):
        return ""
    for comment in comments(source, MARK):
        found = re.search(IGNORE, comment.text) if comment.line == line else None
        for word in re.finditer(r"[^\s,]+", found["rules"]) if found else ():
            start = comment.column + found.start("rules") + word.start() if found else 0
            page = rule.find(word[0]) if start <= column <= start + len(word[0]) else None
            if page is not None:
                return rule.markdown(page, examples=True)
    return ""


def ignore(name: str, text: str, rule_name: str, line: int) -> Action | None:
    """The edit that ignores a rule on a line, by a comment whose reason the author must write. None where no comment is possible."""
    source = Source(name, text)
    if text.lstrip()[:1] in ("{", "[") or not 0 < line <= len(source.lines) or rule.find(rule_name) is None:
        return None
    changed, count, _ = write_comments(source, {line: {rule_name}}, {}, "")
    return Action(f"Ignore {rule_name} here, with a reason", changed) if count and any(find_changes(text, changed)) else None
