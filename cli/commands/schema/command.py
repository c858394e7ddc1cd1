"""The command `schema`: JSON schemas of our kinds, for editors, and of what our own commands print as JSON."""

import json
from typing import Annotated, Any, Final, NamedTuple

from ....api.kinds import BY_NAME, GROUP, list_kind_versions
from ....api.line import DEFAULT_LINE, NEWEST, Line
from ...console import flags
from ...console.exits import OK, UsageError
from ...console.kind_names import find_kind
from ...console.nearest import did_you_mean
from ...console.options import argument, option
from ...console.output import write_stderr, write_stdout
from ...files.write import store
from ...project.apply import apply_project
from ...project.options import ProjectOptions
from .kinds import MIXED, make_mixed_schema, make_schema
from .outputs import load, names

HELP: Final = "print JSON schemas of kinds, for editors, and of commands' JSON output"


class Options(NamedTuple):
    """Flags and options."""

    name: Annotated[
        str | None,
        argument("kind, `all` for a file of many kinds, or command that prints JSON (default: list all schemas)", "NAME", nargs="?"),
    ] = None
    version: Annotated[str | None, option("version of the kind (default: newest)", "VERSION")] = None
    line: Annotated[Line | None, flags.release(f"operator release (default: the project file's, else {DEFAULT_LINE})")] = None
    catalogue: Annotated[
        str | None, option("write kinds as GROUP/KIND_VERSION.json, as yaml-language-server and kubeconform read them", "DIR")
    ] = None
    project: ProjectOptions = ProjectOptions()


def run(options: Options) -> int:
    """Prints one schema or the names of all, or writes those of kinds. Raises: UsageError for a wrong name, or flags that don't fit."""
    line = apply_project(options, ("line",), ()).line or DEFAULT_LINE
    if options.catalogue is not None and (options.name or options.version):
        raise UsageError("--catalogue is every kind: give a name and a version, or --catalogue")
    if options.catalogue is not None:
        _store(options.catalogue, line)
    elif options.name is None:
        write_stdout("".join(f"{name}\n" for name in _names()))
    else:
        write_stdout(json.dumps(_schema(options.name, options.version, line), indent=2) + "\n")
    return OK


def _names() -> list[str]:
    """Every schema: `all`, a kind with its version, a command."""
    return [MIXED, *(f"{kind}.{version}" for kind, version in list_kind_versions()), *names()]


def _schema(word: str, version: str | None, line: Line) -> dict[str, Any]:
    """The schema that a word names. Raises: UsageError."""
    named, _, ending = word.replace("/", ".").partition(".")
    kind = find_kind(named)
    if kind is not None:
        versions = [each.name for each in BY_NAME[kind].of_line(NEWEST)]
        ending = ending.removesuffix(GROUP).rstrip(".")
        if version and ending and version != ending:
            raise UsageError(f"--version {version}: {word} names another version: leave one of them out")
        wanted = version or ending or BY_NAME[kind].versions[-1].name
        if wanted not in versions:
            raise UsageError(
                f"{f'--version {version}' if version else word}: {kind} is in {' and '.join(versions)}{did_you_mean(wanted, versions)}"
            )
        return make_schema(kind, wanted, line)
    if version is not None:
        raise UsageError(f"--version is for kinds, {word} is none{did_you_mean(word, BY_NAME)}")
    if word == MIXED:
        return make_mixed_schema(line)
    if word in names():
        return load(word)
    raise UsageError(f"{word}: there is no schema of that{did_you_mean(word, [*_names(), *BY_NAME])}")


def _store(directory: str, line: Line) -> None:
    """Writes the schemas of all kinds to files, whose names are in lower case, as tools look for them. Raises: UsageError."""
    if not directory:
        raise UsageError('--catalogue "": must name a folder')
    pairs = list_kind_versions()
    for kind, version in pairs:
        try:
            store(directory, f"{GROUP}/{kind.lower()}_{version}.json", json.dumps(make_schema(kind, version, line), indent=2) + "\n")
        except UsageError as error:
            raise UsageError(f"--catalogue {directory}: {error}") from None
    write_stderr(f"{len(pairs)} schemas in {directory}")
