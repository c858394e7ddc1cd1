"""The command `schema`: JSON schemas of our kinds, for editors, and of what our own commands print as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.line import USUAL
from dynamo_webhooks.cli import flags

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.api.line import Line

HELP: Final = "print JSON schemas of kinds, for editors, and of commands' JSON output"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    add = parser.add_argument
    add(
        "name",
        nargs="?",
        metavar="NAME",
        help="kind, `all` for a file of many kinds, or command that prints JSON (default: list all schemas)",
    )
    add("--version", metavar="VERSION", help="version of the kind (default: newest)")
    flags.line(parser, f"line of the operator (default: the project file's, else {USUAL})")
    add("--all", action="store_true", help="write every schema to the folder of -d")
    add("-d", "--directory", metavar="DIR", help="folder to write them to; created if missing")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints one schema, or the names of all, or writes all.

    Raises: UsageError for a name that there is no schema of, or flags that don't go together.
    """
    from dynamo_webhooks.cli.exits import OK, UsageError
    from dynamo_webhooks.cli.output import write
    from dynamo_webhooks.cli.project.lay import lay

    lay(arguments, ("line",), ())
    line: Line = arguments.line or USUAL
    if arguments.all != (arguments.directory is not None):
        raise UsageError("--all writes every schema into the folder of -d: give both, or a name to print one")
    if arguments.all and (arguments.name or arguments.version):
        raise UsageError("--all is every schema: give a name and a version, or --all")
    if arguments.all:
        _store(arguments.directory, line)
    elif arguments.name is None:
        write("".join(f"{name}\n" for name in _names()))
    else:
        write(_text(arguments.name, arguments.version, line))
    return OK


def _names() -> list[str]:
    """Every schema: `all`, a kind with its version, a command."""
    from dynamo_webhooks.api.kinds import pairs
    from dynamo_webhooks.cli.schema.kinds import MIXED
    from dynamo_webhooks.cli.schema.outputs import names

    return [MIXED, *(f"{kind}.{version}" for kind, version in pairs()), *names()]


def _text(word: str, version: str | None, line: Line) -> str:
    """The schema that a word names, as text. Raises: UsageError."""
    from dynamo_webhooks.api.kinds import BY_NAME, GROUP
    from dynamo_webhooks.cli.exits import UsageError
    from dynamo_webhooks.cli.kinds import find_kind
    from dynamo_webhooks.cli.nearest import hint
    from dynamo_webhooks.cli.schema.kinds import MIXED, mixed, schema_of
    from dynamo_webhooks.cli.schema.outputs import load, names

    known = _names()
    named, _, ending = word.replace("/", ".").partition(".")
    kind = find_kind(named)
    if kind is not None:
        versions = [each.name for each in BY_NAME[kind].versions]
        ending = ending.removesuffix(GROUP).rstrip(".")
        if version and ending and version != ending:
            raise UsageError(f"--version {version}: {word} names another version: leave one of them out")
        wanted = version or ending or versions[-1]
        if wanted not in versions:
            raise UsageError(
                f"{f'--version {version}' if version else word}: {kind} is in {' and '.join(versions)}{hint(wanted, versions)}"
            )
        return _printed(schema_of(kind, wanted, line))
    if version is not None:
        raise UsageError(f"--version is for kinds, {word} is none{hint(word, BY_NAME)}")
    if word == MIXED:
        return _printed(mixed(line))
    if word in names():
        return _printed(load(word))
    raise UsageError(f"{word}: there is no schema of that{hint(word, [*known, *BY_NAME])}")


def _printed(schema: dict[str, Any]) -> str:
    import json

    return json.dumps(schema, indent=2) + "\n"


def _store(directory: str, line: Line) -> None:
    """Writes all, under names in lower case, as tools look for them. Raises: UsageError when that can't be done."""
    from pathlib import Path

    from dynamo_webhooks.cli.exits import UsageError
    from dynamo_webhooks.cli.output import say
    from dynamo_webhooks.cli.replace import replace

    if not directory:
        raise UsageError('-d "": must name a folder')
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"-d {directory}: must be a folder, and is a file") from None
    except OSError as error:
        raise UsageError(f"-d {directory}: can't be made: {error.strerror or type(error).__name__}") from None
    for name in _names():
        replace(str(folder / f"{name.lower()}.schema.json"), _text(name, None, line))
    say(f"{len(_names())} schemas in {directory}")
