"""Which objects a run of `check` reads, and what is known of their past: the flags of the inputs, and the files they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cli.check.old import Old, load_old
from cli.check.sources import find, listed
from cli.exits import UsageError

if TYPE_CHECKING:
    import argparse

    from cli.yaml.load import InputError, Source


class Inputs(NamedTuple):
    """What to check (files as they are to be shown, texts that are no files, or why one can't be read), and the old objects of updates."""

    files: list[str | Source | InputError]
    old: Old | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    inputs = parser.add_argument_group("inputs")
    inputs.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, globs, or - for standard input")
    inputs.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="files to leave out; repeatable")
    inputs.add_argument("--stdin-name", default="", metavar="NAME", help="what reports call standard input")
    inputs.add_argument("--files-from", metavar="FILE", help="a file of paths, one a line, or - for standard input")
    inputs.add_argument("--old", action="append", default=[], metavar="PATH", help="the stored objects of an update; repeatable")


def gather(arguments: argparse.Namespace) -> Inputs:
    """Finds what the flags mean; reads only the old objects.

    Raises: UsageError for flags that don't go together or say nothing.
    """
    if arguments.op == "update" and not arguments.old:
        raise UsageError("--op update needs --old with the stored objects")
    if not arguments.paths and not arguments.files_from:
        raise UsageError("name at least one file, folder or glob, or - for standard input")
    paths = [*arguments.paths, *(listed(arguments.files_from) if arguments.files_from else [])]
    old = load_old(arguments.old, required=arguments.op == "update") if arguments.old and arguments.op in ("auto", "update") else None
    return Inputs([*find(paths, arguments.exclude)], old)
