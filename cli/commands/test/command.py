"""The command `test`: case files held to what they expect."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from ....api.wording import count_of, escape_unprintable
from ...console import flags
from ...console.exits import BUG, NOT_EVALUATED, NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError, worst_code
from ...console.options import argument, option, switch
from ...console.output import write_stderr, write_stdout
from ...facts.load import read_facts
from ...files.read import load_text
from ...files.write import write_if_unchanged
from ...objects.forms import SimulatedServer
from ...project.apply import RULES_FROM, apply_project, load_own_rules
from ...project.options import ProjectOptions
from ...rewrite.emit import emit_json
from ...userrules.load import UserRuleContext
from ...yaml.load import InputError
from ..check.selection import make_rule_context
from . import findings, results
from .files import ALLOW, DENY, Case, CaseFolder, load_cases, read_case_facts
from .verdict import CaseRequest, CaseVerdict

FORMAT: Final = 1
HELP = "run case files (allow, deny, default, convert) and compare with what they expect"

EPILOG: Final = """case files, in DIR and below it (.yaml, .yml; NAME may hold dots):
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


class Options(NamedTuple):
    """Flags and options."""

    folder: Annotated[str | None, argument("folder of case files", "DIR", nargs="?")] = None
    word: Annotated[str, option("only cases whose file name contains the word", "-k", "WORD", long=False)] = ""
    update: Annotated[bool, switch("write the actual marks and results")] = False
    output: Annotated[str, flags.output("text", "json")] = "text"
    user: Annotated[str, option("user name of requests, unless a case names one", "--as", "USER")] = ""
    facts: flags.FactFlags = flags.FactFlags()
    project: ProjectOptions = ProjectOptions()
    require_facts: flags.RequireFacts = False
    allow_empty: Annotated[bool, switch("accept no case")] = False
    quiet: Annotated[bool, switch("no summary, and nothing about rules that were not evaluated", "-q")] = False
    verbose: Annotated[bool, switch(f"also name passing cases; {flags.TRACEBACKS}", "-v")] = False


def run(options: Options) -> int:
    """Runs the cases; 0 when all are as expected, 1 when one isn't, 2 when --update can't write, 3 when there are none, 4, 5, 70.

    Raises: UsageError for a folder that doesn't exist, or facts that can't be used.
    """
    if not options.folder:
        raise UsageError("name the folder of case files")
    folder = load_cases(options.folder, options.word)
    rules = make_rule_context(load_own_rules(apply_project(options, (RULES_FROM,), [options.folder]).project), None)
    server = SimulatedServer(read_facts(options.facts), options.user)
    verdicts = [_judged(case, server, rules) for case in folder.cases]
    failed = OK
    if options.update:
        failed = _update(verdicts)
        verdicts = [_again(verdict, server, rules) if verdict.update else verdict for verdict in verdicts]
    code = worst_code([failed, _code(options, verdicts, folder)])
    write_stdout(emit_json(_document(verdicts, code)) if options.output == "json" else _text(verdicts, verbose=options.verbose))
    _say(options, verdicts, folder)
    return code


def _judged(case: Case, server: SimulatedServer, rules: UserRuleContext | None) -> CaseVerdict:
    try:
        question = CaseRequest(case, load_text(case.file), server._replace(facts=read_case_facts(case, server.facts)), rules)
    except InputError as error:
        return CaseVerdict(case, f"can't be read: {error.text}")
    return findings.judge(question) if case.sort in (ALLOW, DENY) else results.judge(question)


def _update(verdicts: list[CaseVerdict]) -> int:
    """Writes what would make failing cases pass, and names the files; returns the exit code."""
    codes = []
    for file, text in (update for verdict in verdicts for update in verdict.update):
        codes.append(write_if_unchanged(file, text, None))
        if not codes[-1]:
            write_stderr(f"{file}: written")
    return worst_code(codes)


def _again(verdict: CaseVerdict, server: SimulatedServer, rules: UserRuleContext | None) -> CaseVerdict:
    """The case judged once more, with the expected results that were written for it."""
    (file, _), *_ = verdict.update
    return _judged(
        verdict.case._replace(expected=file) if file != verdict.case.file and Path(file).exists() else verdict.case, server, rules
    )


def _code(options: Options, verdicts: list[CaseVerdict], folder: CaseFolder) -> int:
    codes = [BUG] * any(verdict.fault for verdict in verdicts)
    codes += [UNREADABLE] * bool(folder.unreadable)
    codes += [REFUSED] * any(not verdict.passed for verdict in verdicts)
    codes += [NOT_EVALUATED] * (options.require_facts and any(verdict.notes for verdict in verdicts))
    codes += [NOTHING_FOUND] * (not verdicts and not options.allow_empty)
    return worst_code(codes)


def _say(options: Options, verdicts: list[CaseVerdict], folder: CaseFolder) -> None:
    for error in folder.unreadable:
        write_stderr(str(error))
    if options.quiet:
        return
    for line in folder.strangers:
        write_stderr(line)
    for note, count in sorted(Counter(note for verdict in verdicts for note in verdict.notes).items()):
        write_stderr(f"{note} ({count_of(count, 'case')})")
    if not verdicts and not options.allow_empty:
        chosen = f" whose name contains {options.word}" if options.word else ""
        names = "" if folder.strangers else "; names begin with allow., deny., default. or convert."
        write_stderr(f"{options.folder}: no test case found{chosen}{names}")
    elif options.output == "text":
        failed = sum(not verdict.passed for verdict in verdicts)
        write_stderr(f"{count_of(len(verdicts), 'case')}: {len(verdicts) - failed} passed, {failed} failed")


def _text(verdicts: Iterable[CaseVerdict], *, verbose: bool) -> str:
    """The failing cases; all of them for those who asked."""
    lines: list[str] = []
    for verdict in verdicts:
        if verbose or not verdict.passed:
            lines.append(f"ok   {verdict.case.file}" if verdict.passed else f"FAIL {verdict.case.file}: {verdict.failure}")
            lines += [f"  {line}" for line in verdict.lines]
    return "".join(f"{escape_unprintable(line)}\n" for line in lines)


def _document(verdicts: Sequence[CaseVerdict], code: int) -> dict[str, Any]:
    """Everything as data; fields are only ever added."""
    return {
        "format": FORMAT,
        "cases": [
            {
                "file": verdict.case.file,
                "sort": verdict.case.sort,
                "passed": verdict.passed,
                "failure": verdict.failure,
                "difference": list(verdict.lines),
                "notEvaluated": list(verdict.notes),
            }
            for verdict in verdicts
        ],
        "summary": {"cases": len(verdicts), "failed": sum(not verdict.passed for verdict in verdicts), "exit": code},
    }
