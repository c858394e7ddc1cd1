"""An import contract of this project's own, which pyproject.toml names beside those of import-linter."""

from graphlib import CycleError, TopologicalSorter

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class NoCycles(Contract):
    """No module imports itself by way of others, wherever the imports stand, and be they for types alone."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 - the signature is import-linter's
        """Looks at every import that import-linter has found."""
        modules = cycle({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})
        return ContractCheck(kept=not modules, metadata={"cycle": modules})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints one cycle."""
        output.print_error(" -> ".join(check.metadata["cycle"]))


def cycle(imported: dict[str, set[str]]) -> list[str]:
    """Modules of which each imports the next and the last is the first; empty when there are none."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []
