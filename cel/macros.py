"""Macros: calls whose arguments are evaluated once for each item, with names for it."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from .compiler import Compiler, Macro
from .equality import equal
from .errors import EvaluationError, OverBudgetError, no_overload
from .frame import Frame, Run
from .parser import Tree
from .values import NONE, Flag, Optional, class_of, keys_of, make_map, type_of


def find(tree: Tree) -> Macro | None:
    """Returns the macro that a call is, or None for a function."""
    if not tree.value:
        return _has if tree.name == "has" and len(tree.below) == 1 else None
    macro = _MACROS.get(tree.name)
    return macro[1] if macro is not None and len(tree.below) - 1 in macro[0] else None


def _has(compiler: Compiler, tree: Tree) -> Run:
    tested = tree.below[0]
    if tested.kind != "select" or tested.value:
        raise compiler.wrong(tested, "invalid argument to has() macro: it must select a field, as in has(a.b)")
    return compiler.has(tested)


class _Loop:
    """The range of a macro, the slots of its variables, and its expressions as blocks: functions with their cost."""

    def __init__(self, compiler: Compiler, tree: Tree, variables: int, overhead: int) -> None:
        self.range = compiler.compile(tree.below[0])
        self.traced = compiler.traced
        self.two = variables == 2
        outer = compiler.scope
        names = [_name(compiler, node) for node in tree.below[1 : 1 + variables]]
        if len(set(names)) < len(names):
            raise compiler.wrong(tree.below[2], f"overlapping local variable name: {names[0]}")
        compiler.scope = outer | {name: compiler.variables + index for index, name in enumerate(names)}
        self.slot = compiler.variables
        compiler.variables += variables
        blocks = [compiler.block(node) for node in tree.below[1 + variables :]]
        compiler.scope = outer
        self.runs = [run for run, _ in blocks]
        self.costs = [cost for _, cost in blocks]
        self.cost = self.costs[0] + overhead

    def each(self, frame: Frame) -> Iterable[Any]:
        """Yields the items one after the other, each with its variables set and its cost paid."""
        container = self.range(frame)
        kind = class_of(container)
        if kind is list:
            pairs: Iterable[tuple[Any, Any]] = enumerate(container)
        elif kind is dict:
            pairs = zip(keys_of(container), container.values(), strict=True)
        else:
            raise EvaluationError(_no_range(container, two=self.two))
        variables, slot, cost = frame.variables, self.slot, self.cost
        for key, value in pairs:
            frame.remaining -= cost
            if frame.remaining < 0:
                raise OverBudgetError
            if self.two:
                variables[slot], variables[slot + 1] = key, value
            else:
                variables[slot] = value if kind is list else key
            if self.traced:
                frame.last = (container, key)
            yield key


def _no_range(value: Any, *, two: bool) -> str:
    """Says, in words of an API server, that a value has no items."""
    name = {bool: "Bool", int: "Int", float: "Double", str: "String", type(None): "Null"}.get(class_of(value), type_of(value).name)
    return f"unsupported comprehension range type: types.{name}" if two else f"got 'types.{name}', expected iterable type"


def _name(compiler: Compiler, tree: Tree) -> str:
    if tree.kind != "ident" or tree.value:
        raise compiler.wrong(tree, "argument must be a simple name")
    return tree.name


def _quantified(compiler: Compiler, tree: Tree, *, stop: bool) -> Run:
    """`all` and `exists`: one item that decides is enough, whatever error the others have."""
    loop = _Loop(compiler, tree, len(tree.below) - 2, 4 if stop else 3)
    test, go = loop.runs[0], not stop

    def run(frame: Frame) -> bool:
        failed: EvaluationError | None = None
        for _ in loop.each(frame):
            try:
                value = test(frame)
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


def _holds(test: Run, frame: Frame) -> bool:
    value = test(frame)
    if type(value) is bool:
        return value is True
    raise no_overload()


def _all(compiler: Compiler, tree: Tree) -> Run:
    key = find_key(tree) if len(tree.below) == 3 and not compiler.traced else None
    if key is None:
        return _quantified(compiler, tree, stop=False)
    slot, (make, cost) = _bound(compiler, key[0], key[1])
    return compile_unique(compiler, tree, make, slot, 2 * cost + 3)


def _exists_one(compiler: Compiler, tree: Tree) -> Run:
    loop = _Loop(compiler, tree, len(tree.below) - 2, 2)
    test = loop.runs[0]
    return lambda frame: sum(_holds(test, frame) for _ in loop.each(frame)) == 1


def _filter(compiler: Compiler, tree: Tree) -> Run:
    loop = _Loop(compiler, tree, 1, 12)
    test, slot = loop.runs[0], loop.slot
    return lambda frame: [frame.variables[slot] for _ in loop.each(frame) if _holds(test, frame)]


def _filter_items(loop: _Loop, with_test: bool) -> Callable[[Frame], Iterable[tuple[Any, Any]]]:
    """Yields the key of each item with what the last expression makes of it, where the one before it holds if there is one."""
    make, test, cost = loop.runs[-1], loop.runs[0], loop.costs[-1] if with_test else 0

    def each(frame: Frame) -> Iterable[tuple[Any, Any]]:
        for key in loop.each(frame):
            if not with_test or _holds(test, frame):
                frame.remaining -= cost
                yield key, make(frame)

    return each


def _map(compiler: Compiler, tree: Tree, *, variables: int = 1) -> Run:
    each = _filter_items(_Loop(compiler, tree, variables, 12), len(tree.below) == variables + 3)
    return lambda frame: [made for _, made in each(frame)]


def _transform_map(compiler: Compiler, tree: Tree) -> Run:
    each = _filter_items(_Loop(compiler, tree, 2, 32), len(tree.below) == 5)
    return lambda frame: make_map(each(frame))


def _transform_entry(compiler: Compiler, tree: Tree) -> Run:
    each = _filter_items(_Loop(compiler, tree, 2, 32), len(tree.below) == 5)

    def run(frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for _, entries in each(frame):
            if class_of(entries) is not dict:
                raise no_overload()
            frame.spend_size(entries)
            for key, value in entries.items():
                if key in made:
                    raise EvaluationError(f"insert failed: key {key.value if type(key) is Flag else key} already exists")
                made[key] = value
        return made

    return run


def _of_optional(compiler: Compiler, tree: Tree, *, flat: bool) -> Run:
    operand = compiler.compile(tree.below[0])
    slot, (body, cost) = _bound(compiler, _name(compiler, tree.below[1]), tree.below[2])

    def run(frame: Frame) -> Optional:
        value = operand(frame)
        if type(value) is not Optional:
            raise no_overload()
        if value is NONE:
            return NONE
        frame.variables[slot] = value.value
        frame.remaining -= cost
        made = body(frame)
        if not flat:
            return Optional(made)
        if type(made) is not Optional:
            raise no_overload()
        return made

    return run


def _or(compiler: Compiler, tree: Tree) -> Run:
    """Compiles `or` and `orValue`: the argument is only evaluated if no value exists; a non-optional value is the result, as in cel-go."""
    operand, (other, cost) = compiler.compile(tree.below[0]), compiler.block(tree.below[1])
    whole = tree.name == "or"

    def run(frame: Frame) -> Any:
        value = operand(frame)
        if value is not NONE:
            return value if whole or type(value) is not Optional else value.value
        frame.remaining -= cost
        return other(frame)

    return run


def _bound(compiler: Compiler, name: str, tree: Tree) -> tuple[int, tuple[Run, int]]:
    """Compiles a tree that uses a name, and returns the slot of the name."""
    outer, slot = compiler.scope, compiler.variables
    compiler.scope = outer | {name: slot}
    compiler.variables += 1
    body = compiler.block(tree)
    compiler.scope = outer
    return slot, body


_MACROS: Final[dict[str, tuple[tuple[int, ...], Macro]]] = {
    "all": ((2, 3), _all),
    "exists": ((2, 3), lambda compiler, tree: _quantified(compiler, tree, stop=True)),
    "exists_one": ((2, 3), _exists_one),
    "existsOne": ((3,), _exists_one),
    "filter": ((2,), _filter),
    "map": ((2, 3), _map),
    "transformList": ((3, 4), lambda compiler, tree: _map(compiler, tree, variables=2)),
    "transformMap": ((3, 4), _transform_map),
    "transformMapEntry": ((3, 4), _transform_entry),
    "or": ((1,), _or),
    "orValue": ((1,), _or),
    "optMap": ((2,), lambda compiler, tree: _of_optional(compiler, tree, flat=False)),
    "optFlatMap": ((2,), lambda compiler, tree: _of_optional(compiler, tree, flat=True)),
}


# The usual way to say that items differ, `l.all(a, l.exists_one(b, f(b) == f(a)))`, is answered with one look at each item instead of n.


def find_key(tree: Tree) -> tuple[str, Tree] | None:
    """Returns the name of an item and what must differ, if a call of `all` is such a sentence."""
    items, name, inner = tree.below
    if inner.kind != "call" or inner.name != "exists_one" or not inner.value or len(inner.below) != 3 or name.kind != "ident":
        return None
    same, other, test = inner.below
    if not _same(items, same, {}) or test.kind != "chain" or [sign for sign, _ in test.value] != ["=="] or other.name == name.name:
        return None
    first, second = test.below
    if _uses(items, {name.name, other.name}) or not _same(first, second, {other.name: name.name}) or _uses(second, {other.name}):
        return None
    return name.name, second


def compile_unique(compiler: Compiler, tree: Tree, make: Run, slot: int, cost: int) -> Run:
    """The sentence; it costs what asking each pair would."""
    items = compiler.compile(tree.below[0])

    def run(frame: Frame) -> bool:
        values = items(frame)
        if class_of(values) is not list:
            raise no_overload()
        frame.spend(len(values) * len(values) * cost)
        keys: list[Any] = []
        for item in values:
            frame.variables[slot] = item
            keys.append(make(frame))
        if all(type(key) is str for key in keys):
            return len({*keys}) == len(keys)
        return not any(equal(frame, key, other) for index, key in enumerate(keys) for other in keys[:index])

    return run


def _same(tree: Tree, other: Tree, renamed: dict[str, str]) -> bool:
    """Whether two trees say the same, with the names of the first renamed. Trees with names of their own don't count."""
    if (tree.kind, len(tree.below)) != (other.kind, len(other.below)) or tree.kind not in ("ident", "select", "call", "index", "const"):
        return False
    name = renamed.get(tree.name, tree.name) if tree.kind == "ident" else tree.name
    alike = name == other.name and tree.value == other.value and type(tree.value) is type(other.value)
    return alike and all(_same(left, right, renamed) for left, right in zip(tree.below, other.below, strict=True))


def _uses(tree: Tree, names: set[str]) -> bool:
    return (tree.kind == "ident" and tree.name in names) or any(_uses(node, names) for node in tree.below)
