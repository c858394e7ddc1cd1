"""The command `lsp`: a language server on standard input and output."""

import argparse
import logging
import os
import signal

from ...console import flags
from ...console.exits import INTERRUPTED, OK

HELP = "serve editors by the language server protocol: findings, fields, completion and fixes"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags: those of `check` that say how texts are judged."""
    flags.facts(parser)
    parser.add_argument("--against", default="main", metavar="GIT-REF", help="revision that restarted pods are counted from (default main)")
    parser.add_argument("--stdio", action="store_true", help="what editors add; there is no other way")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serves until the editor says that it ends. Raises: UsageError for wrong facts, or a project file that can't be used."""
    from ...project.apply import Targets, apply_project
    from ...validation.pipeline import Settings
    from ..check.selection import ask_rules, select_rules
    from .answers import Asked
    from .server import server

    apply_project(arguments, ("line", "facts", "clusters", "rules-from", "rules", "overrides", "site"), ())
    targets = Targets(arguments)
    targets.read_all()  # facts that can't be used end the server here, and not at a text

    rules = ask_rules(arguments.user_rules, None)

    def settings(file: str) -> Settings:
        target = targets.of(file)
        return Settings(target.facts, namespace=target.namespace, cluster=target.cluster, asked=rules)

    made = server(Asked(settings, select_rules(arguments), arguments.against, arguments.site))
    if not arguments.verbose:
        logging.getLogger("pygls").setLevel(logging.CRITICAL)  # the server says it, without tracebacks
    # nothing is open that could be lost, and pygls would wait for a thread that reads standard input
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        made.start_io()
    finally:
        signal.signal(signal.SIGINT, before)
    return OK
