"""Turns a tree into nested Python functions: each takes a frame and returns the value of its node.

Nodes cost the same as in an API server: the fixed part of a block is charged when the block is entered, the rest by the size of operands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias

from .equality import equal, equate
from .errors import EvaluationError, OverBudgetError, ParseError, no_overload
from .frame import SIZED, Frame, Run
from .lexer import wrong_at
from .operators import BINARY, METERED, negate
from .overloads import Overload, choose, find
from .parser import Tree, dotted_name
from .values import NONE, TYPES, Lazy, Optional, look_up_optional, make_map, type_of

Macro: TypeAlias = Callable[["Compiler", Tree], Run]
_COST_OF: Final = {"const": 0, "and": 0, "or": 0, "cond": 0, "list": 10, "map": 30}


class Compiler:
    """Compiles the nodes of one tree. `cost` is the fixed cost of the block that is being compiled."""

    def __init__(self, text: str, names: Collection[str], find_macro: Callable[[Tree], Macro | None], *, traced: bool = False) -> None:
        self.text = text
        self.find_macro = find_macro
        self.names = names
        self.traced = traced
        self.used: set[str] = set()
        self.cost = 0
        self.variables = 0
        self.scope: dict[str, int] = {}

    def compile(self, tree: Tree) -> Run:
        """Returns the function of a node."""
        self.cost += _COST_OF.get(tree.kind, 1) + len(tree.below) // 10
        made: Run = getattr(self, "_" + tree.kind)(tree)
        return made

    def block(self, tree: Tree) -> tuple[Run, int]:
        """Returns the function of a node that isn't always evaluated, and its fixed cost."""
        outer, self.cost = self.cost, 0
        run = self.compile(tree)
        inner, self.cost = self.cost, outer
        return run, inner

    def wrong(self, tree: Tree, sentence: str) -> ParseError:
        """The error of a node."""
        return wrong_at(self.text, tree.at, sentence)

    def _const(self, tree: Tree) -> Run:
        value = tree.value
        return lambda _frame: value

    def _ident(self, tree: Tree) -> Run:
        name = tree.name
        if name in self.scope and not tree.value:
            slot = self.scope[name]
            return lambda frame: frame.variables[slot]
        root = self._root(name)
        if root is None:
            raise self.wrong(tree, f"undeclared reference to '{name}' (in container '')")
        return root

    def _root(self, name: str) -> Run | None:
        """Compiles a name that isn't a variable of a macro."""
        if name in self.names:
            self.used.add(name)

            def run(frame: Frame) -> Any:
                try:
                    value = frame.roots[name]
                except KeyError:
                    raise EvaluationError(f"no such attribute(s): {name}") from None
                return value.get() if type(value) is Lazy else value

            return run
        if name in TYPES:
            value = TYPES[name]
            return lambda _frame: value
        return None

    def _select(self, tree: Tree) -> Run:
        name = dotted_name(tree, self.scope)
        named = None if name is None else self._root(name)
        if named is not None:
            return named
        operand, field, traced = self.compile(tree.below[0]), tree.name, self.traced
        if tree.value:
            return self._look_up_optional(operand, lambda _frame: field)
        root = self._plain_root(tree.below[0])

        def run(frame: Frame) -> Any:
            value = frame.roots.get(root) if root else None
            if type(value) is not dict:
                value = operand(frame)
            if traced:
                frame.last = (value, field)
            if type(value) is not dict:
                return select(value, field)
            try:
                member = value[field]
            except KeyError:
                raise EvaluationError(f"no such key: {field}") from None
            return member.get() if type(member) is Lazy else member

        return run

    def has(self, tree: Tree) -> Run:
        """Whether a field is there."""
        operand, field, traced = self.compile(tree.below[0]), tree.name, self.traced
        root = self._plain_root(tree.below[0])

        def run(frame: Frame) -> bool:
            value = frame.roots.get(root) if root else None
            if type(value) is not dict:
                value = operand(frame)
            if traced:
                frame.last = (value, field)
            if type(value) is dict:
                return field in value
            return look_up_optional(value, field) is not NONE

        return run

    def _plain_root(self, tree: Tree) -> str:
        """The name of a tree that is nothing but a name that is bound: its object needs no call."""
        return tree.name if tree.kind == "ident" and tree.name in self.names and (tree.name not in self.scope or tree.value) else ""

    def _index(self, tree: Tree) -> Run:
        operand, key, traced = self.compile(tree.below[0]), self.compile(tree.below[1]), self.traced
        if tree.value:
            return self._look_up_optional(operand, key)
        look_up = BINARY["[]"]

        def run(frame: Frame) -> Any:
            value, step = operand(frame), key(frame)
            frame.spend_compared(step)
            if traced:
                frame.last = (value, step)
            if type(value) is Optional:
                return look_up_optional(value, step)
            item = look_up(value, step)
            return item.get() if type(item) is Lazy else item

        return run

    def _look_up_optional(self, operand: Run, key: Run) -> Run:
        traced = self.traced

        def run(frame: Frame) -> Optional:
            value, step = operand(frame), key(frame)
            frame.spend_compared(step)
            if traced:
                frame.last = (value.value if type(value) is Optional else value, step)
            return look_up_optional(value, step)

        return run

    def _or(self, tree: Tree) -> Run:
        """Also `and`: one operand that decides is enough, whatever error the others have."""
        stop = tree.kind == "or"
        steps = ((self.compile(tree.below[0]), 0), *map(self.block, tree.below[1:]))
        go = not stop

        def run(frame: Frame) -> bool:
            failed: EvaluationError | None = None
            for step, cost in steps:
                frame.remaining -= cost
                try:
                    value = step(frame)
                except OverBudgetError:
                    raise
                except EvaluationError as error:
                    failed = failed or error
                    continue
                if value is stop:
                    return not go
                if value is not go:
                    failed = failed or no_overload()
            if failed is not None:
                raise failed
            return go

        return run

    _and = _or

    def _cond(self, tree: Tree) -> Run:
        decide = self.compile(tree.below[0])
        (then, cost), (otherwise, other_cost) = self.block(tree.below[1]), self.block(tree.below[2])

        def run(frame: Frame) -> Any:
            value = decide(frame)
            if value is True:
                frame.remaining -= cost
                return then(frame)
            if value is not False:
                raise no_overload()
            frame.remaining -= other_cost
            return otherwise(frame)

        return run

    def _not(self, tree: Tree) -> Run:
        operand = self.compile(tree.below[0])

        def run(frame: Frame) -> bool:
            value = operand(frame)
            if type(value) is not bool:
                raise no_overload()
            return not value

        return run

    def _neg(self, tree: Tree) -> Run:
        operand = self.compile(tree.below[0])
        return lambda frame: negate(operand(frame))

    def _chain(self, tree: Tree) -> Run:
        first, second = tree.below[0], tree.below[1]
        sign = tree.value[0][0]
        if len(tree.value) == 1 and sign in ("==", "!=") and type(second.value) is str and second.kind == "const":
            return self._compare(self.compile(first), second.value, wanted=sign == "==")
        if len(tree.value) == 1:
            return binary(sign, self.compile(first), self.compile(second))
        self.cost += len(tree.value) - 1
        start = self.compile(first)
        steps = [(sign, self.compile(operand)) for (sign, _), operand in zip(tree.value, tree.below[1:], strict=True)]

        def run(frame: Frame) -> Any:
            value = start(frame)
            for sign, operand in steps:
                value = apply(frame, sign, value, operand(frame))
            return value

        return run

    def _compare(self, operand: Run, text: str, *, wanted: bool) -> Run:
        """Compiles a comparison with a literal text, as in most expressions."""

        def run(frame: Frame) -> bool:
            value = operand(frame)
            if type(value) is str:
                return (value == text) is wanted
            return equate(frame, value, text) if wanted else not equal(frame, value, text)

        return run

    def _list(self, tree: Tree) -> Run:
        runs = tuple(map(self.compile, tree.below))
        if not tree.value:
            if all(item.kind == "const" for item in tree.below):
                made = [item.value for item in tree.below]
                return lambda _frame: made
            return lambda frame: [run(frame) for run in runs]
        optional = [index in tree.value for index in range(len(runs))]

        def build(frame: Frame) -> list[Any]:
            pairs = [(run(frame), may) for run, may in zip(runs, optional, strict=True)]
            return [unwrap(item) if may else item for item, may in pairs if not may or item is not NONE]

        return build

    def _map(self, tree: Tree) -> Run:
        runs = [(self.compile(key), self.compile(value)) for key, value in zip(tree.below[::2], tree.below[1::2], strict=True)]
        optional = [index in tree.value for index in range(len(runs))]

        def build(frame: Frame) -> dict[Any, Any]:
            entries = [(key(frame), value(frame), may) for (key, value), may in zip(runs, optional, strict=True)]
            return make_map((key, unwrap(value) if may else value) for key, value, may in entries if not may or value is not NONE)

        return build

    def _call(self, tree: Tree) -> Run:
        macro = self.find_macro(tree)
        return compile_call(self, tree) if macro is None else macro(self, tree)


