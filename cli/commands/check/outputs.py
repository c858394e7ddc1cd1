"""Output of `check`: its flags, and the delivery of results."""

import argparse
import os
import sys
from importlib import import_module
from typing import Final

from ...console import flags
from ...console.escaping import inert
from ...console.exits import BUG, NO_OBJECT, NOTHING_FOUND, USAGE, UsageError, worst_code
from ...console.nearest import did_you_mean
from ...console.output import write_bytes, write_stderr, write_stdout
from ...project.keys import FORMATS, ReportRequest
from ...project.keys import spare as spare_others
from .inputs import refuse
from .result import Result

DRAWN: Final = ("markdown", "html")  # which show pictures of graphs
_ESCAPED: Final = ("json", "jsonl", "sarif", "github", "gitlab")  # whose own escapes differ
_TAKEN: Final = "the report would take the place of a file that this run needs; name another"
_TOLD: Final = ("json", "jsonl")  # their reports hold the counts that the summary says


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    output = parser.add_argument_group("output")
    formats = f"{', '.join(FORMATS)}, to stdout or a file; repeatable (default: text)"
    output.add_argument("-o", "--output", action="append", type=wish, default=[], metavar="FORMAT[=FILE]", help=formats)
    output.add_argument(
        "--answer", action="store_true", help="also print the API server's response for each object, in the words of Kubernetes 1.34"
    )
    output.add_argument("-q", "--quiet", action="store_true", help="one line per finding, no summary")
    output.add_argument("--statistics", action="store_true", help="print counts by rule instead of the findings")
    flags.verbose(output, "name each input on stderr; ")
    output.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours in text; NO_COLOR and FORCE_COLOR apply"
    )


def wish(word: str) -> ReportRequest:
    """Reads one value of `-o`. Raises: ArgumentTypeError, which argparse makes a sentence of."""
    form, equals, file = word.partition("=")
    if form not in FORMATS:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(FORMATS)}, got {form!r}{did_you_mean(form, FORMATS)}")
    if equals and not file:
        raise argparse.ArgumentTypeError(f"must name a file behind {form}=, or leave the = out to print the report")
    return ReportRequest(form, "" if file == "-" else file)


def list_reports(arguments: argparse.Namespace) -> list[ReportRequest]:
    """All reports that were asked for, text when none was; asked before anything is read, so that a mistake costs no time.

    Raises: UsageError when two reports would mix, or a file's folder does not exist.
    """
    asked: list[ReportRequest] = arguments.output or [ReportRequest("text")]
    printed = [one.form for one in asked if not one.file]
    if len(printed) > 1:
        raise UsageError(f"-o {printed[0]} and -o {printed[1]} would both be printed; give one a file: -o {printed[1]}=FILE")
    if arguments.statistics and printed != ["text"]:
        raise UsageError(f"--statistics prints counts instead of the text report: leave out -o {asked[0].form}, or give it a file")
    seen: set[str] = set()
    needed = _needed(arguments)
    for one in asked:
        if not one.file:
            continue
        place = os.path.realpath(one.file)
        taken = place in needed and (os.path.isfile(place) or not os.path.exists(place))  # noqa: PTH110, PTH113 - as below
        named = f"-o {one.form}={one.file}"
        refuse(
            (place in seen, f"{named}: another report is written to this file already"),
            (os.path.isdir(place), f"{named}: must be a file, and is a folder"),  # noqa: PTH112 - pathlib's raises for a path that is too long
            (not os.path.isdir(os.path.dirname(place)), f"{named}: its folder does not exist"),  # noqa: PTH112, PTH120 - as above
            (taken, f"{named}: {_TAKEN}"),
        )
        seen.add(place)
    if arguments.laid:
        spare_others(arguments, asked)
    return asked


def spare(asked: list[ReportRequest], result: Result) -> None:
    """Raises: UsageError where a report would take the place of a file that objects were found in; one of an earlier run has none."""
    places = {os.path.realpath(one.file): one for one in asked if one.file}
    for file in {one.source.name for one in result.checked} if places else ():
        if (one := places.get(os.path.realpath(file))) is not None:
            raise UsageError(f"-o {one.form}={one.file}: {_TAKEN}")


def _needed(arguments: argparse.Namespace) -> set[str]:
    """The real paths of all files that flags and arguments name, which a report must not overwrite."""
    named = [*arguments.paths, *arguments.old, *arguments.env_file, *arguments.values]
    named += [arguments.facts, arguments.files_from, arguments.baseline]
    if (project := arguments.project) is not None:
        named += [*project.files, *(cluster.facts for cluster in project.values.get("clusters", {}).values())]
    return {os.path.realpath(file) for file in named if file and "\0" not in file}


def write_reports(arguments: argparse.Namespace, asked: list[ReportRequest], result: Result, code: int) -> int:
    """Write the reports, files first, and diagnostics to stderr; return the exit code.

    A report that can't be written turns the code into wrong usage; the others are written nevertheless.
    """
    for one in sorted(asked, key=lambda one: not one.file):
        try:
            _put(arguments, one, result, code)
        except UsageError as failure:
            write_stderr(f"dynamo-webhooks check: -o {one.form}: {failure}")
            code = worst_code((code, USAGE))
    excuse(result, code, quiet=arguments.quiet)
    if code != NOTHING_FOUND and not arguments.quiet and not any(one.form in _TOLD and not one.file for one in asked):
        from .reports.text import format_summary

        write_stderr(format_summary(result))
    return code


def excuse(result: Result, code: int, *, quiet: bool) -> None:
    """Says to stderr what could not be looked at, and why."""
    for said in (*result.unreadable, *(() if quiet else result.passed), *result.unreachable):
        write_stderr(str(said))
    if code == NOTHING_FOUND:
        write_stderr(NO_OBJECT)
    if code == BUG:
        import shlex

        replay = shlex.join(["dynamo-webhooks", *sys.argv[1:], "-v"])
        write_stderr(f"internal error: a rule raised an exception; to replay it: {replay}")


def _put(arguments: argparse.Namespace, one: ReportRequest, result: Result, code: int) -> None:
    report = _report(arguments, one, result, code)
    if one.form == "text" and not one.file:
        write_stdout(report, painted=True)
        return
    report = report if one.form in _ESCAPED else inert(report)
    data = report.encode("utf-8", "backslashreplace")  # whatever the terminal's encoding is: programs read it
    if not one.file:
        write_bytes(data)
        return
    from ...files.write import replace_file

    replace_file(one.file, data)


def _report(arguments: argparse.Namespace, one: ReportRequest, result: Result, code: int) -> str:
    form = one.form
    if form == "text":
        from .reports.text import statistics, text

        if arguments.statistics and not one.file:
            return statistics(result)
        return text(result, colour=_coloured(arguments.color, to_file=bool(one.file)), quiet=arguments.quiet)
    if form == "github":
        from .reports import github

        for sentence in github.describe_hidden(result):
            write_stderr(sentence)
        return github.commands(result)
    if form == "jsonl":
        return str(import_module(".reports.json", __package__).lines(result, code))
    given = {"json": (code,), "sarif": (code,), "junit": (arguments.fail_on,)}
    return str(import_module(f".reports.{form}", __package__).document(result, *given.get(form, ())))


def _coloured(wanted: str, *, to_file: bool) -> bool:
    """The flag decides; else NO_COLOR, then FORCE_COLOR, then whether the result goes to a terminal with colours.

    A file is coloured only if the flag says always: the two variables apply to printed text.
    """
    if wanted != "auto" or to_file:
        return wanted == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")
