"""The command `test`: case files held to what they expect. Flags, output and exit codes here; the work is in cli/cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.facts.load import asked_facts

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.cli.cases.files import Case, Folder
    from dynamo_webhooks.cli.cases.verdict import Asked, Verdict

HELP = "run case files (allow, deny, default, convert) and compare with what they expect"

_FORMAT = """case files, in DIR and below it (.yaml, .yml; NAME may hold dots):
  allow.NAME.yaml    must be accepted; marks may expect warnings
  deny.NAME.yaml     must be refused; findings and marks must match:
                       replicas: -1   # expect: rule-name, other-rule
                     a mark on its own line applies to the line below; use rule names or codes
  default.NAME.yaml  the object after defaulting is default.NAME.expected.yaml, or the second document of the file
  convert.NAME.yaml  the object after conversion is convert.NAME.expected.yaml, in its version

beside a case:
  SORT.NAME.old.yaml    the stored object: the case is an update
  SORT.NAME.facts.yaml  facts for this case; facts.yaml applies to its folder and those below
  # as: USER            a comment in the case: the user of the request
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    import argparse

    from dynamo_webhooks.cli.main import width

    parser.epilog = _FORMAT
    parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=width())
    parser.add_argument("folder", nargs="?", metavar="DIR", help="folder of case files")
    parser.add_argument("-k", dest="word", default="", metavar="WORD", help="only cases whose file name contains the word")
    parser.add_argument("--update", action="store_true", help="write the actual marks and results")
    parser.add_argument("-o", "--output", choices=("text", "json", "junit"), default="text", help="format (default %(default)s)")
    parser.add_argument("--as", dest="user", default="", metavar="USER", help="user name of requests, unless a case names one")
    parser.add_argument("--profile", choices=("current", "1.2"), default="current", help="whose verdicts (default %(default)s)")
    flags.facts(parser)
    parser.add_argument("--require-facts", action="store_true", help="exit code 5 if something could not be evaluated")
    parser.add_argument("--allow-empty", action="store_true", help="accept no case")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary, and nothing about rules that were not evaluated")
    flags.verbose(parser, "also name passing cases; ")


def run(arguments: argparse.Namespace) -> int:
    """Runs the cases; 0 when all are as expected, 1 when one isn't, 2 when --update can't write, 3 when there are none, 4, 5, 70.

    Raises: UsageError for a folder that doesn't exist, or facts that can't be used.
    """
    from dynamo_webhooks.cli.cases.files import load_cases
    from dynamo_webhooks.cli.cases.verdict import Asked
    from dynamo_webhooks.cli.exits import OK, UsageError, worst
    from dynamo_webhooks.cli.output import write

    if not arguments.folder:
        raise UsageError("name the folder of case files")
    folder = load_cases(arguments.folder, arguments.word)
    asked = Asked(asked_facts(arguments), arguments.profile, arguments.user)
    verdicts = [_judged(case, asked) for case in folder.cases]
    failed = _update(verdicts) if arguments.update else OK
    if arguments.update:
        verdicts = [_again(one, asked) if one.update else one for one in verdicts]
    code = worst([failed, _code(arguments, verdicts, folder)])
    write(_report(arguments, verdicts, code))
    _say(arguments, verdicts, folder)
    return code


def _report(arguments: argparse.Namespace, verdicts: list[Verdict], code: int) -> str:
    from dynamo_webhooks.cli.cases import junit, reports
    from dynamo_webhooks.cli.rewrite.fresh import json_text

    if arguments.output == "junit":
        return junit.document(verdicts)
    if arguments.output == "json":
        return json_text(reports.document(verdicts, code))
    return reports.text(verdicts, verbose=arguments.verbose)


def _judged(case: Case, asked: Asked) -> Verdict:
    from dynamo_webhooks.cli.cases import findings, results
    from dynamo_webhooks.cli.cases.files import ALLOW, DENY, facts_of
    from dynamo_webhooks.cli.cases.verdict import Question, Verdict
    from dynamo_webhooks.cli.files import load_text
    from dynamo_webhooks.cli.yaml.load import InputError

    known = facts_of(case, asked.facts)
    try:
        question = Question(case, load_text(case.file), known, asked)
    except InputError as error:
        return Verdict(case, f"can't be read: {error.text}")
    return findings.judge(question) if case.sort in (ALLOW, DENY) else results.judge(question)


def _update(verdicts: list[Verdict]) -> int:
    """Writes what would make failing cases pass, and names the files; returns the exit code."""
    from dynamo_webhooks.cli.exits import worst
    from dynamo_webhooks.cli.output import say
    from dynamo_webhooks.cli.rewrite.files import put

    codes = []
    for file, text in (update for one in verdicts for update in one.update):
        codes.append(put(file, text, None))
        if not codes[-1]:
            say(f"{file}: written")
    return worst(codes)


def _again(one: Verdict, asked: Asked) -> Verdict:
    """The case judged once more, with the expected results that were written for it."""
    from pathlib import Path

    (file, _), *_ = one.update
    return _judged(one.case._replace(expected=file) if file != one.case.file and Path(file).exists() else one.case, asked)


def _code(arguments: argparse.Namespace, verdicts: list[Verdict], folder: Folder) -> int:
    from dynamo_webhooks.cli import exits

    codes = [exits.BUG] * any(one.fault for one in verdicts)
    codes += [exits.UNREADABLE] * bool(folder.unreadable)
    codes += [exits.REFUSED] * any(not one.passed for one in verdicts)
    codes += [exits.NOT_EVALUATED] * (arguments.require_facts and any(one.notes for one in verdicts))
    codes += [exits.NOTHING_FOUND] * (not verdicts and not arguments.allow_empty)
    return exits.worst(codes)


def _say(arguments: argparse.Namespace, verdicts: list[Verdict], folder: Folder) -> None:
    from dynamo_webhooks.cli.cases.reports import notes, summary
    from dynamo_webhooks.cli.output import say

    for error in folder.unreadable:
        say(str(error))
    if arguments.quiet:
        return
    for line in folder.strangers:
        say(line)
    for note in notes(verdicts):
        say(note)
    if not verdicts and not arguments.allow_empty:
        chosen = f" whose name holds {arguments.word}" if arguments.word else ""
        names = "" if folder.strangers else "; names begin with allow., deny., default. or convert."
        say(f"{arguments.folder}: no test case found{chosen}{names}")
    elif arguments.output == "text":
        say(summary(verdicts))
