"""The command `lsp`: a language server on standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

HELP = "serve editors by the language server protocol: findings, fields, completion and fixes"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags: those of `check` that say how texts are judged."""
    from dynamo_webhooks.cli import flags

    flags.facts(parser)
    parser.add_argument("--profile", choices=("current", "1.2"), help="set of verdicts (default current)")
    parser.add_argument("--stdio", action="store_true", help="what editors add; there is no other way")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serves until the editor says that it ends. Raises: UsageError for wrong facts, or a project file that can't be used."""
    import logging
    import os
    import signal

    from dynamo_webhooks.cli.check.choice import choose
    from dynamo_webhooks.cli.check.pipeline import Settings
    from dynamo_webhooks.cli.exits import INTERRUPTED, OK
    from dynamo_webhooks.cli.facts.load import asked_facts
    from dynamo_webhooks.cli.lsp.answers import Asked
    from dynamo_webhooks.cli.lsp.server import server
    from dynamo_webhooks.cli.project.lay import lay
    from dynamo_webhooks.policies.catalogue import read_lazily

    read_lazily()
    lay(arguments, ("profile", "line", "facts"), ())
    profile = arguments.profile or "current"
    made = server(Asked(Settings(asked_facts(arguments), profile), choose([], [], profile)))
    if not arguments.verbose:
        logging.getLogger("pygls").setLevel(logging.CRITICAL)  # the server says it, without tracebacks
    # nothing is open that could be lost, and pygls would wait for a thread that reads standard input
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        made.start_io()
    finally:
        signal.signal(signal.SIGINT, before)
    return OK
