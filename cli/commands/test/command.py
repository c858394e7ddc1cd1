"""The command `test`: case files held to what they expect."""

from __future__ import annotations

import argparse

from ...console import exits, flags
from ...console.exits import OK, UsageError, worst_code
from ...console.output import write_stderr, write_stdout
from ...console.program import help_width
from ...facts.load import read_fact_flags
from ...objects.forms import Server
from ...userrules.load import Asked
from .files import Case, Folder
from .verdict import Verdict

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
    parser.epilog = _FORMAT
    parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=help_width())
    parser.add_argument("folder", nargs="?", metavar="DIR", help="folder of case files")
    parser.add_argument("-k", dest="word", default="", metavar="WORD", help="only cases whose file name contains the word")
    parser.add_argument("--update", action="store_true", help="write the actual marks and results")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="format (default %(default)s)")
    parser.add_argument("--as", dest="user", default="", metavar="USER", help="user name of requests, unless a case names one")
    flags.facts(parser)
    flags.project(parser, clusters=False)
    parser.add_argument("--require-facts", action="store_true", help="exit code 5 if something could not be evaluated")
    parser.add_argument("--allow-empty", action="store_true", help="accept no case")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary, and nothing about rules that were not evaluated")
    flags.verbose(parser, "also name passing cases; ")


def run(arguments: argparse.Namespace) -> int:
    """Runs the cases; 0 when all are as expected, 1 when one isn't, 2 when --update can't write, 3 when there are none, 4, 5, 70.

    Raises: UsageError for a folder that doesn't exist, or facts that can't be used.
    """
    from ...objects.forms import Server
    from ...project.apply import RULES_FROM, apply_project
    from ..check.user_rules import ask_rules
    from .files import load_cases

    if not arguments.folder:
        raise UsageError("name the folder of case files")
    folder = load_cases(arguments.folder, arguments.word)
    apply_project(arguments, (RULES_FROM,), [arguments.folder])
    server, rules = Server(read_fact_flags(arguments), arguments.user), ask_rules(arguments.user_rules, None)
    verdicts = [_judged(case, server, rules) for case in folder.cases]
    failed = _update(verdicts) if arguments.update else OK
    if arguments.update:
        verdicts = [_again(one, server, rules) if one.update else one for one in verdicts]
    code = worst_code([failed, _code(arguments, verdicts, folder)])
    write_stdout(_report(arguments, verdicts, code))
    _say(arguments, verdicts, folder)
    return code


def _report(arguments: argparse.Namespace, verdicts: list[Verdict], code: int) -> str:
    from ...rewrite.emit import emit_json
    from . import reports

    if arguments.output == "json":
        return emit_json(reports.document(verdicts, code))
    return reports.text(verdicts, verbose=arguments.verbose)


def _judged(case: Case, server: Server, rules: Asked | None) -> Verdict:
    from ...files.read import load_text
    from ...yaml.load import InputError
    from . import findings, results
    from .files import ALLOW, DENY, facts_of
    from .verdict import Question, Verdict

    try:
        question = Question(case, load_text(case.file), server._replace(facts=facts_of(case, server.facts)), rules)
    except InputError as error:
        return Verdict(case, f"can't be read: {error.text}")
    return findings.judge(question) if case.sort in (ALLOW, DENY) else results.judge(question)


def _update(verdicts: list[Verdict]) -> int:
    """Writes what would make failing cases pass, and names the files; returns the exit code."""
    from ...files.write import write_if_unchanged

    codes = []
    for file, text in (update for one in verdicts for update in one.update):
        codes.append(write_if_unchanged(file, text, None))
        if not codes[-1]:
            write_stderr(f"{file}: written")
    return worst_code(codes)


def _again(one: Verdict, server: Server, rules: Asked | None) -> Verdict:
    """The case judged once more, with the expected results that were written for it."""
    from pathlib import Path

    (file, _), *_ = one.update
    return _judged(one.case._replace(expected=file) if file != one.case.file and Path(file).exists() else one.case, server, rules)


def _code(arguments: argparse.Namespace, verdicts: list[Verdict], folder: Folder) -> int:
    codes = [exits.BUG] * any(one.fault for one in verdicts)
    codes += [exits.UNREADABLE] * bool(folder.unreadable)
    codes += [exits.REFUSED] * any(not one.passed for one in verdicts)
    codes += [exits.NOT_EVALUATED] * (arguments.require_facts and any(one.notes for one in verdicts))
    codes += [exits.NOTHING_FOUND] * (not verdicts and not arguments.allow_empty)
    return exits.worst_code(codes)


def _say(arguments: argparse.Namespace, verdicts: list[Verdict], folder: Folder) -> None:
    from .reports import notes, summary

    for error in folder.unreadable:
        write_stderr(str(error))
    if arguments.quiet:
        return
    for line in folder.strangers:
        write_stderr(line)
    for note in notes(verdicts):
        write_stderr(note)
    if not verdicts and not arguments.allow_empty:
        chosen = f" whose name holds {arguments.word}" if arguments.word else ""
        names = "" if folder.strangers else "; names begin with allow., deny., default. or convert."
        write_stderr(f"{arguments.folder}: no test case found{chosen}{names}")
    elif arguments.output == "text":
        write_stderr(summary(verdicts))
