"""Finds case files in folders, and what belongs to each: stored objects, expected results, facts. What they are held to lives elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamo_webhooks.cli.check.sources import SUFFIXES, find
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.facts.load import load_values
from dynamo_webhooks.cli.yaml.load import InputError
from dynamo_webhooks.policies.facts import UNKNOWN, facts_from

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.policies.facts import Facts

ALLOW: Final = "allow"
DENY: Final = "deny"
DEFAULT: Final = "default"
CONVERT: Final = "convert"
SORTS: Final = (ALLOW, DENY, DEFAULT, CONVERT)
OLD: Final = "old"
EXPECTED: Final = "expected"
FACTS: Final = "facts"
_BESIDE: Final = (OLD, EXPECTED, FACTS)


class Case(NamedTuple):
    """One case: its file, what it is about, and the files beside it; None where there is none."""

    file: str
    sort: str  # allow, deny, default or convert
    old: str | None
    expected: str | None
    facts: tuple[str, ...]  # from the folder's own to the case's own: the later one wins

    @property
    def place_of_expected(self) -> str:
        """Where the expected result stands, or is to stand."""
        path = Path(self.file)
        return self.expected or str(path.with_name(f"{path.stem}.{EXPECTED}{path.suffix}"))


class Folder(NamedTuple):
    """The cases of a folder in the order of their files, sentences about files that are none, and what can't be read."""

    cases: list[Case]
    strangers: list[str]
    unreadable: list[InputError]


def load_cases(folder: str, chosen: str) -> Folder:
    """Finds the cases of a folder and of those below it; with a word, those whose file name holds it.

    Raises: UsageError when there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"{folder}: must be a folder of case files")
    found = find([folder])
    files = {file for file in found if isinstance(file, str)}
    cases = [_case(root, file, files) for file in sorted(files) if _sort(file) and not _part(file)]
    owned = {beside for case in cases for beside in (case.old, case.expected, *case.facts) if beside}
    every = {case.file for case in cases} | owned
    strangers = [f"{file}: {_stranger(file)}" for file in sorted(files - every) if Path(file).stem != FACTS]
    unreadable = [one for one in found if isinstance(one, InputError) and one.name != folder]  # an empty folder is no error
    return Folder([case for case in cases if chosen in Path(case.file).relative_to(root).as_posix()], strangers, unreadable)


def facts_of(case: Case, base: Facts) -> Facts:
    """The facts of a case: those of the command line, over them those of the folders from the outermost, over them its own.

    Raises: UsageError that names the file and the key.
    """
    values: dict[str, Any] = {}
    for file in case.facts:
        try:
            values |= load_values(file)
        except UsageError as error:
            raise UsageError(str(error).removeprefix("--facts ")) from None
    said = facts_from(values)
    return base._replace(**{name: value for name, value in said._asdict().items() if value is not UNKNOWN})


def _case(root: Path, file: str, files: Iterable[str]) -> Case:
    path = Path(file)
    beside = {part: next((name for suffix in SUFFIXES if (name := _named(path, part, suffix)) in files), None) for part in _BESIDE}
    folders = [folder for folder in (*reversed(path.parents), path.parent) if folder == root or root in folder.parents]
    shared = [name for folder in dict.fromkeys(folders) for suffix in SUFFIXES if (name := str(folder / f"{FACTS}{suffix}")) in files]
    own = [beside[FACTS]] if beside[FACTS] else []
    return Case(file, _sort(file), beside[OLD], beside[EXPECTED], (*shared, *own))


def _named(path: Path, part: str, suffix: str) -> str:
    return str(path.with_name(f"{path.stem}.{part}{suffix}"))


def _sort(file: str) -> str:
    word = Path(file).name.partition(".")[0]
    return word if word in SORTS else ""


def _stranger(file: str) -> str:
    if _sort(file):
        return "belongs to no case; a case can't be called old, expected or facts"
    return "is not a test case file; names begin with allow., deny., default. or convert."


def _part(file: str) -> str:
    """Which part of a case a file is by its name; empty for the case itself."""
    last = Path(file).stem.rpartition(".")[2]
    return last if last in _BESIDE else ""
