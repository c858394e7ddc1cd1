"""The command `picture`: graphs as Mermaid or SVG."""

import argparse

from ...console import flags
from ...console.exits import NOTHING_FOUND, REFUSED, UNREADABLE, UsageError, worst_code
from ...console.output import write_stderr, write_stdout
from ...files.find import find_files
from ..render.run import Outcome, ask_by_target, lay_project, render_file, render_revision
from .formats import mermaid, svg
from .parts import Drawn, draw, pair_pictures

HELP = "draw graphs: components, pods, GPUs, claims and Services, and what a change does to them"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    flags.paths(parser)
    parser.add_argument(
        "-o", "--output", choices=("mermaid", "svg"), default="mermaid", help="a Mermaid flowchart or an SVG (default mermaid)"
    )
    parser.add_argument("--against", metavar="GIT-REF", help="mark components added, removed, scaled or restarted since this Git revision")
    parser.add_argument("-n", "--namespace", default="", help="namespace of objects without one (default: default)")
    flags.facts(parser)
    parser.add_argument("--config", metavar="FILE", help="OperatorConfiguration; facts override it")
    parser.add_argument("--allow-empty", action="store_true", help="accept no graph")
    flags.project(parser)
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draws all graphs of the input; 0, 1 when one can't be read (the rest is drawn), 3, 4.

    Raises: UsageError for wrong flags, facts, configuration or revision.
    """
    if not arguments.paths:
        raise UsageError("name at least one file, folder or glob, or - for standard input")
    lay_project(arguments)
    ask = ask_by_target(arguments, lambda _: None)
    files = find_files(arguments.paths, arguments.exclude)
    codes: list[int] = []
    after = [one for file in files for one in _draw(render_file(file, ask), codes)]
    if arguments.against is not None:
        named = [file for file in files if isinstance(file, str)]
        before = [one for was, begin in render_revision(arguments, named, ask) for one in _draw(was, codes, begin)]
        pictures = pair_pictures(before, after)
    else:
        pictures = [one.picture for one in after]
    if pictures:
        write_stdout((svg if arguments.output == "svg" else mermaid)(pictures))
    elif not arguments.allow_empty and UNREADABLE not in codes:
        write_stderr("no graph found; --allow-empty accepts that")
        codes.append(NOTHING_FOUND)
    return worst_code(codes)


def _draw(outcome: Outcome, codes: list[int], begin: str = "") -> list[Drawn]:
    """The pictures of a text; reports its errors after the prefix, and adds exit codes for them."""
    drawn, problems = draw(outcome)
    for line in (*map(str, outcome.unreadable), *problems):
        write_stderr(f"{begin}{line}")
    codes += [*[UNREADABLE] * bool(outcome.unreadable), *[REFUSED] * bool(problems)]
    return drawn
