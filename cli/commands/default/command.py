"""The command `default`: what the mutating webhooks would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...console import exits, flags
from ...console.exits import NO_OBJECT, UsageError, worst_code
from ...console.output import write_document, write_stderr
from ...console.output import write_stdout as write

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ....api.line import Line
    from .run import Asked, Outcome

_KEYS = ("paths", "exclude", "line", "facts", "clusters")  # of the project file

HELP = "show or write the defaults of the mutating webhooks"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    flags.paths(parser)
    parser.add_argument("--check", action="store_true", help="exit code 1 if something would change")
    parser.add_argument("--write", action="store_true", help="change the files, except other documents and comments")
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json", "diff", "patch", "yaml"),
        default="text",
        help="a line an edit; JSON; a unified diff of the files; the server's JSON patch (RFC 6902), one line an object; "
        "the defaulted objects (default text)",
    )
    parser.add_argument("--op", choices=("auto", "create", "update"), default="auto", help="auto: an update if --old has the object")
    parser.add_argument("--old", action="append", default=[], metavar="PATH", help="stored objects of an update; repeatable")
    flags.facts(parser)
    parser.add_argument("--require-facts", action="store_true", help="exit code 5 if a default could not be evaluated")
    parser.add_argument("--allow-empty", action="store_true", help="accept no Dynamo object")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary, and nothing about defaults that were not evaluated")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints or writes the edits; 0, 1 when something would change under --check or could not be asked, 3, 4, 5, 70.

    Raises: UsageError for flags that don't go together, facts or old objects that can't be used.
    """
    from ...objects.forms import Server
    from ...objects.stored import load_stored
    from ...project.apply import Targets, apply_project, input_files
    from .run import Asked

    apply_project(arguments, _KEYS, arguments.paths)
    if not arguments.paths:
        raise UsageError("name at least one file, folder or glob, or - for standard input; or paths in .dynamo-webhooks.yaml")
    if arguments.check and arguments.write:
        raise UsageError("--check writes nothing, --write writes: use one of them")
    if arguments.write and arguments.output != "text":
        raise UsageError("-o is for printed output; --write keeps the format of each file")
    if arguments.write and "-" in arguments.paths:
        raise UsageError("--write can't change standard input")
    if arguments.op == "update" and not arguments.old:
        raise UsageError("--op update needs --old with the stored objects")
    old = load_stored(arguments.old) if arguments.old and arguments.op != "create" else None
    targets = Targets(arguments)

    def asked(file: str) -> Asked:
        return Asked(Server(targets.of(file).facts), arguments.op, old)

    outcomes = [_read(file, asked) for file in input_files(arguments, arguments.paths)]
    code = _code(arguments, outcomes)
    if arguments.output != "diff":
        _print(arguments, outcomes, code)
    _say(arguments, outcomes, targets.usual.facts.line)
    if arguments.output == "diff" or arguments.write:
        code = worst_code([code, *(_change(outcome, write=arguments.write) for outcome in outcomes if outcome.changes)])
    return code


def _read(file: object, asked: Callable[[str], Asked]) -> Outcome:
    from ...files.read import load_text
    from ...yaml.load import InputError, Source
    from .run import Outcome, default_text

    try:
        if isinstance(file, InputError):
            raise file
        return default_text(str(file), load_text(str(file)), asked(str(file)))
    except InputError as error:
        return Outcome(Source(error.name, ""), [], [error])


def _code(arguments: argparse.Namespace, outcomes: list[Outcome]) -> int:
    from .reports import has_fault

    objects = [one for outcome in outcomes for one in outcome.objects]
    codes = [exits.BUG] * has_fault(outcomes)
    codes += [exits.UNREADABLE] * any(outcome.unreadable for outcome in outcomes)
    codes += [exits.REFUSED] * any(one.failure or (arguments.check and one.edits) for one in objects)
    codes += [exits.NOT_EVALUATED] * (arguments.require_facts and any(one.idle for one in objects))
    codes += [exits.NOTHING_FOUND] * (not objects and not arguments.allow_empty)
    return exits.worst_code(codes)


def _print(arguments: argparse.Namespace, outcomes: list[Outcome], code: int) -> None:
    from . import reports

    if arguments.output == "json":
        from ...rewrite.emit import emit_json

        write(emit_json(reports.document(outcomes, code)))
    else:
        write({"patch": reports.patches, "yaml": reports.objects, "text": reports.text}[arguments.output](outcomes))


def _say(arguments: argparse.Namespace, outcomes: list[Outcome], line: Line) -> None:
    from . import reports

    for outcome in outcomes:
        for told in reports.failures(outcome):
            write_stderr(told)
    if arguments.quiet:
        return
    for told in reports.idle(outcomes, line):
        write_stderr(told)
    if not any(outcome.objects for outcome in outcomes) and not arguments.allow_empty:
        if not any(outcome.unreadable for outcome in outcomes):
            write_stderr(NO_OBJECT)
    elif arguments.output == "text":
        write_stderr(reports.summary(outcomes))


def _change(outcome: Outcome, *, write: bool) -> int:
    """Writes a file as the defaults make it, or prints the difference; says what keeps a file as it is, and returns its exit code."""
    from ...files.write import write_if_unchanged
    from ...rewrite.rewrite import NotWrittenError
    from ...rewrite.unified_diff import format_diff

    name = outcome.source.name
    if outcome.failed:
        write_stderr(f"{name}: left as it is, since a part of it can't be read or judged")
        return exits.OK  # the exit code for it is set already
    try:
        new = outcome.new_text()
    except NotWrittenError as error:
        write_stderr(f"{name}: left as it is: {error}")
        return exits.REFUSED
    if write and (code := write_if_unchanged(name, new.text, outcome.source.text)):
        return code
    for line in new.lost:
        write_stderr(f"{name}:{line}: the comment is lost")
    if write:
        write_stderr(f"{name}: written")
    else:
        write_document(format_diff(name, outcome.source.text, new.text))
    return exits.OK
