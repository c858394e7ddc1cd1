"""An import contract of this project's own, which pyproject.toml names beside those of import-linter."""

from graphlib import CycleError, TopologicalSorter

import grimp
from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class NoCycles(Contract):
    """No module imports itself by way of others, wherever the imports stand, and be they for types alone."""

    package = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 - the signature is import-linter's
        """Builds a graph of its own, as that of the other contracts has imports for types."""
        del graph
        found = cycle(imports(str(self.package)))
        return ContractCheck(kept=not found, metadata={"cycle": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints one cycle."""
        output.print_error(" -> ".join(check.metadata["cycle"]))


def imports(package: str) -> dict[str, set[str]]:
    """What each module of a package imports."""
    graph = grimp.build_graph(package, exclude_type_checking_imports=False, cache_dir=None)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def cycle(imported: dict[str, set[str]]) -> list[str]:
    """Modules of which each imports the next and the last is the first; empty when there are none."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []
