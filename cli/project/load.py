"""Reads a project file, and the one that it extends, and fills in a command's flags, which win key by key.

A repository may be untrusted: every file is in it, and nothing is run.
"""

# ruff: noqa: PTH100, PTH113, PTH116, PTH118, PTH120 - pathlib takes longer to import than a small file takes to check

import argparse
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..console.exits import UsageError
from ..files.find import is_excluded
from ..files.read import STDIN, folders_above, is_within, load_text
from ..yaml.load import Document, InputError, load_documents
from . import keys
from .discover import NAME, Match, Place
from .judge import Cluster, Judge, Override, quote, show_path
from .keys import ReportRequest

_LONGEST: Final = 2**20  # bytes of a project file
_ATTRIBUTES: Final = {"outputs": "output"}  # of a command's arguments, where they are not called as the key
_STRUCTURED: Final = ("exclude", "clusters", "rules", "overrides")
_INPUTS: Final = ("paths", "files_from", "kustomize", "helm", "cluster")  # any of them says what to read


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
        status = os.stat(real)
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
    if not os.path.isfile(real):
        raise UsageError(f"{before}: extends: must be a file that exists, got {quote(base)}")
    shared = _read(base, Place(os.path.dirname(os.path.abspath(base)), place.root), file)
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
    matches = [(name, match) for name, cluster in clusters.items() for match in cluster.paths]
    for name, match in matches:
        owners.setdefault(match.path, (name, match))
    for name, match in matches:
        for above in folders_above(match.path):
            first, before = owners.get(above, (name, match))
            if first != name:
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


def fill_flags(arguments: argparse.Namespace, place: Place, names: Sequence[str]) -> None:
    """Reads the file, and fills in those of the keys that no flag says. Raises: UsageError."""
    project = load(place)
    laid = [name for name in names if name in project.values and not _given(arguments, name)]
    for name in laid:
        if name not in _STRUCTURED:  # what they mean is relative to the file, or more than a flag can say
            value = project.values[name]
            setattr(arguments, _ATTRIBUTES.get(name, name), _requests(value) if name == "outputs" else value)
    arguments.project, arguments.laid = project, frozenset(laid)


def filter_files(arguments: argparse.Namespace, files: Sequence[str | InputError]) -> Iterator[str | InputError]:
    """Those files that the project leaves in, or a person names, or whose folder; `--allow-empty` is for hooks, which name what changed."""
    project: Project = arguments.project
    patterns = project.values["exclude"] if "exclude" in arguments.laid else ()

    def out(name: str) -> bool:
        return name != STDIN and is_excluded(os.path.relpath(os.path.abspath(name), project.excluding), patterns)

    by_hand = [] if arguments.allow_empty or "paths" in arguments.laid else arguments.paths
    folders = (f"{os.path.normpath(path)}/" for path in by_hand)
    asked = tuple(folder for folder in folders if out(folder) or out(f"{folder}_"))  # or whatever is in it, as by `old/*`
    for file in files:
        name = file.name if isinstance(file, InputError) else file
        if not out(name) or f"{os.path.normpath(name)}/".startswith(asked):
            yield file


def format_effective_settings(arguments: argparse.Namespace) -> str:
    """What holds, a line a value, and where each comes from: the project file with its line, a flag, or the default."""
    project: Project | None = arguments.project
    rows = [("project file", project.files[0] if project is not None else "none", "")]
    for key in keys.KEYS:
        if key.name == "extends":
            rows += [(key.name, file, project.origins[key.name]) for file in project.files[1:]] if project is not None else []
            continue
        origin = project.origins[key.name] if project is not None and key.name in arguments.laid else ""
        rows += [(name, value, place or origin) for name, value, place in _rows(arguments, key.name, key.flag)]
    widths = [min(max(len(row[column]) for row in rows), 48) for column in (0, 1)]
    return "".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}".rstrip() + "\n" for name, value, origin in rows)


def _rows(arguments: argparse.Namespace, name: str, flag: str) -> Iterator[tuple[str, str, str]]:
    laid = arguments.project.values[name] if name in arguments.laid else None
    match name:
        case "rules":
            for rule, one in (laid or {}).items():
                yield f"rules.{rule}", one.level, f"{one.origin} ({one.reason})"
            for word in ("select", "ignore"):
                if getattr(arguments, word):
                    yield word, ", ".join(getattr(arguments, word)), f"flag --{word}"
        case "clusters":
            yield from _cluster_rows(laid or {}, arguments.facts_of)
        case "overrides":
            yield from _override_rows(laid or ())
        case "exclude" if laid is not None:
            yield name, ", ".join(laid), ""
        case "outputs":
            for one in arguments.output or [ReportRequest("text")]:
                yield f"outputs.{one.form}", one.file or "-", "" if laid is not None else "flag -o" if arguments.output else "default"
        case _:
            value = getattr(arguments, name, None)
            text = ", ".join(value) if isinstance(value, list) else value
            yield name, text or "-", "" if laid is not None else f"flag {flag}" if value else "default"


def _cluster_rows(clusters: Mapping[str, Cluster], chosen: str | None) -> Iterator[tuple[str, str, str]]:
    for name, cluster in clusters.items():
        for match in cluster.paths:
            yield match.key, show_path(match.path), match.origin
        for word in ("facts", "line", "namespace"):
            if value := getattr(cluster, word):
                yield f"clusters.{name}.{word}", value, cluster.origin
    if chosen is not None:
        yield "clusters", chosen, "flag --facts-of"


def _override_rows(overrides: Sequence[Override]) -> Iterator[tuple[str, str, str]]:
    for number, override in enumerate(overrides):
        where = ", ".join(show_path(match.path) for match in override.paths)
        for rule, one in override.rules.items():
            yield f"overrides[{number}].{rule}", one.level, f"{one.origin} ({one.reason}) in {where}"


def _given(arguments: argparse.Namespace, name: str) -> bool:
    names = _INPUTS if name == "paths" else (_ATTRIBUTES.get(name, name),)
    return any(getattr(arguments, one, None) for one in names)


def _requests(outputs: Mapping[str, str]) -> list[ReportRequest]:
    """Reports to files are beside the text that is printed, unless one of them is printed itself."""
    asked = [ReportRequest(form, "" if file == STDIN else file) for form, file in outputs.items()]
    return asked if any(not one.file for one in asked) else [ReportRequest("text"), *asked]
