"""The report as workflow commands of GitHub Actions, which shows them beside the lines of a pull request.

GitHub shows at most ten annotations of a level for a step, and does not mention the others, which are only in the step's log.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from .....api.wording import escape_unprintable, escape_unprintable_lines
from ....console.escaping import escape_commands
from ....validation.finding import LocatedFinding
from ....validation.levels import ERROR, WARNING
from ..result import CheckResult
from .shared import find_report_root, format_reason, group_notes, make_relative

MAX_ANNOTATIONS: Final = 10  # of one level for one step
_NOTICE: Final = "notice"  # beside the levels error and warning
# GitHub's own escapes; a message may hold what would end a property
_IN_MESSAGE: Final = str.maketrans({"%": "%25", "\n": "%0A"})
_IN_PROPERTY: Final = str.maketrans({"%": "%25", ":": "%3A", ",": "%2C"})


def format_commands(result: CheckResult, folder: str = "") -> str:
    """One command a line; `folder` is where file names are relative to, by default `find_report_root`."""
    return "".join(f"{line}\n" for line in _lines(result, folder or find_report_root()))


def describe_hidden(result: CheckResult) -> list[str]:
    """Describe the annotations that GitHub won't show."""
    counts = Counter(_level(finding) for finding in result.findings)
    counts[ERROR] += len(result.unreadable) + len(result.unreachable)
    counts[_NOTICE] += sum(1 for _ in group_notes(result.not_evaluated))
    return [
        f"GitHub shows {MAX_ANNOTATIONS} of the {counts[level]} annotations with level {level}; "
        "the others are in the log of this step alone"
        for level in (ERROR, WARNING, _NOTICE)
        if counts[level] > MAX_ANNOTATIONS
    ]


def _lines(result: CheckResult, here: str) -> Iterator[str]:
    for finding in result.findings:
        line, column, end = finding.position
        where = {
            "file": make_relative(finding.source.name, here),
            "line": str(line),
            "col": str(column),
            "endColumn": str(max(end, column)),
        }
        texts = (str(finding.identity or ""), finding.about, f"fix: {finding.fix}" if finding.fix else "")
        title = f"{finding.rule} ({finding.code})"
        yield _command(_level(finding), {**where, "title": title}, "\n".join(filter(None, texts)))
    for error in result.unreadable:
        where = {"file": make_relative(error.name, here)} if error.name else {}
        if error.line:
            where |= {"line": str(error.line), "col": str(max(error.column, 1))}
        yield _command(ERROR, {**where, "title": "unreadable"}, error.text)
    for sentence in result.unreachable:
        yield _command(ERROR, {"title": "unreachable"}, sentence)
    for note in group_notes(result.not_evaluated):
        where = {"file": make_relative(note.first.source.name, here), "line": str(note.first.line), "title": f"not evaluated: {note.name}"}
        yield _command(_NOTICE, where, f"{format_reason(note.first)}\n{note.location}")


def _level(finding: LocatedFinding) -> str:
    return WARNING if finding.level == WARNING else ERROR


def _command(level: str, properties: dict[str, str], message: str) -> str:
    pairs = ",".join(f"{name}={escape_unprintable(value).translate(_IN_PROPERTY)}" for name, value in properties.items())
    return f"::{level}" + escape_commands(f" {pairs}::{escape_unprintable_lines(message).translate(_IN_MESSAGE)}")
