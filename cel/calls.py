"""Calls of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .errors import EvaluationError, no_overload
from .overloads import choose, find
from .values import type_of

if TYPE_CHECKING:
    from .compiler import Compiler
    from .frame import Frame, Run
    from .overloads import Overload
    from .parser import Tree

_SILENT: Final = frozenset({"startsWith", "endsWith", "contains", "matches", "find", "findAll"})


def compile_call(compiler: Compiler, tree: Tree) -> Run:
    """Returns the function of a call: of a name behind a point, of a value, or of arguments alone."""
    name, below, of_value = tree.name, tree.below, bool(tree.value)
    space = compiler.qualified(below[0]) if of_value else None
    overloads = find(f"{space}.{name}", of_value=False) if space is not None else None
    if overloads is not None:
        name, below, of_value = f"{space}.{name}", below[1:], False
    else:
        overloads = find(name, of_value=of_value)
    if overloads is None:
        raise compiler.wrong(tree, f"undeclared reference to '{name}' (in container '')")
    runs = tuple(map(compiler.compile, below))
    if not _may_fit(below, overloads):
        kinds = [type_of(one.value).name if one.kind == "const" else "dyn" for one in below]
        shown = f"{kinds[0]}.({', '.join(kinds[1:])})" if of_value else f"({', '.join(kinds)})"
        raise compiler.wrong(tree, f"found no matching overload for '{name}' applied to '{shown}'")
    return _called(name, overloads, runs)


def _no_overload(name: str, arguments: list[Any]) -> EvaluationError:
    """The error of a call in an API server's words, which differ by function."""
    if name in _SILENT:
        return no_overload()
    kinds = f"({', '.join(type_of(one).name for one in arguments)})" if name != "size" else ""
    return EvaluationError(f"no such overload: {name}{kinds}")


def _may_fit(below: tuple[Tree, ...], overloads: list[Overload]) -> bool:
    """Whether an overload may take the operands of a call; literals show their types."""
    if all(one.kind == "const" for one in below):
        return choose(overloads, [one.value for one in below]) is not None
    return any(... in one.types or len(one.types) == len(below) for one in overloads)


def _called(name: str, overloads: list[Overload], runs: tuple[Run, ...]) -> Run:
    """The call of a function; its overloads may grow when other modules of the library are imported."""
    known: dict[tuple[type, ...], Overload] = {}

    def run(frame: Frame) -> Any:
        arguments = [one(frame) for one in runs]
        kinds = tuple(map(type, arguments))
        chosen = known.get(kinds)
        if chosen is None:
            chosen = choose(overloads, arguments)
            if chosen is None:
                raise _no_overload(name, arguments)
            known[kinds] = chosen
        frame.spend_size(*arguments)
        if chosen.cost is not None:
            frame.spend(chosen.cost(*arguments))
        return chosen.run(*arguments)

    return run
