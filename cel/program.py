"""An expression that is ready to be evaluated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from .compiler import Compiler
from .errors import EvaluationError, ParseError
from .frame import Frame
from .idle import true_without
from .parser import parse
from .values import Lazy

DEFAULT: Final = 1_000_000  # what one evaluation may cost, as for an API server


def compile_text(text: str, names: Collection[str]) -> Program:
    """Returns the program of an expression that may use the names, which may have points. Raises ParseError."""
    return Program(text, names)


class Program:
    """An expression and the names that it uses."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        self._declared = names
        self._traced: tuple[Compiler, Any] | None = None
        try:
            self._tree = parse(text)
            self._compiler = Compiler(text, names)
            self._run = self._compiler.compile(self._tree)
        except RecursionError:
            raise ParseError("the expression must not be nested as deeply") from None
        self.names: frozenset[str] = frozenset(self._compiler.used)

    def evaluate(self, bindings: Mapping[str, object], budget: int = DEFAULT) -> object:
        """Returns the value for what the names stand for: JSON's data, or a Lazy that makes it. Raises EvaluationError."""
        compiler = self._compiler
        try:
            return self._run(Frame(bindings, compiler.variables, budget - compiler.cost))
        except RecursionError:
            raise EvaluationError("the values must not be nested as deeply") from None

    def true_without(self, root: str) -> frozenset[tuple[str, str | None]]:
        """Returns fields of the object that `root` names: without any of them, or with another text in it if there is one, it is true."""
        return true_without(self._tree, root)

    def evaluate_traced(self, bindings: Mapping[str, object], budget: int = DEFAULT) -> tuple[object, tuple[str | int, ...] | None]:
        """Returns the value and the path to the field that was read last, beginning with a name.

        No path, if none was read that stands in what was given. An EvaluationError has the path, too.
        """
        if self._traced is None:
            compiler = Compiler(self.text, self._declared, traced=True)
            self._traced = (compiler, compiler.compile(self._tree))
        compiler, run = self._traced
        frame = Frame(bindings, compiler.variables, budget - compiler.cost)
        try:
            return run(frame), _path(bindings, frame.last)
        except RecursionError:
            raise EvaluationError("the values must not be nested as deeply") from None
        except EvaluationError as error:
            error.path = _path(bindings, frame.last)
            raise


def _path(bindings: Mapping[str, object], place: tuple[Any, Any] | None) -> tuple[str | int, ...] | None:
    """Finds the container that was read by its identity."""
    if place is None:
        return None
    wanted, step = place
    waiting: list[tuple[object, tuple[str | int, ...]]] = [(value, (name,)) for name, value in reversed([*bindings.items()])]
    seen: set[int] = set()
    while waiting:
        found, path = waiting.pop()
        if type(found) is Lazy:
            found = found.known
        if found is wanted:
            return (*path, step) if isinstance(step, (str, int)) else path
        if not isinstance(found, (dict, list)) or id(found) in seen:
            continue
        seen.add(id(found))
        below = found.items() if isinstance(found, dict) else enumerate(found)
        waiting += [(value, (*path, key)) for key, value in below if isinstance(value, (dict, list, Lazy))]
    return None
