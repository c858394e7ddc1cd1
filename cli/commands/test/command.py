"""The command `test`: case files held to what they expect."""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from ....api.wording import count_of, escape_unprintable
from ...console import flags
from ...console.declared import FactFlags
from ...console.exits import BUG, NOT_EVALUATED, NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError, worst_code
from ...console.output import write_stderr, write_stdout
from ...console.program import help_width
from ...facts.load import read_facts
from ...files.read import load_text
from ...files.write import write_if_unchanged
from ...objects.forms import Server
from ...project.apply import RULES_FROM, apply_project
from ...rewrite.emit import emit_json
from ...userrules.load import Asked
from ...yaml.load import InputError
from ..check.selection import ask_rules
from . import findings, results
from .files import ALLOW, DENY, Case, Folder, Question, Verdict, facts_of, load_cases

FORMAT: Final = 1
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
    if not arguments.folder:
        raise UsageError("name the folder of case files")
    folder = load_cases(arguments.folder, arguments.word)
    apply_project(arguments, (RULES_FROM,), [arguments.folder])
    server, rules = (
        Server(read_facts(arguments.line, FactFlags(arguments.facts, tuple(arguments.set_fact))), arguments.user),
        ask_rules(arguments.user_rules, None),
    )
    verdicts = [_judged(case, server, rules) for case in folder.cases]
    failed = OK
    if arguments.update:
        failed = _update(verdicts)
        verdicts = [_again(one, server, rules) if one.update else one for one in verdicts]
    code = worst_code([failed, _code(arguments, verdicts, folder)])
    write_stdout(emit_json(_document(verdicts, code)) if arguments.output == "json" else _text(verdicts, verbose=arguments.verbose))
    _say(arguments, verdicts, folder)
    return code


def _judged(case: Case, server: Server, rules: Asked | None) -> Verdict:
    try:
        question = Question(case, load_text(case.file), server._replace(facts=facts_of(case, server.facts)), rules)
    except InputError as error:
        return Verdict(case, f"can't be read: {error.text}")
    return findings.judge(question) if case.sort in (ALLOW, DENY) else results.judge(question)


def _update(verdicts: list[Verdict]) -> int:
    """Writes what would make failing cases pass, and names the files; returns the exit code."""
    codes = []
    for file, text in (update for one in verdicts for update in one.update):
        codes.append(write_if_unchanged(file, text, None))
        if not codes[-1]:
            write_stderr(f"{file}: written")
    return worst_code(codes)


def _again(one: Verdict, server: Server, rules: Asked | None) -> Verdict:
    """The case judged once more, with the expected results that were written for it."""
    (file, _), *_ = one.update
    return _judged(one.case._replace(expected=file) if file != one.case.file and Path(file).exists() else one.case, server, rules)


def _code(arguments: argparse.Namespace, verdicts: list[Verdict], folder: Folder) -> int:
    codes = [BUG] * any(one.fault for one in verdicts)
    codes += [UNREADABLE] * bool(folder.unreadable)
    codes += [REFUSED] * any(not one.passed for one in verdicts)
    codes += [NOT_EVALUATED] * (arguments.require_facts and any(one.notes for one in verdicts))
    codes += [NOTHING_FOUND] * (not verdicts and not arguments.allow_empty)
    return worst_code(codes)


def _say(arguments: argparse.Namespace, verdicts: list[Verdict], folder: Folder) -> None:
    for error in folder.unreadable:
        write_stderr(str(error))
    if arguments.quiet:
        return
    for line in folder.strangers:
        write_stderr(line)
    for note, count in sorted(Counter(note for one in verdicts for note in one.notes).items()):
        write_stderr(f"{note} ({count_of(count, 'case')})")
    if not verdicts and not arguments.allow_empty:
        chosen = f" whose name contains {arguments.word}" if arguments.word else ""
        names = "" if folder.strangers else "; names begin with allow., deny., default. or convert."
        write_stderr(f"{arguments.folder}: no test case found{chosen}{names}")
    elif arguments.output == "text":
        failed = sum(not one.passed for one in verdicts)
        write_stderr(f"{count_of(len(verdicts), 'case')}: {len(verdicts) - failed} passed, {failed} failed")


def _text(verdicts: Iterable[Verdict], *, verbose: bool) -> str:
    """The failing cases; all of them for those who asked."""
    lines: list[str] = []
    for one in verdicts:
        if verbose or not one.passed:
            lines.append(f"ok   {one.case.file}" if one.passed else f"FAIL {one.case.file}: {one.failure}")
            lines += [f"  {line}" for line in one.lines]
    return "".join(f"{escape_unprintable(line)}\n" for line in lines)


def _document(verdicts: Sequence[Verdict], code: int) -> dict[str, Any]:
    """Everything as data; fields are only ever added."""
    return {
        "format": FORMAT,
        "cases": [
            {
                "file": one.case.file,
                "sort": one.case.sort,
                "passed": one.passed,
                "failure": one.failure,
                "difference": list(one.lines),
                "notEvaluated": list(one.notes),
            }
            for one in verdicts
        ],
        "summary": {"cases": len(verdicts), "failed": sum(not one.passed for one in verdicts), "exit": code},
    }
