"""When an expression is plainly true: what an object must lack, so that most rules of most objects need no evaluation."""

from __future__ import annotations

from .parser import Tree

# the object has no such field, or if a value is given, not that text in it
Lack = tuple[str, str | None]


def true_without(tree: Tree, root: str) -> frozenset[Lack]:
    """Returns what makes an expression true, each alone, if the object that `root` names lacks it."""
    if tree.kind == "not":
        return false_without(tree.below[0], root)
    if tree.kind == "or":
        return frozenset().union(*(true_without(one, root) for one in tree.below))
    return frozenset()


def false_without(tree: Tree, root: str) -> frozenset[Lack]:
    """Returns what makes it false. A text is compared only where the field is asked for first: without it, that is false already."""
    if tree.kind == "not":
        return true_without(tree.below[0], root)
    if tree.kind == "and":
        found: frozenset[Lack] = frozenset().union(*(false_without(one, root) for one in tree.below))
        asked = {field for field, text in found if text is None}
        return found | {lack for one in tree.below if (lack := _compared(one, root)) is not None and lack[0] in asked}
    if tree.kind == "call" and tree.name == "has" and not tree.value and len(tree.below) == 1:
        field = _field(tree.below[0], root)
        return frozenset() if field is None else frozenset({(field, None)})
    return frozenset()


def _compared(tree: Tree, root: str) -> Lack | None:
    """The field and the text of `root.field == 'text'`."""
    if tree.kind != "chain" or [sign for sign, _ in tree.value] != ["=="]:
        return None
    one, other = tree.below
    field = _field(one, root)
    return (field, other.value) if field is not None and other.kind == "const" and type(other.value) is str else None


def _field(tree: Tree, root: str) -> str | None:
    """The field of `root.field`."""
    plain = tree.kind == "select" and not tree.value and tree.below[0].kind == "ident" and tree.below[0].name == root
    return tree.name if plain else None
