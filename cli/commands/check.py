"""The command `check`: its flags, and how they become a run and a report."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

HELP = "check files as the API server and the webhooks would, and list every finding"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    from cli import facts
    from cli.check import inputs, outputs

    inputs.configure(parser)
    request = parser.add_argument_group("request")
    request.add_argument(
        "--op",
        choices=("auto", "create", "update", "delete"),
        default="auto",
        help="auto: an update where --old or --against has the object",
    )
    request.add_argument("--as", dest="user", default="", metavar="USER", help="the user name of the request")
    request.add_argument("--profile", choices=("current", "1.2"), default="current", help="whose verdicts")
    facts.configure(parser)
    rules = parser.add_argument_group("rules")
    rules.add_argument(
        "--select", action="append", default=[], metavar="WORD", help="only these rules: names, codes, or beginnings of them"
    )
    rules.add_argument("--ignore", action="append", default=[], metavar="WORD", help="not these rules")
    rules.add_argument("--no-schema", action="store_true", help="leave out schema defaults, schema and CEL rules")
    rules.add_argument("--no-defaults", action="store_true", help="leave out the defaults of the mutating webhooks")
    _configure_strictness(parser)
    outputs.configure(parser)


def _configure_strictness(parser: argparse.ArgumentParser) -> None:
    strictness = parser.add_argument_group("strictness")
    strictness.add_argument("--fail-on", choices=("error", "warning", "never"), default="error", help="which findings make the exit code 1")
    strictness.add_argument("--strict", action="store_true", help="unknown fields are errors")
    strictness.add_argument("--require-facts", action="store_true", help="exit code 5 when something could not be evaluated")
    strictness.add_argument("--allow-empty", action="store_true", help="no object of our kinds is fine")
    strictness.add_argument("--exit-zero", action="store_true", help="findings do not change the exit code")


def run(arguments: argparse.Namespace) -> int:
    """Checks everything, prints the report and returns the exit code."""
    from policies.catalogue import read_lazily
    from policies.raised import silently

    read_lazily()
    # nothing here makes cycles, and collecting garbage would be a tenth of the time of a small run
    gc.disable()
    try:
        # a rule that raises is a finding; its traceback is for those who asked with -v
        with silently(not arguments.verbose):
            return _check(arguments)
    finally:
        gc.freeze()  # or the first collection afterwards, and the one at exit, would look at all of it
        gc.enable()


def _check(arguments: argparse.Namespace) -> int:
    from cli.check.choice import choose
    from cli.check.inputs import gather
    from cli.check.outputs import deliver, wishes
    from cli.check.pipeline import Settings
    from cli.check.result import exit_code
    from cli.check.run import Run
    from cli.facts import load_facts
    from cli.output import say

    asked = wishes(arguments)
    inputs = gather(arguments)
    settings = Settings(
        load_facts(arguments.facts, arguments.set_fact),
        arguments.profile,
        arguments.user,
        not arguments.no_schema,
        not arguments.no_defaults,
        arguments.strict,
    )
    choice = choose(arguments.select, arguments.ignore, arguments.profile)
    running = Run(settings, choice, arguments.op, inputs.old, answering=arguments.answer)
    for file in inputs.files:
        if arguments.verbose:
            say(f"reading {file}")
        running.take(file, arguments.stdin_name)
    result = running.result()
    code = exit_code(
        result,
        arguments.fail_on,
        require_facts=arguments.require_facts,
        allow_empty=arguments.allow_empty,
        exit_zero=arguments.exit_zero,
    )
    return deliver(arguments, asked, result, code)
