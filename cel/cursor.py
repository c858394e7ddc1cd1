"""Completions at a place of an expression, and the meaning of a word of it, by the types that the checker finds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from .check import Checker, map_types
from .declarations import DECLARED, OPERATORS, SINCE, SINCE_MODULE, SINCE_TWO_VARIABLES, SPACES, split
from .errors import ParseError
from .parser import Tree, dotted_name, parse
from .types import DYN, ERROR, StaticType, Unifier, rename

_HERE: Final = "cursor_here"
_WORD: Final = re.compile(r"\w*")
_BRACKET: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?P<bracket>[][(){}])""")
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_NAMED: Final = ("ident", "select", "call")
_OPTIONAL: Final = "optional_type"
# macros with what they take and return; names that they bring are in small letters
_MACROS: Final = {
    "has": "has(field) -> bool",
    "all": "list(A).all(a, bool) -> bool",
    "exists": "list(A).exists(a, bool) -> bool",
    "exists_one": "list(A).exists_one(a, bool) -> bool",
    "existsOne": "list(A).existsOne(index, a, bool) -> bool",
    "filter": "list(A).filter(a, bool) -> list(A)",
    "map": "list(A).map(a, B) -> list(B)",
    "transformList": "list(A).transformList(index, a, B) -> list(B)",
    "transformMap": "map(A, B).transformMap(a, b, C) -> map(A, C)",
    "transformMapEntry": "map(A, B).transformMapEntry(a, b, map(C, D)) -> map(C, D)",
    "optMap": "optional(A).optMap(a, B) -> optional(B)",
    "optFlatMap": "optional(A).optFlatMap(a, optional(B)) -> optional(B)",
}
_TWO_VARIABLES: Final = frozenset({"existsOne", "transformList", "transformMap", "transformMapEntry"})


class Symbol(NamedTuple):
    """A word of an expression: the type before its point, its own type, and the names that it can be where no point is before it."""

    name: str
    owner: StaticType | None  # None without a point, and behind the name of a group of functions
    space: str  # that name, such as `sets`
    type: StaticType | None  # None for a function
    names: Mapping[str, StaticType]


class _ScopeRecorder(Checker):
    """A checker that keeps the names that are known at a word."""

    def __init__(self, text: str, names: Mapping[str, StaticType], wanted: Tree) -> None:
        super().__init__(text, names, 0)
        self._wanted, self.known = wanted, dict(names)

    def type_of(self, tree: Tree) -> StaticType:
        if tree is self._wanted:
            self.known = {**self.names, **self.scope}
        return super().type_of(tree)


def find_symbol(text: str, at: int, names: Mapping[str, StaticType]) -> Symbol | None:
    """The word around an offset of a text that can be parsed; None where none is a name."""
    start, end = _find_word(text, at)
    try:
        tree = parse(text)
    except (ParseError, RecursionError):
        return None
    wanted = next((node for node in _nodes(tree) if node.name == text[start:end] and _find_begin(text, node) == start), None)
    return None if wanted is None else _describe_symbol(text, tree, wanted, names)


def find_unwritten_symbol(text: str, at: int, names: Mapping[str, StaticType]) -> Symbol | None:
    """The place at an offset of a text that is being written, for a word that is not there yet; None inside a string."""
    start, end = _find_word(text, at)
    before = text[:start] + _HERE
    for tried in (before + text[end:], before + _close_brackets(before)):
        try:
            tree = parse(tried)
        except (ParseError, RecursionError):
            continue
        wanted = next((node for node in _nodes(tree) if node.name == _HERE), None)
        return None if wanted is None else _describe_symbol(tried, tree, wanted, names)
    return None


def _find_word(text: str, at: int) -> tuple[int, int]:
    """Finds where the word around an offset begins and ends."""
    begins = re.search(r"\w*\Z", text[:at])
    start = begins.start() if begins else at
    match = _WORD.match(text, at)
    return start, match.end() if match else at


