"""Delivers the reports of `check`."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from ...console.escaping import escape_commands
from ...console.exits import BUG, NO_OBJECT, NOTHING_FOUND, USAGE, UsageError, refuse, worst_code
from ...console.output import write_bytes, write_stderr, write_stdout
from ...project.reports import ReportRequest, spare_others
from .options import Options
from .result import CheckResult

_ESCAPED: Final = ("json", "jsonl", "sarif", "github", "gitlab")  # whose own escapes differ
_TAKEN: Final = "the report would take the place of a file that this run needs; name another"
JSON_FORMATS: Final = ("json", "jsonl")  # their reports hold the counts that the summary says


def list_reports(options: Options) -> tuple[ReportRequest, ...]:
    """All reports that were asked for, text when none was; asked before anything is read, so that a mistake costs no time.

    Raises: UsageError when two reports would mix, or a file's folder does not exist.
    """
    requests = options.outputs or (ReportRequest("text"),)
    printed = [report.form for report in requests if not report.file]
    if len(printed) > 1:
        raise UsageError(f"-o {printed[0]} and -o {printed[1]} would both be printed; give one a file: -o {printed[1]}=FILE")
    seen: set[str] = set()
    needed = _needed(options)
    for request in requests:
        if not request.file:
            continue
        place = os.path.realpath(request.file)
        taken = place in needed and (os.path.isfile(place) or not os.path.exists(place))  # noqa: PTH110, PTH113 - as below
        named = f"-o {request.form}={request.file}"
        refuse(
            (place in seen, f"{named}: another report is written to this file already"),
            (os.path.isdir(place), f"{named}: must be a file, and is a folder"),  # noqa: PTH112 - pathlib's raises for a path that is too long
            (not os.path.isdir(os.path.dirname(place)), f"{named}: its folder does not exist"),  # noqa: PTH112, PTH120 - as above
            (taken, f"{named}: {_TAKEN}"),
        )
        seen.add(place)
    if options.project.file is not None and "outputs" in options.project.laid:
        spare_others(requests, options.project.file.origins["outputs"])
    return requests


def refuse_overwriting(requests: Sequence[ReportRequest], result: CheckResult) -> None:
    """Raises: UsageError where a report would take the place of a file that objects were found in; one of an earlier run has none."""
    places = {os.path.realpath(report.file): report for report in requests if report.file}
    for file in {obj.source.name for obj in result.checked} if places else ():
        if (request := places.get(os.path.realpath(file))) is not None:
            raise UsageError(f"-o {request.form}={request.file}: {_TAKEN}")


def _needed(options: Options) -> set[str]:
    """The real paths of all files that flags and options name, which a report must not overwrite."""
    named = [*options.paths, *options.old]
    named += filter(None, (options.facts.file, options.files_from, options.baseline))
    if (project := options.project.file) is not None:
        named.append(project.name)
    return {os.path.realpath(file) for file in named if file and "\0" not in file}


def write_reports(options: Options, requests: Sequence[ReportRequest], result: CheckResult, code: int) -> int:
    """Write the reports, files first, and diagnostics to stderr; return the exit code.

    A report that can't be written turns the code into wrong usage; the others are written nevertheless.
    """
    for request in sorted(requests, key=lambda report: not report.file):
        try:
            _put(options, request, result, code)
        except UsageError as failure:
            write_stderr(f"dynamo-webhooks check: -o {request.form}: {failure}")
            code = worst_code((code, USAGE))
    report_unread(result, code, quiet=options.quiet)
    if options.quiet and any(report == ReportRequest("text") for report in requests):
        from .reports.shared import group_notes

        for group in group_notes(result.not_evaluated):
            write_stderr(f"not evaluated: {group.sentence}")
    if code != NOTHING_FOUND and not options.quiet and not any(report.form in JSON_FORMATS and not report.file for report in requests):
        from .reports.text import format_summary

        write_stderr(format_summary(result))
    return code


def report_unread(result: CheckResult, code: int, *, quiet: bool) -> None:
    """Says to stderr what could not be looked at, and why."""
    for problem in (*result.unreadable, *(() if quiet else result.passed), *result.unreachable):
        write_stderr(str(problem))
    if code == NOTHING_FOUND:
        write_stderr(NO_OBJECT)
    if code == BUG:
        import shlex

        replay = shlex.join(["dynamo-webhooks", *sys.argv[1:], "-v"])
        write_stderr(f"internal error: a rule raised an exception; to replay it: {replay}")


def _put(options: Options, request: ReportRequest, result: CheckResult, code: int) -> None:
    report = _report(options, request, result, code)
    if request.form == "text" and not request.file:
        write_stdout(report, painted=True)
        return
    report = report if request.form in _ESCAPED else escape_commands(report)
    data = report.encode("utf-8", "backslashreplace")  # whatever the terminal's encoding is: programs read it
    if not request.file:
        write_bytes(data)
        return
    from ...files.write import replace_file

    replace_file(request.file, data)


def _report(options: Options, request: ReportRequest, result: CheckResult, code: int) -> str:
    form = request.form
    if form == "text":
        from .reports.text import format_report

        return format_report(result, colour=_coloured(options.color, to_file=bool(request.file)), quiet=options.quiet)
    if form == "github":
        from .reports import github

        for sentence in github.describe_hidden(result):
            write_stderr(sentence)
        return github.format_commands(result)
    if form == "jsonl":
        return str(import_module(".reports.json", __package__).lines(result, code))
    given = {"json": (code,), "sarif": (code,), "junit": (options.fail_on,)}
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
