"""Finds case files in folders, and what belongs to each: stored objects, expected results, facts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from ....policies.facts import UNKNOWN, Facts, facts_from
from ...console.exits import UsageError
from ...facts.load import load_values
from ...files.find import SUFFIXES, find_files
from ...objects.manifest import Manifest, find_manifests
from ...yaml.load import InputError, load_documents

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
    """One case: its file, its kind, and the files beside it; None if it is no case."""

    file: str
    sort: str  # allow, deny, default or convert
    old: str | None
    expected: str | None
    facts: tuple[str, ...]  # from the folder's own to the case's own: the later one wins

    @property
    def expected_path(self) -> str:
        """The file of the expected result, which may not exist yet."""
        path = Path(self.file)
        return self.expected or str(path.with_name(f"{path.stem}.{EXPECTED}{path.suffix}"))


class CaseFolder(NamedTuple):
    """The cases of a folder in the order of their files, sentences about files that are none, and what can't be read."""

    cases: list[Case]
    strangers: list[str]
    unreadable: list[InputError]


def load_cases(folder: str, chosen: str) -> CaseFolder:
    """Finds the cases of a folder and of those below it; with a word, those whose file name holds it.

    Raises: UsageError when there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"{folder}: must be a folder of case files")
    paths = find_files([folder])
    files = {file for file in paths if isinstance(file, str)}
    cases = [_case(root, file, files) for file in sorted(files) if _sort(file) and Path(file).stem.rpartition(".")[2] not in _BESIDE]
    owned = {beside for case in cases for beside in (case.old, case.expected, *case.facts) if beside}
    every = {case.file for case in cases} | owned
    strangers = [f"{file}: {_stranger(file)}" for file in sorted(files - every) if Path(file).stem != FACTS]
    unreadable = [path for path in paths if isinstance(path, InputError) and path.name != folder]  # an empty folder is no error
    return CaseFolder([case for case in cases if chosen in Path(case.file).relative_to(root).as_posix()], strangers, unreadable)


def read_case_facts(case: Case, base: Facts) -> Facts:
    """The facts of a case: those of the command line, over them those of the folders from the outermost, over them its own.

    Raises: UsageError that names the file and the key.
    """
    values: dict[str, Any] = {}
    for file in case.facts:
        try:
            values |= load_values(file)
        except UsageError as error:
            raise UsageError(str(error).removeprefix("--facts ")) from None
    facts = facts_from(values)
    return base._replace(**{name: value for name, value in facts._asdict().items() if value is not UNKNOWN})


def _case(root: Path, file: str, files: Iterable[str]) -> Case:
    path = Path(file)
    named = {part: [str(path.with_name(f"{path.stem}.{part}{suffix}")) for suffix in SUFFIXES] for part in _BESIDE}
    beside = {part: next((name for name in names if name in files), None) for part, names in named.items()}
    folders = [folder for folder in (*reversed(path.parents), path.parent) if folder == root or root in folder.parents]
    shared = [name for folder in dict.fromkeys(folders) for suffix in SUFFIXES if (name := str(folder / f"{FACTS}{suffix}")) in files]
    own = [beside[FACTS]] if beside[FACTS] else []
    return Case(file, _sort(file), beside[OLD], beside[EXPECTED], (*shared, *own))


def _sort(file: str) -> str:
    word = Path(file).name.partition(".")[0]
    return word if word in SORTS else ""


def _stranger(file: str) -> str:
    if _sort(file):
        return "belongs to no case; a case can't be called old, expected or facts"
    return "is not a test case file; names begin with allow., deny., default. or convert."


def load_case_objects(name: str, text: str) -> list[Manifest]:
    """The Dynamo objects, in order. Raises: InputError for the first part that can't be read, UsageError if there is none."""
    manifests = list(find_manifests(load_documents(text, name)))
    if not manifests:
        raise UsageError(f"{name} holds no Dynamo object (group nvidia.com)")
    return manifests
