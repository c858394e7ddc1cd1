"""Checks the types of macros, as if they were expanded to the functions and operators that define them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from .parser import Tree
from .types import BOOL, INT, StaticType, Unifier, make_type


class _Checker(Protocol):
    """The members of a tree's checker that macros need; the checker documents them."""

    scope: dict[str, StaticType]
    unifier: Unifier

    def type_of(self, tree: Tree) -> StaticType: ...
    def must_be_bool(self, tree: Tree) -> bool: ...
    def apply_overload(self, tree: Tree, name: str, *operands: StaticType, of_value: bool = False) -> StaticType: ...
    def loop(self, tree: Tree, variables: int) -> list[Tree]: ...
    def bind(self, names: tuple[Tree, ...], types: tuple[StaticType, ...]) -> None: ...
    def gather(self, tree: Tree, result_type: StaticType, make: Callable[[StaticType], StaticType], tests: list[Tree]) -> StaticType: ...


_Check: TypeAlias = Callable[[_Checker, Tree, int], StaticType]


def _quantified(checker: _Checker, tree: Tree, variables: int) -> StaticType:
    (test,) = checker.loop(tree, variables)
    checker.must_be_bool(test)
    return BOOL


def _exists_one(checker: _Checker, tree: Tree, variables: int) -> StaticType:
    (test,) = checker.loop(tree, variables)
    checker.apply_overload(tree, "?:", checker.type_of(test), INT, INT)
    return BOOL


def _filter(checker: _Checker, tree: Tree, variables: int) -> StaticType:
    (test,) = checker.loop(tree, variables)
    items = make_type("list", checker.scope[tree.below[1].name])
    empty = make_type("list", checker.unifier.parameter())
    return checker.gather(tree, empty, lambda collected: checker.apply_overload(tree, "+", collected, items), [test])


def _mapped(checker: _Checker, tree: Tree, variables: int) -> StaticType:
    *tests, result_type = checker.loop(tree, variables)

    def make(collected: StaticType) -> StaticType:
        return checker.apply_overload(tree, "+", collected, make_type("list", checker.type_of(result_type)))

    return checker.gather(tree, make_type("list", checker.unifier.parameter()), make, tests)


def _transformed(checker: _Checker, tree: Tree, variables: int) -> StaticType:
    *tests, result_type = checker.loop(tree, variables)
    empty = make_type("map", checker.unifier.parameter(), checker.unifier.parameter())
    key = () if tree.name == "transformMapEntry" else (checker.scope[tree.below[1].name],)

    def make(collected: StaticType) -> StaticType:
        return checker.apply_overload(tree, "insert", collected, *key, checker.type_of(result_type))

    return checker.gather(tree, empty, make, tests)


def _of_optional(checker: _Checker, tree: Tree, _: int) -> StaticType:
    target = checker.type_of(tree.below[0])
    checker.apply_overload(tree, "hasValue", target, of_value=True)
    checker.bind(tree.below[1:2], (checker.apply_overload(tree, "value", target, of_value=True),))
    body = checker.type_of(tree.below[2])
    result_type = checker.apply_overload(tree, "optional.of", body) if tree.name == "optMap" else body
    return checker.apply_overload(tree, "?:", BOOL, result_type, checker.apply_overload(tree, "optional.none"))


# name and number of arguments -> what checks it, and the number of its variables
MACROS: Final[dict[tuple[str, int], tuple[_Check, int]]] = {
    (name, variables + bodies): (check, variables)
    for names, variables, numbers, check in (
        ("all exists", 1, (1,), _quantified),
        ("all exists", 2, (1,), _quantified),
        ("exists_one", 1, (1,), _exists_one),
        ("exists_one existsOne", 2, (1,), _exists_one),
        ("filter", 1, (1,), _filter),
        ("map", 1, (1, 2), _mapped),
        ("transformList", 2, (1, 2), _mapped),
        ("transformMap transformMapEntry", 2, (1, 2), _transformed),
        ("optMap optFlatMap", 1, (1,), _of_optional),
    )
    for name in names.split()
    for bodies in numbers
}
