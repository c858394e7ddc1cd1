"""The command `check`: its flags, and how they become a run and a report."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.check.result import Result

HELP = "check files as the API server and the webhooks would, and list every finding"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    from cli import facts

    inputs = parser.add_argument_group("inputs")
    inputs.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, globs, or - for standard input")
    inputs.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="files to leave out; repeatable")
    inputs.add_argument("--stdin-name", default="", metavar="NAME", help="what reports call standard input")
    inputs.add_argument("--files-from", metavar="FILE", help="a file of paths, one a line, or - for standard input")
    request = parser.add_argument_group("request")
    request.add_argument(
        "--op", choices=("auto", "create", "update", "delete"), default="auto", help="auto: an update where --old has the object"
    )
    request.add_argument("--old", action="append", default=[], metavar="PATH", help="the stored objects of an update; repeatable")
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
    _configure_report(parser)


def _configure_report(parser: argparse.ArgumentParser) -> None:
    strictness = parser.add_argument_group("strictness")
    strictness.add_argument("--fail-on", choices=("error", "warning", "never"), default="error", help="which findings make the exit code 1")
    strictness.add_argument("--strict", action="store_true", help="unknown fields are errors")
    strictness.add_argument("--require-facts", action="store_true", help="exit code 5 when something could not be evaluated")
    strictness.add_argument("--allow-empty", action="store_true", help="no object of our kinds is fine")
    strictness.add_argument("--exit-zero", action="store_true", help="findings do not change the exit code")
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--output", choices=("text", "json", "jsonl"), default="text", help="the report's format")
    output.add_argument("-q", "--quiet", action="store_true", help="one line a finding, no summary")
    output.add_argument("-v", "--verbose", action="store_true", help="name every input on stderr; show tracebacks of bugs")
    output.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours in text; NO_COLOR and FORCE_COLOR count too"
    )


def run(arguments: argparse.Namespace) -> int:
    """Checks everything, prints the report and returns the exit code."""
    # nothing here makes cycles, and collecting garbage would be a tenth of the time of a small run
    gc.disable()
    try:
        with contextlib.nullcontext() if arguments.verbose else _quiet_rules():
            return _check(arguments)
    finally:
        gc.freeze()  # or the first collection afterwards, and the one at exit, would look at all of it
        gc.enable()


def _check(arguments: argparse.Namespace) -> int:
    from cli.check.choice import choose
    from cli.check.pipeline import Settings
    from cli.check.result import exit_code
    from cli.check.run import Run, load_old
    from cli.check.sources import find, listed
    from cli.exits import UsageError
    from cli.facts import load_facts
    from cli.output import say

    if arguments.op == "update" and not arguments.old:
        raise UsageError("--op update needs --old with the stored objects")
    if not arguments.paths and not arguments.files_from:
        raise UsageError("name at least one file, folder or glob, or - for standard input")
    paths = [*arguments.paths, *(listed(arguments.files_from) if arguments.files_from else [])]
    settings = Settings(
        load_facts(arguments.facts, arguments.set_fact),
        arguments.profile,
        arguments.user,
        not arguments.no_schema,
        not arguments.no_defaults,
        arguments.strict,
    )
    choice = choose(arguments.select, arguments.ignore, arguments.profile)
    old = load_old(arguments.old) if arguments.old and arguments.op in ("auto", "update") else None
    running = Run(settings, choice, arguments.op, old)
    for file in find(paths, arguments.exclude):
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
    _print(arguments, result, code)
    return code


def _print(arguments: argparse.Namespace, result: Result, code: int) -> None:
    from cli.exits import BUG, NOTHING_FOUND
    from cli.output import say, write

    write(_report(arguments, result, code))
    for error in result.unreadable:
        say(str(error))
    if code == NOTHING_FOUND:
        say("no object of our kinds was found; --allow-empty makes that fine")
    if code == BUG:
        say(f"a rule of ours raised; to replay it: {_replay()}")
    if not arguments.quiet and arguments.output == "text":
        from cli.check.text import summary

        say(summary(result))


def _report(arguments: argparse.Namespace, result: Result, code: int) -> str:
    if arguments.output == "text":
        from cli.check.text import text

        return text(result, colour=_coloured(arguments.color), quiet=arguments.quiet)
    from cli.check import machine

    return machine.document(result, code) if arguments.output == "json" else machine.lines(result, code)


def _coloured(wish: str) -> bool:
    """The flag decides; else NO_COLOR, then FORCE_COLOR, then whether a terminal reads the result."""
    if wish != "auto":
        return wish == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def _replay() -> str:
    import shlex

    return shlex.join(["dynamo-webhooks", *sys.argv[1:], "-v"])


@contextlib.contextmanager
def _quiet_rules() -> Iterator[None]:
    """A rule that raises is a finding here; its traceback is shown only to those who asked with `-v`."""
    import logging

    logger = logging.getLogger("policies")
    before, nowhere = logger.propagate, logging.NullHandler()
    logger.propagate = False
    logger.addHandler(nowhere)
    try:
        yield
    finally:
        logger.propagate = before
        logger.removeHandler(nowhere)
