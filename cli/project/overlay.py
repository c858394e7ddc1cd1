"""What a project file fills in of a command's flags, which win key by key; which files it leaves out, and what holds at last."""

# ruff: noqa: PTH100 - pathlib takes longer to import than a small file takes to check

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ..files.find import is_excluded
from ..files.read import STDIN
from ..yaml.errors import InputError
from .discover import Place
from .formats import ReportRequest
from .judge import Cluster, Override, show_path
from .keys import KEYS
from .load import Project, load

_ATTRIBUTES: Final = {"outputs": "output"}  # of a command's arguments, where they are not called as the key
_STRUCTURED: Final = ("exclude", "clusters", "rules", "overrides")
_INPUTS: Final = ("paths", "files_from", "kustomize", "helm", "cluster")  # any of them says what to read


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
    """Those files that the project leaves in, and those that a person names, or whose folder.

    `--allow-empty` says that it is no person: hooks name whatever has changed.
    """
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
    for key in KEYS:
        if key.name == "extends":
            rows += [(key.name, file, project.origins[key.name]) for file in project.files[1:]] if project is not None else []
            continue
        origin = project.origins[key.name] if project is not None and key.name in arguments.laid else ""
        rows += [(name, value, place or origin) for name, value, place in _rows(arguments, key.name, key.flag)]
    widths = [min(max(len(row[column]) for row in rows), 48) for column in (0, 1)]
    return "".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}".rstrip() + "\n" for name, value, origin in rows)


def _rows(arguments: argparse.Namespace, name: str, flag: str) -> Iterator[tuple[str, str, str]]:
    if name == "rules":
        severities = arguments.project.values["rules"] if "rules" in arguments.laid else {}
        for rule, one in severities.items():
            yield f"rules.{rule}", one.level, f"{one.origin} ({one.reason})"
        for word in ("select", "ignore"):
            if getattr(arguments, word):
                yield word, ", ".join(getattr(arguments, word)), f"flag --{word}"
        return
    if name == "clusters":
        yield from _cluster_rows(arguments.project.values[name] if name in arguments.laid else {}, arguments.facts_of)
        return
    if name == "overrides":
        yield from _override_rows(arguments.project.values[name] if name in arguments.laid else ())
        return
    if name == "exclude" and name in arguments.laid:
        yield name, ", ".join(arguments.project.values[name]), ""
        return
    if name == "outputs":
        for one in arguments.output or [ReportRequest("text")]:
            yield f"outputs.{one.form}", one.file or "-", "" if name in arguments.laid else "flag -o" if arguments.output else "default"
        return
    value = getattr(arguments, name, None)
    text = ", ".join(value) if isinstance(value, list) else value
    yield name, text or "-", "" if name in arguments.laid else f"flag {flag}" if value else "default"


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
