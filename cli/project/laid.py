"""What a project file fills in of a command's flags, which win key by key; which files it leaves out, and what holds at last."""

# ruff: noqa: PTH100, PTH114 - pathlib takes longer to import than a small file takes to check

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.cli.check.outputs import Wish
from dynamo_webhooks.cli.check.sources import is_excluded
from dynamo_webhooks.cli.files import STDIN
from dynamo_webhooks.cli.project.found import Place, is_within
from dynamo_webhooks.cli.project.keys import KEYS
from dynamo_webhooks.cli.project.load import Project, load
from dynamo_webhooks.cli.yaml.errors import InputError

if TYPE_CHECKING:
    import argparse

_ATTRIBUTES: Final = {"outputs": "output"}  # of a command's arguments, where they are not called as the key
_INPUTS: Final = ("paths", "files_from", "kustomize", "helm", "cluster")  # any of them says what to read


def take(arguments: argparse.Namespace, place: Place, names: Sequence[str]) -> None:
    """Reads the file, and fills in those of the keys that no flag says. Raises: UsageError."""
    project = load(place)
    laid = [name for name in names if name in project.values and not _given(arguments, name)]
    for name in laid:
        if name not in ("exclude", "rules"):  # what they mean is relative to the file, or more than a flag can say
            setattr(arguments, _ATTRIBUTES.get(name, name), _SHAPED.get(name, _same)(project.values[name]))
    arguments.project, arguments.laid = project, frozenset(laid)


def chosen(arguments: argparse.Namespace, files: Sequence[str | InputError]) -> Iterator[str | InputError]:
    """Those files that the project leaves in. What its own paths lead to must lie in the repository, whatever links there are."""
    project: Project = arguments.project
    patterns = project.values["exclude"] if "exclude" in arguments.laid else ()
    for file in files:
        name = file.name if isinstance(file, InputError) else file
        if name != STDIN and is_excluded(os.path.relpath(os.path.abspath(name), project.place.folder), patterns):
            continue
        if "paths" in arguments.laid and os.path.islink(name) and not is_within(os.path.realpath(name), project.place.root):
            yield InputError("is a link out of the repository; name it on the command line if it is to be read", name)
        else:
            yield file


def shown(arguments: argparse.Namespace) -> str:
    """What holds, a line a value, and where each comes from: the project file with its line, a flag, or the default."""
    project: Project | None = arguments.project
    rows = [("project file", project.file if project is not None else "none", "")]
    for key in KEYS:
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
    if name == "exclude" and name in arguments.laid:
        yield name, ", ".join(arguments.project.values[name]), ""
        return
    if name == "outputs":
        for one in arguments.output or [Wish("text")]:
            yield f"outputs.{one.form}", one.file or "-", "" if name in arguments.laid else "flag -o" if arguments.output else "default"
        return
    value = getattr(arguments, name)
    text = ", ".join(value) if isinstance(value, list) else value
    usual = "current" if name == "profile" else "-"
    yield name, text or usual, "" if name in arguments.laid else f"flag {flag}" if value else "default"


def _given(arguments: argparse.Namespace, name: str) -> bool:
    names = _INPUTS if name == "paths" else (_ATTRIBUTES.get(name, name),)
    return any(getattr(arguments, one, None) for one in names)


def _same(value: Any) -> Any:
    return value


def _wishes(outputs: Mapping[str, str]) -> list[Wish]:
    """Reports to files are beside the text that is printed, unless one of them is printed itself."""
    asked = [Wish(form, "" if file == STDIN else file) for form, file in outputs.items()]
    return asked if any(not one.file for one in asked) else [Wish("text"), *asked]


_SHAPED: Final[dict[str, Callable[[Any], Any]]] = {"outputs": _wishes}
