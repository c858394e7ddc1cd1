"""Reads a project file, and the one that it extends. A repository may be untrusted: every file is in it, and nothing is run."""

# ruff: noqa: PTH118 - pathlib takes longer to import than a small file takes to check

import os
import stat
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn

from ..console.exits import UsageError
from ..files.read import folders_above, is_within, load_text
from ..yaml.load import Document, InputError, load_documents
from . import keys
from .discover import NAME, Place
from .judge import Cluster, Judge, quote, show_path
from .patterns import Match

_LONGEST: Final = 2**20  # bytes of a project file


class Project(NamedTuple):
    """A project file that can be used; paths are as commands show them, relative to the working directory."""

    files: tuple[str, ...]  # the project file, and the one that it extends
    values: Mapping[str, Any]  # of the keys that are given, each in its shape
    origins: Mapping[str, str]  # the file and line of each
    excluding: str = ""  # the folder that `exclude` is relative to
    folder: str = ""  # of the file that gives `rules-from`


def _look(real: str, file: str) -> None:
    """Raises: UsageError for a path that is no file, or a long file. A path that can't be examined is reported when it is read."""
    try:
        status = os.stat(real)  # noqa: PTH116 - as above
    except OSError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{file}: must be a file, is a {'folder' if stat.S_ISDIR(status.st_mode) else 'pipe or device'}")
    if status.st_size > _LONGEST:
        raise UsageError(f"{file}: must be at most {_LONGEST // 2**20} MiB long, got {status.st_size // 2**20} MiB")


def load(place: Place) -> Project:
    """Reads the file, and the one that it extends. Raises: UsageError, one sentence with file and line, for the first unfit value."""
    file = show_path(os.path.join(place.folder, NAME))
    project = _read(file, place)
    if "extends" in project.values:
        project = _extended(project, place)
    if "clusters" in project.values:
        _separate(project.values["clusters"])
    return project


def _read(file: str, place: Place, extending: str = "") -> Project:
    """One file; `extending` is the one that extends it."""
    real = os.path.realpath(file)
    if not is_within(real, place.root):
        raise UsageError(f"{file}: must lie in the repository, and is a link out of it")
    _look(real, file)
    document = _document(file)
    if document is None:
        return Project((file,), {}, {})
    judge = Judge(file, place, document)
    values = {name: judge.value(name, extending) for name in judge.names()}
    origins = {name: f"{file}:{document.position((name,)).line}" for name in values}
    return Project((file,), values, origins, place.folder if "exclude" in values else "", place.folder if "rules-from" in values else "")


def _extended(project: Project, place: Place) -> Project:
    """The project with the values of the file that it extends where it gives none: by key, and by name of a rule or cluster."""
    file, base = project.files[0], project.values["extends"]
    before, real = project.origins["extends"], os.path.realpath(base)
    if real == os.path.realpath(file):
        raise UsageError(f"{before}: extends: must be another file, got this one")
    if not os.path.isfile(real):  # noqa: PTH113 - as above
        raise UsageError(f"{before}: extends: must be a file that exists, got {quote(base)}")
    shared = _read(base, Place(os.path.dirname(os.path.abspath(base)), place.root), file)  # noqa: PTH100, PTH120 - as above
    values = {**shared.values, **project.values}
    for name in ("rules", "clusters"):
        if name in values:
            values[name] = {**shared.values.get(name, {}), **project.values.get(name, {})}
    if "overrides" in values:
        values["overrides"] = [*shared.values.get("overrides", ()), *project.values.get("overrides", ())]
    folders = project.excluding or shared.excluding, project.folder or shared.folder
    return Project((file, base), values, {**shared.origins, **project.origins}, *folders)


def _separate(clusters: Mapping[str, Cluster]) -> None:
    """Raises: UsageError for two clusters that own one file."""
    owners: dict[str, tuple[str, Match]] = {}
    for name, cluster in clusters.items():
        for match in cluster.paths:
            first, before = owners.setdefault(match.path, (name, match))
            if first != name:
                _overlapping(match, before)
    for path, (name, match) in owners.items():
        for above in folders_above(path):
            first, before = owners.get(above, (name, match))
            if first != name:
                _overlapping(match, before)


def _overlapping(match: Match, before: Match) -> NoReturn:
    where = f"{before.key} ({before.origin}); both match {show_path(match.path)}"
    raise UsageError(f"{match.origin}: {match.key}: must not overlap with {where}")


def _document(file: str) -> Document | None:
    try:
        documents = load_documents(load_text(file), file)
    except InputError as error:
        raise UsageError(str(error)) from None
    if not documents:
        return None
    if len(documents) > 1 or not isinstance(documents[0].data, dict):
        raise UsageError(f"{file}:{documents[-1].position(()).line}: must hold one mapping; known keys: {', '.join(keys.BY_NAME)}")
    return documents[0]
