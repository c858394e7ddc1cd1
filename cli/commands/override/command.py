"""The command `override`: a profiler's graph with what a request's `overrides.dgd` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...console import flags
from ...console.exits import NOTHING_FOUND, OK, REFUSED, UNREADABLE, UsageError
from ...console.output import write_document, write_stderr, write_stdout

if TYPE_CHECKING:
    import argparse

    from .run import Merged

HELP = "lay a partial graph over a whole one, as overrides.dgd of a deployment request does"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "blueprint", metavar="BLUEPRINT", help="file with one graph, or - for standard input; other documents stay as they are"
    )
    parser.add_argument(
        "patch", metavar="PATCH", help="file with a partial graph, or with the request whose overrides.dgd is one; or - for standard input"
    )
    parser.add_argument("-o", "--output", choices=("yaml", "json", "diff"), default="yaml", help="format (default %(default)s)")
    flags.facts(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="don't report what of the patch has no effect")
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the merged graph; 0, 1 when it can't be merged or would be refused, 3, 4.

    Raises: UsageError for wrong flags or facts, and for files with several graphs.
    """
    from ...facts.load import read_fact_flags
    from ...yaml.errors import InputError
    from .run import NothingError, load_blueprint, load_patch, override

    if arguments.blueprint == arguments.patch == "-":
        raise UsageError("only one of BLUEPRINT and PATCH can be standard input")
    facts = read_fact_flags(arguments)
    try:
        blueprint, patch = load_blueprint(arguments.blueprint), load_patch(arguments.patch)
    except InputError as error:
        write_stderr(str(error))
        return UNREADABLE
    except NothingError as error:
        write_stderr(str(error))
        return NOTHING_FOUND
    done = override(blueprint, patch, facts)
    for line in (*done.problems, *(() if arguments.quiet else done.warnings)):
        write_stderr(line)
    if done.graph is not None:
        _print(arguments, blueprint.text, done)
    return REFUSED if done.problems else OK


def _print(arguments: argparse.Namespace, before: str, done: Merged) -> None:
    if arguments.output == "json":
        from ...rewrite.emit import emit_json

        write_stdout(emit_json(done.graph))
    elif arguments.output == "diff":
        from ...rewrite.unified_diff import format_diff

        write_document(format_diff(arguments.blueprint, before, done.text))
    else:
        write_document(done.text)
