"""What a run of `check` prints, where, and in which format: the flags of the output, and the delivery of the result."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.exits import BUG, NO_OBJECT, NOTHING_FOUND, USAGE, UsageError, worst
from dynamo_webhooks.cli.nearest import hint
from dynamo_webhooks.cli.output import say, write, write_bytes

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.cli.check.result import Result

FORMATS: Final = ("text", "json", "jsonl", "sarif", "github", "junit", "markdown", "html")
DRAWN: Final = ("markdown", "html")  # which show pictures of graphs
_TAKEN: Final = "the report would take the place of a file that this run needs; name another"
_TOLD: Final = ("json", "jsonl")  # their reports hold the counts that the summary says


class Wish(NamedTuple):
    """One report that was asked for; no file means stdout."""

    form: str
    file: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        action="append",
        type=wish,
        default=[],
        metavar="FORMAT[=FILE]",
        help=f"{', '.join(FORMATS)}, to stdout or a file; repeatable (default: text)",
    )
    output.add_argument(
        "--answer", action="store_true", help="also print the API server's response for each object, in the words of Kubernetes 1.34"
    )
    output.add_argument("-q", "--quiet", action="store_true", help="one line a finding, no summary")
    output.add_argument("--summary", action="store_true", help="a table by rule on stderr before the last line")
    flags.verbose(output, "name each input on stderr; ")
    output.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours in text; NO_COLOR and FORCE_COLOR apply"
    )


def wish(word: str) -> Wish:
    """Reads one value of `-o`. Raises: ArgumentTypeError, which argparse makes a sentence of."""
    form, equals, file = word.partition("=")
    if form not in FORMATS:
        raise ArgumentTypeError(f"must be one of {', '.join(FORMATS)}, got {form!r}{hint(form, FORMATS)}")
    if equals and not file:
        raise ArgumentTypeError(f"must name a file behind {form}=, or leave the = out to print the report")
    return Wish(form, "" if file == "-" else file)


def wishes(arguments: argparse.Namespace) -> list[Wish]:
    """All reports that were asked for, text when none was; asked before anything is read, so that a mistake costs no time.

    Raises: UsageError when two reports would mix, or a file's folder does not exist.
    """
    asked: list[Wish] = arguments.output or [Wish("text")]
    printed = [one.form for one in asked if not one.file]
    if len(printed) > 1:
        raise UsageError(f"-o {printed[0]} and -o {printed[1]} would both be printed; give one a file: -o {printed[1]}=FILE")
    seen: set[str] = set()
    needed = _needed(arguments)
    for one in asked:
        if not one.file:
            continue
        place = os.path.realpath(one.file)
        if place in seen:
            raise UsageError(f"-o {one.form}={one.file}: another report is written to this file already")
        seen.add(place)
        if os.path.isdir(place):  # noqa: PTH112 - pathlib's raises for a path that is too long
            raise UsageError(f"-o {one.form}={one.file}: must be a file, and is a folder")
        if not os.path.isdir(os.path.dirname(place)):  # noqa: PTH112, PTH120 - as above
            raise UsageError(f"-o {one.form}={one.file}: its folder does not exist")
        if place in needed and (os.path.isfile(place) or not os.path.exists(place)):  # noqa: PTH110, PTH113 - as above
            raise UsageError(f"-o {one.form}={one.file}: {_TAKEN}")
    return asked


def spare(asked: list[Wish], result: Result) -> None:
    """Raises: UsageError where a report would take the place of a file that objects were found in; one of an earlier run has none."""
    places = {os.path.realpath(one.file): one for one in asked if one.file}
    for file in {one.source.name for one in result.checked} if places else ():
        if (one := places.get(os.path.realpath(file))) is not None:
            raise UsageError(f"-o {one.form}={one.file}: {_TAKEN}")


def _needed(arguments: argparse.Namespace) -> set[str]:
    """The real paths of all files that flags and arguments name, and so of those that nobody wants to lose to a report."""
    project = arguments.project.file if arguments.project is not None else ""
    named = (
        *arguments.paths,
        *arguments.old,
        *arguments.env_file,
        *arguments.values,
        arguments.facts,
        arguments.files_from,
        arguments.baseline,
        project,
    )
    return {os.path.realpath(file) for file in named if file and "\0" not in file}


def deliver(arguments: argparse.Namespace, asked: list[Wish], result: Result, code: int) -> int:
    """Writes the reports, files first, and to stderr what is no part of them; returns the exit code.

    A report that can't be written turns the code into wrong usage, and keeps no other report from being written.
    """
    for one in sorted(asked, key=lambda one: not one.file):
        try:
            _put(arguments, one, result, code)
        except UsageError as failure:
            say(f"dynamo-webhooks check: -o {one.form}: {failure}")
            code = worst((code, USAGE))
    excuse(result, code, quiet=arguments.quiet)
    if code != NOTHING_FOUND and not arguments.quiet and not any(one.form in _TOLD and not one.file for one in asked):
        from dynamo_webhooks.cli.check.reports.text import summary, table

        if arguments.summary and result.findings:
            say(table(result))
        say(summary(result))
    return code


def excuse(result: Result, code: int, *, quiet: bool) -> None:
    """Says to stderr what could not be looked at, and why."""
    for error in (*result.unreadable, *(() if quiet else result.passed)):
        say(str(error))
    for sentence in result.unreachable:
        say(sentence)
    if code == NOTHING_FOUND:
        say(NO_OBJECT)
    if code == BUG:
        say(f"internal error: a rule raised an exception; to replay it: {_replay()}")


def _put(arguments: argparse.Namespace, one: Wish, result: Result, code: int) -> None:
    colour = _coloured(arguments.color, to_file=bool(one.file))
    report = _report(arguments, one.form, result, code, colour=colour)
    if one.form == "text" and not one.file:
        write(report)
        return
    data = report.encode("utf-8", "backslashreplace")  # whatever the terminal's encoding is: programs read it
    if not one.file:
        write_bytes(data)
        return
    from dynamo_webhooks.cli.replace import replace

    replace(one.file, data)


def _report(arguments: argparse.Namespace, form: str, result: Result, code: int, *, colour: bool) -> str:
    if form == "text":
        from dynamo_webhooks.cli.check.reports.text import text

        return text(result, colour=colour, quiet=arguments.quiet)
    if form == "sarif":
        from dynamo_webhooks.cli.check.reports.sarif import document

        return document(result, code)
    if form == "github":
        from dynamo_webhooks.cli.check.reports import github

        for sentence in github.hidden(result):
            say(sentence)
        return github.commands(result)
    if form == "junit":
        from dynamo_webhooks.cli.check.reports import junit

        return junit.document(result, arguments.fail_on)
    if form == "markdown":
        from dynamo_webhooks.cli.check.reports import markdown

        return markdown.document(result)
    if form == "html":
        from dynamo_webhooks.cli.check.reports import webpage

        return webpage.document(result)
    from dynamo_webhooks.cli.check.reports import machine

    return machine.document(result, code) if form == "json" else machine.lines(result, code)


def _coloured(wanted: str, *, to_file: bool) -> bool:
    """The flag decides; else NO_COLOR, then FORCE_COLOR, then whether a terminal that knows colours reads the result.

    A file is coloured only where the flag says always: the two variables speak of what is printed.
    """
    if wanted != "auto" or to_file:
        return wanted == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def _replay() -> str:
    import shlex

    return shlex.join(["dynamo-webhooks", *sys.argv[1:], "-v"])
