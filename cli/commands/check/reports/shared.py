"""Parts that several reports share: names of files, counts, and unevaluated rules, one entry a rule and reason."""

import os
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote

from .....api.wording import count_of
from ....files.read import STDIN
from ....validation.finding import LocatedFinding, NotEvaluated
from ....validation.levels import ERROR, FAULT, WARNING

LEVELS: Final = (ERROR, WARNING, FAULT)


def count_levels(findings: Iterable[LocatedFinding]) -> str:
    """Count the findings of each level."""
    counts = Counter(finding.level for finding in findings)
    return ", ".join(count_of(counts[level], level) for level in LEVELS if counts[level])


def find_report_root() -> str:
    """The folder that names are relative to: the current one, or that of the checkout where a job of GitHub or GitLab runs below it.

    Both look reports up from the checkout's folder, whatever the working directory.
    """
    here = os.getcwd()  # noqa: PTH109 - pathlib isn't imported here
    checkout = os.path.realpath(os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or here)
    return checkout if here.startswith(f"{checkout.rstrip('/')}/") else here


def make_uri(name: str, folder: str) -> str:
    """The URI reference of a source by its name; an absolute name outside of `folder` (an absolute path) keeps its whole path.

    Bytes that are special in a URI, or not text, are written as %XX.
    """
    path = make_relative(name, folder)
    return ("file://" if path.startswith("/") else "") + quote(os.fsencode(path))


def make_relative(name: str, folder: str) -> str:
    """The normalised name, relative to `folder` if it is inside."""
    if name == STDIN:
        return name
    path = posixpath.normpath(name)
    if not path.startswith("/") and (here := os.getcwd()) != folder and os.path.lexists(path):  # noqa: PTH109 - as above
        path = posixpath.join(here, path)
    below = folder.rstrip("/") + "/"
    return path[len(below) :] if path.startswith(below) else path


class NoteGroup(NamedTuple):
    """All notes of one rule and reason: the first one, and how many there are."""

    first: NotEvaluated
    size: int

    @property
    def name(self) -> str:
        """The rule with its code."""
        return f"{self.first.rule} ({self.first.code})" if self.first.code else self.first.rule

    @property
    def location(self) -> str:
        """The first object with its place, and how many others."""
        first, others = self.first, self.size - 1
        more = f" and {count_of(others, 'more object')}" if others else ""
        return f"{first.identity} ({first.source.name}:{first.line}){more}"

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return f"{self.name}: {format_reason(self.first)}; {self.location}"


def format_reason(note: NotEvaluated) -> str:
    """The reason, and the flag that helps."""
    return f"{note.reason}; supply it with {note.flag}" if note.flag else note.reason


def group_notes(notes: Iterable[NotEvaluated]) -> Iterator[NoteGroup]:
    """The groups in the order of their first notes."""
    groups: dict[tuple[str, str, str, str], list[NotEvaluated]] = {}
    for note in notes:
        groups.setdefault((note.rule, note.code, note.reason, note.flag), []).append(note)
    for group in groups.values():
        yield NoteGroup(group[0], len(group))
