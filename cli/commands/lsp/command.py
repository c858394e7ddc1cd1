"""The command `lsp`: a language server on standard input and output."""

import logging
import os
import signal
from typing import Annotated, NamedTuple

from ...console import flags
from ...console.exits import INTERRUPTED, OK, UsageError
from ...console.options import option, switch
from ...console.output import write_stderr
from ...project.options import ProjectOptions

HELP = "serve editors by the language server protocol: findings, fields, completion and fixes"


class Options(NamedTuple):
    """Flags: those of `check` that say how texts are judged."""

    facts: flags.FactFlags = flags.FactFlags()
    against: Annotated[str, option("revision that restarted pods are counted from (default main)", "GIT-REF")] = "main"
    stdio: Annotated[bool, switch("what editors add; there is no other way")] = False
    project: ProjectOptions = ProjectOptions()
    verbose: flags.Verbose = False


def run(options: Options) -> int:
    """Serves until the editor says that it ends. Raises: UsageError for wrong facts, or a project file that can't be used."""
    from ...project.apply import apply_project, find_oldest_minor, load_own_rules
    from ...project.facts import read_project_facts
    from ...userrules.load import UserRuleContext as Rules
    from ...validation.pipeline import ValidationSettings
    from ..check.selection import make_rule_context, select_rules
    from .answers import CheckContext
    from .server import make_server

    options = apply_project(options, ("line", "facts", "rules-from", "rules", "site"), ())
    facts = read_project_facts(options.facts, options.project)
    known: list[Rules | None] = []

    def reload() -> None:
        problems: list[UsageError] = []
        try:
            known[:] = [make_rule_context(load_own_rules(options.project, problems=problems), None)]
        except UsageError as error:  # a key of the project file names a rule that is no longer there
            if not known:
                raise
            problems.append(error)
        for problem in problems:
            write_stderr(f"a policy is left out: {problem}")

    def settings() -> ValidationSettings:
        return ValidationSettings(facts, user_rules=known[0])

    reload()
    selection, site = select_rules(options.project), options.project.value("site") or ""
    server = make_server(CheckContext(settings, selection, options.against, site, find_oldest_minor(options.project), reload))
    if not options.verbose:
        logging.getLogger("pygls").setLevel(logging.CRITICAL)  # the server says it, without tracebacks
    # nothing is open that could be lost, and pygls would wait for a thread that reads standard input
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        server.start_io()
    finally:
        signal.signal(signal.SIGINT, before)
    return OK
