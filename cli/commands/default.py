"""The command `default`: what the mutating webhooks would change. Flags, output and exit codes here; the work is in cli/default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.facts.load import asked_facts

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.cli.default.run import Asked, Outcome

_KEYS = ("paths", "exclude", "profile", "line", "facts")  # of the project file

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
    parser.add_argument("--profile", choices=("current", "1.2"), help="set of defaults (default current)")
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
    from dynamo_webhooks.cli.check.inputs import found
    from dynamo_webhooks.cli.check.old import load_old
    from dynamo_webhooks.cli.default.run import Asked
    from dynamo_webhooks.cli.exits import UsageError, worst
    from dynamo_webhooks.cli.project.lay import lay
    from dynamo_webhooks.policies.review import line_of

    lay(arguments, _KEYS, arguments.paths)
    if not arguments.paths:
        raise UsageError("name at least one file, folder or glob, or - for standard input; or paths in .dynamo-webhooks.yaml")
    if arguments.check and arguments.write:
        raise UsageError("--check writes nothing, --write writes: use one of them")
    if arguments.write and arguments.output != "text":
        raise UsageError("-o is for what is printed; --write keeps the format of each file")
    if arguments.write and "-" in arguments.paths:
        raise UsageError("--write can't change standard input")
    if arguments.op == "update" and not arguments.old:
        raise UsageError("--op update needs --old with the stored objects")
    old = load_old(arguments.old) if arguments.old and arguments.op != "create" else None
    asked = Asked(asked_facts(arguments), arguments.profile or "current", arguments.op, old)
    outcomes = [_read(file, asked) for file in found(arguments, arguments.paths)]
    code = _code(arguments, outcomes)
    if arguments.output != "diff":
        _print(arguments, outcomes, code)
    _say(arguments, outcomes, line_of(asked.facts, asked.profile))
    if arguments.output == "diff" or arguments.write:
        code = worst([code, *(_change(outcome, write=arguments.write) for outcome in outcomes if outcome.changes)])
    return code


def _read(file: object, asked: Asked) -> Outcome:
    from dynamo_webhooks.cli.default.run import Outcome, default_text
    from dynamo_webhooks.cli.files import load_text
    from dynamo_webhooks.cli.yaml.load import InputError, Source

    try:
        if isinstance(file, InputError):
            raise file
        return default_text(str(file), load_text(str(file)), asked)
    except InputError as error:
        return Outcome(Source(error.name, ""), [], [error])


def _code(arguments: argparse.Namespace, outcomes: list[Outcome]) -> int:
    from dynamo_webhooks.cli import exits
    from dynamo_webhooks.cli.default.reports import has_fault

    objects = [one for outcome in outcomes for one in outcome.objects]
    codes = [exits.BUG] * has_fault(outcomes)
    codes += [exits.UNREADABLE] * any(outcome.unreadable for outcome in outcomes)
    codes += [exits.REFUSED] * any(one.failure or (arguments.check and one.edits) for one in objects)
    codes += [exits.NOT_EVALUATED] * (arguments.require_facts and any(one.idle for one in objects))
    codes += [exits.NOTHING_FOUND] * (not objects and not arguments.allow_empty)
    return exits.worst(codes)


def _print(arguments: argparse.Namespace, outcomes: list[Outcome], code: int) -> None:
    from dynamo_webhooks.cli.default import reports
    from dynamo_webhooks.cli.output import write

    if arguments.output == "json":
        from dynamo_webhooks.cli.rewrite.fresh import json_text

        write(json_text(reports.document(outcomes, code)))
    else:
        write({"patch": reports.patches, "yaml": reports.objects, "text": reports.text}[arguments.output](outcomes))


def _say(arguments: argparse.Namespace, outcomes: list[Outcome], line: Line) -> None:
    from dynamo_webhooks.cli.default import reports
    from dynamo_webhooks.cli.exits import NO_OBJECT
    from dynamo_webhooks.cli.output import say

    for outcome in outcomes:
        for told in reports.failures(outcome):
            say(told)
    if arguments.quiet:
        return
    for told in reports.idle(outcomes, line):
        say(told)
    if not any(outcome.objects for outcome in outcomes) and not arguments.allow_empty:
        if not any(outcome.unreadable for outcome in outcomes):
            say(NO_OBJECT)
    elif arguments.output == "text":
        say(reports.summary(outcomes))


def _change(outcome: Outcome, *, write: bool) -> int:
    """Writes a file as the defaults make it, or prints the difference; says what keeps a file as it is, and returns its exit code."""
    from dynamo_webhooks.cli import exits
    from dynamo_webhooks.cli.default.reports import diff
    from dynamo_webhooks.cli.output import say
    from dynamo_webhooks.cli.output import write as print_text
    from dynamo_webhooks.cli.rewrite.files import put
    from dynamo_webhooks.cli.rewrite.rewritten import NotWrittenError

    name = outcome.source.name
    if outcome.failed:
        say(f"{name}: left as it is, since a part of it can't be read or judged")
        return exits.OK  # what it was has its code already
    try:
        new = outcome.new_text()
    except NotWrittenError as error:
        say(f"{name}: left as it is: {error}")
        return exits.REFUSED
    if write and (code := put(name, new.text, outcome.source.text)):
        return code
    for line in new.lost:
        say(f"{name}:{line}: the comment is lost")
    if write:
        say(f"{name}: written")
    else:
        print_text(diff(name, outcome.source.text, new.text))
    return exits.OK
