"""The facts of a run: those of flags, or else of the project file."""

from ...policies.facts import Facts
from ..console.flags import FactFlags
from ..facts.load import fill_line, load_facts
from .options import ProjectOptions


def read_project_facts(facts: FactFlags, project: ProjectOptions) -> Facts:
    """Reads the facts; a mistake names the flag, or the line of the project file. Raises: UsageError."""
    called = f"{project.file.origins['facts']}: facts:" if project.file is not None and "facts" in project.laid else "--facts"
    return fill_line(load_facts(facts.file, facts.set_fact, called), facts.line)
