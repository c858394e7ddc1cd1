"""Calls of functions, and what operators and optionals do when they are evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .errors import EvaluationError, no_overload
from .frame import SIZED, Frame, Run
from .operators import BINARY
from .overloads import Overload, choose, find
from .parser import Tree
from .values import Optional, look_up_optional, type_of

if TYPE_CHECKING:
    from .compiler import Compiler


def select(value: Any, field: str) -> Any:
    """Returns what isn't plainly a field of an object."""
    if type(value) is Optional:
        return look_up_optional(value, field)
    return BINARY["[]"](value, field)


def held(found: Any) -> Any:
    """Returns what an optional holds."""
    if type(found) is not Optional:
        raise no_overload()
    return found.value


def binary(sign: str, left: Run, right: Run) -> Run:
    """Returns the function of an operator between two nodes."""
    act = BINARY[sign]

    def run(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        if type(one) in SIZED or sign == "in":
            frame.spend_size(one, other)
        return act(one, other)

    return run


def apply(frame: Frame, sign: str, one: Any, other: Any) -> Any:
    """Applies an operator to two values."""
    if type(one) in SIZED or sign == "in":
        frame.spend_size(one, other)
    return BINARY[sign](one, other)


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
