"""Checks the types of macros, as if they were written out with the functions and operators that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from .parser import Tree
from .types import BOOL, INT, StaticType, make_type

if TYPE_CHECKING:
    from .check import Checker

_Check: TypeAlias = Callable[["Checker", Tree, int], StaticType]


def _quantified(checker: Checker, tree: Tree, variables: int) -> StaticType:
    (test,) = checker.loop(tree, variables)
    checker.must_be_bool(test)
    return BOOL


def _exists_one(checker: Checker, tree: Tree, variables: int) -> StaticType:
    (test,) = checker.loop(tree, variables)
    checker.applied(tree, "?:", checker.type_of(test), INT, INT)
    return BOOL


def _filter(checker: Checker, tree: Tree, variables: int) -> StaticType:
    (test,) = checker.loop(tree, variables)
    items = make_type("list", checker.scope[tree.below[1].name])
    empty = make_type("list", checker.unifier.parameter())
    return checker.gathered(tree, empty, lambda one: checker.applied(tree, "+", one, items), [test])


def _mapped(checker: Checker, tree: Tree, variables: int) -> StaticType:
    *tests, made = checker.loop(tree, variables)

    def make(one: StaticType) -> StaticType:
        return checker.applied(tree, "+", one, make_type("list", checker.type_of(made)))

    return checker.gathered(tree, make_type("list", checker.unifier.parameter()), make, tests)


def _transformed(checker: Checker, tree: Tree, variables: int) -> StaticType:
    *tests, made = checker.loop(tree, variables)
    empty = make_type("map", checker.unifier.parameter(), checker.unifier.parameter())
    key = () if tree.name == "transformMapEntry" else (checker.scope[tree.below[1].name],)

    def make(one: StaticType) -> StaticType:
        return checker.applied(tree, "insert", one, *key, checker.type_of(made))

    return checker.gathered(tree, empty, make, tests)


def _of_optional(checker: Checker, tree: Tree, _: int) -> StaticType:
    target = checker.type_of(tree.below[0])
    checker.applied(tree, "hasValue", target, of_value=True)
    checker.bind(tree.below[1:2], (checker.applied(tree, "value", target, of_value=True),))
    body = checker.type_of(tree.below[2])
    made = checker.applied(tree, "optional.of", body) if tree.name == "optMap" else body
    return checker.applied(tree, "?:", BOOL, made, checker.applied(tree, "optional.none"))


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
