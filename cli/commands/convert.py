"""The command `convert`: versions of objects in files. Flags, output and exit codes here; the work is in cli/convert."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dynamo_webhooks.api.line import USUAL, Line
from dynamo_webhooks.cli import flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynamo_webhooks.cli.convert.run import Outcome

_KEYS = ("paths", "exclude", "line")  # of the project file

HELP = "convert objects in files to another version; other documents stay byte for byte"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, globs, or - for standard input")
    parser.add_argument("--to", choices=("v1alpha1", "v1beta1"), help="version to convert to")
    flags.line(parser, f"line of the operator that gets the objects (default: the project file's, else {USUAL})")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="files to leave out; repeatable")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a file would change")
    parser.add_argument("--write", action="store_true", help="change the files instead of printing")
    parser.add_argument("--verify", action="store_true", help="also convert back, and refuse what does not round-trip unchanged")
    parser.add_argument("--fields", metavar="KIND", help="print the corresponding fields of a kind's versions")
    parser.add_argument("-o", "--output", choices=("yaml", "json"), help="one format for all documents (default: each keeps its own)")
    parser.add_argument("--allow-empty", action="store_true", help=flags.ALLOW_EMPTY)
    parser.add_argument("-q", "--quiet", action="store_true", help="report neither saved values nor lost comments")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Converts and prints or writes; 0, 1 when something can't be converted or would change under --check, 3, 4.

    Raises: UsageError for flags that don't go together.
    """
    from dynamo_webhooks.api.wording import shortened
    from dynamo_webhooks.cli.exits import UsageError
    from dynamo_webhooks.cli.project.lay import lay

    if arguments.fields and arguments.paths:
        raise UsageError(f"--fields prints a table and reads no files: leave out {shortened(arguments.paths[0], 80)}")
    if arguments.fields:
        return _fields(arguments.fields)
    lay(arguments, _KEYS, arguments.paths)
    if not arguments.to:
        raise UsageError("--to must name the version to convert to, v1beta1 or v1alpha1")
    if not arguments.paths:
        raise UsageError("name at least one file, folder or glob, or - for standard input; or paths in .dynamo-webhooks.yaml")
    if arguments.check and arguments.write:
        raise UsageError("--check writes nothing, --write writes: use one of them")
    if arguments.output and (arguments.check or arguments.write):
        raise UsageError("-o is for what is printed; --check and --write keep the format of each file")
    if arguments.write and "-" in arguments.paths:
        raise UsageError("--write can't change standard input")
    return _convert(arguments)


def _convert(arguments: argparse.Namespace) -> int:
    from functools import cache

    from dynamo_webhooks.cli.check.inputs import found as sources
    from dynamo_webhooks.cli.convert.builds import builds
    from dynamo_webhooks.cli.convert.refused import newly_refused
    from dynamo_webhooks.cli.convert.run import convert_text
    from dynamo_webhooks.cli.exits import NO_OBJECT, NOTHING_FOUND, OK, REFUSED, UNREADABLE, worst
    from dynamo_webhooks.cli.files import load_text
    from dynamo_webhooks.cli.output import say
    from dynamo_webhooks.cli.rewrite.files import put
    from dynamo_webhooks.cli.yaml.errors import InputError

    codes, done, found = [OK], [], 0
    line: Line = arguments.line or USUAL
    files = sources(arguments, arguments.paths)
    known = cache(lambda: builds(files))
    for file in files:
        try:
            if isinstance(file, InputError):
                raise file
            text = load_text(file)
        except InputError as error:
            say(str(error))
            codes.append(UNREADABLE)
            continue
        outcome = convert_text(file, text, arguments.to, line=line, verify=arguments.verify, builds=known, lenient=arguments.allow_empty)
        found += outcome.objects
        codes += [REFUSED] * bool(outcome.failures) + [UNREADABLE] * bool(outcome.unreadable)
        _say(outcome, quiet=arguments.quiet)
        refused = newly_refused(file, text, outcome.text, line) if outcome.converted else []
        for told in refused:
            say(told)
        codes += [REFUSED] * bool(refused)
        if arguments.check and outcome.converted:
            say(f"{file}: {outcome.converted} of {outcome.objects} objects would change")
            codes.append(REFUSED)
        if arguments.write and outcome.converted and not outcome.failures and not outcome.unreadable:
            codes.append(put(file, outcome.text, text))
        done.append(outcome)
    if not found and not arguments.allow_empty and UNREADABLE not in codes:
        say(NO_OBJECT)
        codes.append(NOTHING_FOUND)
    if not arguments.check and not arguments.write:
        _print(done, arguments.output)
    return worst(codes)


def _say(outcome: Outcome, *, quiet: bool) -> None:
    from dynamo_webhooks.cli.output import say

    for line in (*(str(error) for error in outcome.unreadable), *outcome.failures, *outcome.legacy, *(() if quiet else outcome.notes)):
        say(line)


def _print(outcomes: Sequence[Outcome], form: str | None) -> None:
    """All files on stdout, one after the other, with a marker between YAML texts that lack one."""
    from dynamo_webhooks.cli.output import write
    from dynamo_webhooks.cli.rewrite.fresh import json_text, yaml_text

    if form == "json":
        values = [value for outcome in outcomes for value in outcome.values]
        write(json_text(values[0] if len(values) == 1 else {"apiVersion": "v1", "kind": "List", "items": values}))
    elif form == "yaml":
        write("---\n".join(yaml_text(value) for outcome in outcomes for value in outcome.values))
    else:
        texts = [outcome.text for outcome in outcomes]
        for before, text in zip(["", *texts], texts, strict=False):
            marked = not before or text.startswith("---")
            write(("" if not before or before.endswith("\n") else "\n") + ("" if marked else "---\n") + text)


def _fields(word: str) -> int:
    from dynamo_webhooks.cli.convert.fields import fields_of
    from dynamo_webhooks.cli.exits import OK, UsageError
    from dynamo_webhooks.cli.kinds import find_kind
    from dynamo_webhooks.cli.nearest import hint
    from dynamo_webhooks.cli.output import write
    from dynamo_webhooks.conversion.kinds import KINDS

    kind = find_kind(word)
    if kind is None:
        raise UsageError(f"--fields {word}: no such kind{hint(word, list(KINDS))}")
    if kind not in KINDS:
        raise UsageError(f"--fields {word}: {kind} has one version")
    write(fields_of(kind))
    return OK
