"""The command `picture`: graphs as Mermaid or SVG."""

from typing import Annotated, NamedTuple

from ...console import flags
from ...console.exits import NOTHING_FOUND, REFUSED, UNREADABLE, worst_code
from ...console.options import option, switch
from ...console.output import write_stderr, write_stdout
from ...files.find import find_files
from ...project.facts import read_project_facts
from ...project.options import ProjectOptions
from ..render.run import ConfigFlag, NamespaceFlag, Outcome, ask_for, lay_project, render_file, render_revision
from .formats import mermaid, svg
from .parts import Drawn, draw, pair_pictures

HELP = "draw graphs: components, pods, GPUs, claims and Services, and what a change does to them"


class Options(NamedTuple):
    """Flags and options."""

    paths: flags.Paths = ()
    exclude: flags.Exclude = ()
    output: Annotated[str, flags.output("mermaid", "svg", text="a Mermaid flowchart or an SVG (default mermaid)")] = "mermaid"
    against: Annotated[str | None, option("mark components added, removed, scaled or restarted since this Git revision", "GIT-REF")] = None
    namespace: NamespaceFlag = ""
    facts: flags.FactFlags = flags.FactFlags()
    config: ConfigFlag = None
    allow_empty: Annotated[bool, switch("accept no graph")] = False
    project: ProjectOptions = ProjectOptions()


def run(options: Options) -> int:
    """Draws all graphs of the input; 0, 1 when one can't be read (the rest is drawn), 3, 4.

    Raises: UsageError for wrong flags, facts, configuration or revision.
    """
    flags.need_paths(options.paths)
    options = lay_project(options, options.config, options.paths)
    known = read_project_facts(options.facts, options.project)
    asked = ask_for(known, options.config, options.namespace, lambda _: None, restarted=options.against is not None)
    files = find_files(options.paths, options.exclude)
    codes: list[int] = []
    after = [one for file in files for one in _draw(render_file(file, asked), codes)]
    if options.against is not None:
        named = [file for file in files if isinstance(file, str)]
        revision = render_revision(options.against, options.paths, options.exclude, named, asked)
        before = [one for was, begin in revision for one in _draw(was, codes, begin)]
        pictures = pair_pictures(before, after)
    else:
        pictures = [one.picture for one in after]
    if pictures:
        write_stdout((svg if options.output == "svg" else mermaid)(pictures))
    elif not options.allow_empty and UNREADABLE not in codes:
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
