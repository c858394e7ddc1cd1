"""The command `picture`: graphs as Mermaid, SVG or a page. Flags, output and exit codes here; the work is in cli/picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.cli import flags
from dynamo_webhooks.cli.facts.load import asked_facts

if TYPE_CHECKING:
    import argparse

    from dynamo_webhooks.cli.picture.read import Drawn
    from dynamo_webhooks.cli.render.run import Outcome

HELP = "draw graphs: components, pods, GPUs, claims and Services, and what a change does to them"


class _Read(NamedTuple):
    drawn: list[Drawn]
    code: int


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    flags.paths(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=("mermaid", "svg", "html"),
        default="mermaid",
        help="a Mermaid flowchart, an SVG or a page (default mermaid)",
    )
    parser.add_argument("--against", metavar="GIT-REF", help="mark what is added, removed, scaled or restarted since this Git revision")
    parser.add_argument("-n", "--namespace", default="default", help="namespace of objects without one (default: default)")
    flags.facts(parser)
    parser.add_argument("--config", metavar="FILE", help="OperatorConfiguration; facts override it")
    parser.add_argument("--allow-empty", action="store_true", help="accept no graph")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draws all graphs of the input; 0, 1 when one can't be read (the rest is drawn), 3, 4.

    Raises: UsageError for wrong flags, facts, configuration or revision.
    """
    from dynamo_webhooks.cli.check.sources import find
    from dynamo_webhooks.cli.exits import NOTHING_FOUND, UNREADABLE, UsageError, worst
    from dynamo_webhooks.cli.output import say, write
    from dynamo_webhooks.cli.picture.mermaid import mermaid
    from dynamo_webhooks.cli.picture.read import changed
    from dynamo_webhooks.cli.picture.svg import page, svg
    from dynamo_webhooks.cli.render.run import Asked, choose, lay_project, render_file, render_revision

    if not arguments.paths:
        raise UsageError("name at least one file, folder or glob, or - for standard input")
    lay_project(arguments)
    known = asked_facts(arguments)
    operator, _ = choose(known, arguments.config)
    asked = Asked(known, operator, arguments.namespace)
    files = find(arguments.paths, arguments.exclude)
    after = [_drawn(render_file(file, asked)) for file in files]
    drawn = [one for read in after for one in read.drawn]
    codes = [read.code for read in after]
    if arguments.against is not None:
        named = [file for file in files if isinstance(file, str)]
        before = [_drawn(*one) for one in render_revision(arguments, named, asked)]
        codes += [read.code for read in before]
        pictures = changed([one for read in before for one in read.drawn], drawn)
    else:
        pictures = [one.picture for one in drawn]
    if not pictures:
        if not arguments.allow_empty and UNREADABLE not in codes:
            say("no graph found; --allow-empty accepts that")
            codes.append(NOTHING_FOUND)
    else:
        write({"mermaid": mermaid, "svg": svg, "html": page}[arguments.output](pictures))
    return worst(codes)


def _drawn(outcome: Outcome, begin: str = "") -> _Read:
    """The pictures of a text; says what is wrong with it, behind the beginning."""
    from dynamo_webhooks.cli.exits import OK, REFUSED, UNREADABLE, worst
    from dynamo_webhooks.cli.output import say
    from dynamo_webhooks.cli.picture.read import draw

    found = draw(outcome)
    for line in (*map(str, outcome.unreadable), *found.problems):
        say(f"{begin}{line}")
    return _Read(found.drawn, worst([OK, *[UNREADABLE] * bool(outcome.unreadable), *[REFUSED] * bool(found.problems)]))
