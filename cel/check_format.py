"""Checks a call of `format` whose text and list of arguments are literals, as an API server does when a policy is created."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .library.formatting import CLAUSE, MAX_DIGITS
from .parser import Tree
from .types import DYN, StaticType

_PRINTED: Final = frozenset(
    {"bool", "bytes", "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int", "list", "map", "null_type", "string"}
    | {"type", "uint"}
)
# clause -> the types that it takes, and the beginning of the message about others
_ACCEPTED: Final[dict[str, tuple[frozenset[str], str]]] = {
    "s": (
        _PRINTED,
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
    ),
    "d": (frozenset({"int", "uint"}), "decimal clause can only be used on integers"),
    "f": (frozenset({"double", "string"}), "fixed-point clause can only be used on doubles"),
    "e": (frozenset({"double", "string"}), "scientific clause can only be used on doubles"),
    "b": (frozenset({"int", "uint", "bool"}), "only integers and bools can be formatted as binary"),
    "x": (frozenset({"int", "uint", "string", "bytes"}), "only integers, byte buffers, and strings can be formatted as hex"),
    "o": (frozenset({"int", "uint"}), "octal clause can only be used on integers"),
}


def check_format(tree: Tree, type_of: Callable[[Tree], StaticType]) -> tuple[Tree, str] | None:
    """The node that is wrong, and why; None if all fits."""
    text, given = tree.below
    used = 0
    for match in CLAUSE.finditer(text.value):
        if match[1]:
            continue
        if match[3] is None:
            return tree, "unexpected end of string"
        known = _ACCEPTED.get("x" if match[3] == "X" else match[3])
        if known is None:
            return tree, f'could not parse formatting clause: unrecognized formatting clause "{match[3]}"'
        if used >= len(given.below):
            return tree, f"index {used} out of range"
        if match[2] is not None and int(match[2]) > MAX_DIGITS:
            return tree, f"could not parse formatting clause: precision must be at most {MAX_DIGITS}"
        wrong = _find_wrong(given.below[used], type_of, known[0], inside=match[3] == "s")
        if wrong is not None:
            return wrong, f"error during formatting: {known[1]}, was given {type_of(wrong).name}"
        used += 1
    if len(given.below) > used:
        return tree, f"too many arguments supplied to string.format (expected {used}, got {len(given.below)})"
    return None


def _find_wrong(tree: Tree, type_of: Callable[[Tree], StaticType], taken: frozenset[str], *, inside: bool) -> Tree | None:
    """The first node with a type that isn't taken: this one, or one in the list or map that it is."""
    kind = type_of(tree)
    if kind is not DYN and kind.name not in taken:
        return tree
    below = tree.below if inside and tree.kind in ("list", "map") else ()
    return next((wrong for node in below if (wrong := _find_wrong(node, type_of, taken, inside=True)) is not None), None)
