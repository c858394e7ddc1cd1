"""What a run of `check` prints, where, and in which format: the flags of the output, and the delivery of the result."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cli.exits import BUG, NOTHING_FOUND
from cli.output import say, write

if TYPE_CHECKING:
    import argparse

    from cli.check.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--output", choices=("text", "json", "jsonl"), default="text", help="the report's format")
    output.add_argument("-q", "--quiet", action="store_true", help="one line a finding, no summary")
    output.add_argument("-v", "--verbose", action="store_true", help="name every input on stderr; show tracebacks of bugs")
    output.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours in text; NO_COLOR and FORCE_COLOR count too"
    )


def deliver(arguments: argparse.Namespace, result: Result, code: int) -> None:
    """Writes the report to stdout, and to stderr what is no part of it."""
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
