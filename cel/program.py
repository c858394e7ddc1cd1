"""An expression that is ready to be evaluated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from . import macros
from .compiler import Compiler
from .errors import EvaluationError, ParseError
from .frame import Frame
from .parser import Tree, parse
from .values import Lazy

if TYPE_CHECKING:
    from .check import CheckResult
    from .types import StaticType

# the object has no such field, or if a value is given, not that text in it
Lack = tuple[str, str | None]


def true_without(tree: Tree, root: str) -> frozenset[Lack]:
    """Returns what makes an expression true, each alone, if the object that `root` names lacks it."""
    if tree.kind == "not":
        return false_without(tree.below[0], root)
    if tree.kind == "or":
        return frozenset().union(*(true_without(node, root) for node in tree.below))
    return frozenset()


def false_without(tree: Tree, root: str) -> frozenset[Lack]:
    """Returns what makes it false. A text is compared only where the field is asked for first: without it, that is false already."""
    if tree.kind == "not":
        return true_without(tree.below[0], root)
    if tree.kind == "and":
        lacks: frozenset[Lack] = frozenset().union(*(false_without(node, root) for node in tree.below))
        fields = {field for field, text in lacks if text is None}
        return lacks | {lack for node in tree.below if (lack := _compared(node, root)) is not None and lack[0] in fields}
    if tree.kind == "call" and tree.name == "has" and not tree.value and len(tree.below) == 1:
        field = _field(tree.below[0], root)
        return frozenset() if field is None else frozenset({(field, None)})
    return frozenset()


def _compared(tree: Tree, root: str) -> Lack | None:
    """The field and the text of `root.field == 'text'`."""
    if tree.kind != "chain" or [sign for sign, _ in tree.value] != ["=="]:
        return None
    left, other = tree.below
    field = _field(left, root)
    return (field, other.value) if field is not None and other.kind == "const" and type(other.value) is str else None


def _field(tree: Tree, root: str) -> str | None:
    """The field of `root.field`."""
    plain = tree.kind == "select" and not tree.value and tree.below[0].kind == "ident" and tree.below[0].name == root
    return tree.name if plain else None


DEFAULT_BUDGET: Final = 1_000_000  # what one evaluation may cost, as for an API server


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
            self._compiler = Compiler(text, names, macros.find)
            self._run = self._compiler.compile(self._tree)
        except RecursionError:
            raise ParseError("the expression must not be nested as deeply") from None
        self.names: frozenset[str] = frozenset(self._compiler.used)

    def evaluate(self, bindings: Mapping[str, object], budget: int = DEFAULT_BUDGET) -> object:
        """Returns the value for the data bound to the names: JSON's data, or a Lazy that makes it. Raises EvaluationError."""
        compiler = self._compiler
        try:
            return self._run(Frame(bindings, compiler.variables, budget - compiler.cost))
        except RecursionError:
            raise EvaluationError("the values must not be nested as deeply") from None

    def check(self, names: Mapping[str, StaticType], minor: int = 0) -> CheckResult:
        """Checks the types; `names` are those of the names, `minor` is the oldest release of Kubernetes that must know it, 0 any."""
        from .check import check_tree

        return check_tree(self.text, self._tree, names, minor)

    def true_without(self, root: str) -> frozenset[tuple[str, str | None]]:
        """Returns fields of the object that `root` names: without any of them, or with another text in it if there is one, it is true."""
        return true_without(self._tree, root)

    def evaluate_traced(self, bindings: Mapping[str, object], budget: int = DEFAULT_BUDGET) -> tuple[object, tuple[str | int, ...] | None]:
        """Returns the value and the path to the field that was read last, beginning with a name.

        The path is None if nothing was read, or if the last read wasn't of the given data. An EvaluationError has the path, too.
        """
        if self._traced is None:
            compiler = Compiler(self.text, self._declared, macros.find, traced=True)
            self._traced = (compiler, compiler.compile(self._tree))
        compiler, run = self._traced
        frame = Frame(bindings, compiler.variables, budget - compiler.cost)
        try:
            return run(frame), _find_path(bindings, frame.last)
        except RecursionError:
            raise EvaluationError("the values must not be nested as deeply") from None
        except EvaluationError as error:
            error.path = _find_path(bindings, frame.last)
            raise


# a step behind those before it: of deep data all paths together would be too long
_Trail: TypeAlias = "tuple[_Trail | None, str | int]"


def _find_path(bindings: Mapping[str, object], source: tuple[Any, Any] | None) -> tuple[str | int, ...] | None:
    """Finds the container that was read by its identity."""
    if source is None:
        return None
    wanted, step = source
    waiting: list[tuple[object, _Trail]] = [(value, (None, name)) for name, value in reversed([*bindings.items()])]
    visited: set[int] = set()
    while waiting:
        container, trail = waiting.pop()
        if type(container) is Lazy:
            container = container.known
        if container is wanted:
            return _to_path((trail, step) if isinstance(step, (str, int)) else trail)
        if not isinstance(container, (dict, list)) or id(container) in visited:
            continue
        visited.add(id(container))
        below = container.items() if isinstance(container, dict) else enumerate(container)
        waiting += [(value, (trail, key)) for key, value in below if isinstance(value, (dict, list, Lazy))]
    return None


def _to_path(trail: _Trail | None) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    return tuple(reversed(steps))