def _find_begin(text: str, tree: Tree) -> int:
    """Finds where the name of a node begins; a selection begins with its point."""
    if tree.kind != "select":
        return tree.at
    return len(text) - len(text[tree.at :].lstrip(".? \t\n\r"))


def _nodes(tree: Tree) -> Iterator[Tree]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node.kind in _NAMED:
            yield node
        waiting += node.below


def _close_brackets(text: str) -> str:
    """The brackets that are open at the end of a text, closed."""
    closing: list[str] = []
    for match in _BRACKET.finditer(text):
        if match["bracket"] in _CLOSING:
            closing.append(_CLOSING[match["bracket"]])
        elif match["bracket"] and closing:
            closing.pop()
    return "".join(reversed(closing))


def _describe_symbol(text: str, tree: Tree, wanted: Tree, names: Mapping[str, StaticType]) -> Symbol:
    recorder = _ScopeRecorder(text, names, wanted)
    try:
        recorder.type_of(tree)
    except RecursionError:
        return Symbol(wanted.name, None, "", None, names)
    has_point = wanted.kind == "select" or (wanted.kind == "call" and bool(wanted.value))
    space = (dotted_name(wanted.below[0], recorder.known) or "") if has_point else ""
    if space not in SPACES:
        space = ""
    owner = recorder.types.get(id(wanted.below[0]), DYN) if has_point and not space else None
    own = recorder.types.get(id(wanted)) if wanted.kind != "call" else None
    return Symbol(wanted.name, owner and _resolve_type(recorder, owner), space, own and _resolve_type(recorder, own), recorder.known)


def _resolve_type(recorder: Checker, kind: StaticType) -> StaticType:
    resolved = recorder.unifier.resolve(kind, unbound=DYN)
    return DYN if resolved is ERROR else resolved


def fields_of(owner: StaticType) -> Mapping[str, StaticType]:
    """The fields of a structure, also of one that is optional."""
    inner = owner.of[0] if owner.name == _OPTIONAL else owner
    return inner.fields or {}


def list_functions(symbol: Symbol, minor: int = 0) -> dict[str, list[str]]:
    """The functions and macros of a minor release of Kubernetes, 0 for any, that can be at a place, each with its signatures."""
    functions: dict[str, list[str]] = {}
    for signature, name, operands, since in _functions():
        space, _, last = name.rpartition(".")
        if operands is None if symbol.owner is not None else (operands is not None or space != symbol.space):
            continue
        if 0 < minor < since:
            continue
        if symbol.owner is None or operands is None or _accepts(name, operands, symbol.owner):
            functions.setdefault(last, []).append(signature)
    return functions


@cache
def _functions() -> tuple[tuple[str, str, StaticType | None, int], ...]:
    """The signature and name of each function, the type of the value before its point, and the first release that has it."""
    written = (signature for signature in OPERATORS if signature.startswith("optional(V)."))
    return tuple(
        _describe(module, signature) for module, many in (*DECLARED.items(), ("", (*written, *_MACROS.values()))) for signature in many
    )


def _describe(module: str, signature: str) -> tuple[str, str, StaticType | None, int]:
    name, of_value, operands, result = split(signature)
    since = SINCE_TWO_VARIABLES if name in _TWO_VARIABLES else SINCE.get(name, SINCE_MODULE.get(module, 0))
    if name in _MACROS:
        operands = signature.partition(f".{name}(")[0]
    return signature, name, map_types(operands, result)[0][0] if of_value else None, since


def _accepts(name: str, operands: StaticType, owner: StaticType) -> bool:
    """Whether a function can be called on a value; macros of lists can also be called on maps."""
    unifier = Unifier()
    return unifier.fit((owner,), (rename(operands, {}, unifier.parameter),)) or (
        name in _MACROS and operands.name == "list" and owner.name == "map"
    )