def select(value: Any, field: str) -> Any:
    """Returns what isn't plainly a field of an object."""
    if type(value) is Optional:
        return look_up_optional(value, field)
    return BINARY["[]"](value, field)


def unwrap(optional: Any) -> Any:
    """Returns what an optional holds."""
    if type(optional) is not Optional:
        raise no_overload()
    return optional.value


def binary(sign: str, left: Run, right: Run) -> Run:
    """Returns the function of an operator between two nodes."""
    if sign in METERED:
        return lambda frame: apply(frame, sign, left(frame), right(frame))
    act = BINARY[sign]

    def run(frame: Frame) -> Any:
        value, other = left(frame), right(frame)
        if type(value) in SIZED:
            frame.spend_size(value, other)
        return act(value, other)

    return run


def apply(frame: Frame, sign: str, value: Any, other: Any) -> Any:
    """Applies an operator to two values."""
    if type(value) in SIZED or sign == "in":
        frame.spend_size(value, other)
    return METERED[sign](frame, value, other) if sign in METERED else BINARY[sign](value, other)


_SILENT: Final = frozenset({"startsWith", "endsWith", "contains", "matches", "find", "findAll"})


def compile_call(compiler: Compiler, tree: Tree) -> Run:
    """Returns the function of a call: of a name behind a point, of a value, or of arguments alone."""
    name, below, of_value = tree.name, tree.below, bool(tree.value)
    space = dotted_name(below[0], compiler.scope) if of_value else None
    overloads = find(f"{space}.{name}", of_value=False) if space is not None else None
    if overloads is not None:
        name, below, of_value = f"{space}.{name}", below[1:], False
    else:
        overloads = find(name, of_value=of_value)
    if overloads is None:
        raise compiler.wrong(tree, f"undeclared reference to '{name}' (in container '')")
    runs = tuple(map(compiler.compile, below))
    if all(len(overload.types) != len(below) for overload in overloads):
        kinds = [type_of(node.value).name if node.kind == "const" else "dyn" for node in below]
        shown = f"{kinds[0]}.({', '.join(kinds[1:])})" if of_value else f"({', '.join(kinds)})"
        raise compiler.wrong(tree, f"found no matching overload for '{name}' applied to '{shown}'")
    return _called(name, overloads, runs)


def _no_overload(name: str, arguments: list[Any]) -> EvaluationError:
    """The error of a call in an API server's words, which differ by function."""
    if name in _SILENT:
        return no_overload()
    kinds = f"({', '.join(type_of(argument).name for argument in arguments)})" if name != "size" else ""
    return EvaluationError(f"no such overload: {name}{kinds}")


def _called(name: str, overloads: list[Overload], runs: tuple[Run, ...]) -> Run:
    """The call of a function; its overloads may grow when other modules of the library are imported."""
    known: dict[tuple[type, ...], Overload] = {}

    def run(frame: Frame) -> Any:
        arguments = [operand(frame) for operand in runs]
        kinds = tuple(map(type, arguments))
        chosen = known.get(kinds)
        if chosen is None:
            chosen = choose(overloads, arguments)
            if chosen is None:
                raise _no_overload(name, arguments)
            known[kinds] = chosen
        frame.spend_size(*arguments)
        return chosen.run(frame, *arguments) if chosen.metered else chosen.run(*arguments)

    return run
