"""The usual way to say that items differ, `l.all(a, l.exists_one(b, f(b) == f(a)))`, answered with one look at each item instead of n."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import no_overload
from .frame import Frame, Run
from .parser import Tree
from .values import class_of, equal

if TYPE_CHECKING:
    from .compiler import Compiler


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
        found = items(frame)
        if class_of(found) is not list:
            raise no_overload()
        frame.spend(len(found) * len(found) * cost)
        keys: list[Any] = []
        for item in found:
            frame.variables[slot] = item
            keys.append(make(frame))
        if all(type(key) is str for key in keys):
            return len({*keys}) == len(keys)
        return not any(equal(key, other) for index, key in enumerate(keys) for other in keys[:index])

    return run


def _same(one: Tree, other: Tree, renamed: dict[str, str]) -> bool:
    """Whether two trees say the same, with the names of the first renamed. Trees with names of their own don't count."""
    if (one.kind, len(one.below)) != (other.kind, len(other.below)) or one.kind not in ("ident", "select", "call", "index", "const"):
        return False
    name = renamed.get(one.name, one.name) if one.kind == "ident" else one.name
    alike = name == other.name and one.value == other.value and type(one.value) is type(other.value)
    return alike and all(_same(left, right, renamed) for left, right in zip(one.below, other.below, strict=True))


def _uses(tree: Tree, names: set[str]) -> bool:
    return (tree.kind == "ident" and tree.name in names) or any(_uses(one, names) for one in tree.below)
