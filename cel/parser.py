"""Reads an expression into a tree. Chains of one operator are one node, so that only nesting makes the tree deep."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, Final, NamedTuple

from .errors import ParseError
from .lexer import Token, tokens, wrong_at
from .values import MAX_INT64

MAX_LEVELS: Final = 100  # nested brackets, calls and conditions; selections one after the other may be twice as many

RESERVED: Final = frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()  # noqa: SIM905
)
_WORDS: Final = {"true": True, "false": False, "null": None}
NO_NAMES: Final = RESERVED | {*_WORDS, "in"}
_CHAINS: Final = ("or", "and", "chain", "chain", "chain")
_LEVELS: Final = {sign: level for level, signs in enumerate(("||", "&&", "== != < <= > >= in", "+ -", "* / %")) for sign in signs.split()}


class Tree(NamedTuple):
    """A node: its kind, its position, its name, the nodes below it, and any other data of its kind."""

    kind: str
    at: int
    name: str = ""
    below: tuple[Tree, ...] = ()
    value: Any = None


def dotted_name(tree: Tree, variables: Container[str]) -> str | None:
    """Returns the dotted name that a tree spells, unless it begins with a variable of a macro."""
    parts: list[str] = []
    while tree.kind == "select" and not tree.value:
        parts.append(tree.name)
        tree = tree.below[0]
    if tree.kind != "ident" or (tree.name in variables and not tree.value):
        return None
    return ".".join((tree.name, *reversed(parts)))


def parse(text: str) -> Tree:
    """Returns the tree of an expression. Raises ParseError."""
    return _Parser(text).parse_all()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._next = next(self._tokens)
        self._depth = 0

    def parse_all(self) -> Tree:
        tree = self._expression()
        if self._next.kind != "end":
            raise self._unexpected(("an operator", "the end"))
        return tree

    def _take(self) -> Token:
        taken = self._next
        if taken.kind != "end":
            self._next = next(self._tokens)
        return taken

    def _skip(self, kind: str) -> bool:
        found = self._next.kind == kind
        if found:
            self._take()
        return found

    def _expect(self, kind: str) -> Token:
        if self._next.kind != kind:
            raise self._unexpected((kind,))
        return self._take()

    def _unexpected(self, wanted: Iterable[str]) -> ParseError:
        found_token = "the end" if self._next.kind == "end" else repr(self._next.value)
        return wrong_at(self._text, self._next.at, f"Syntax error: there must be {' or '.join(wanted)} instead of {found_token}")

    def _expression(self) -> Tree:
        """Reads a condition with its branches, or an expression without any; the only way down into a nested expression."""
        self._depth += 1
        if self._depth > MAX_LEVELS:
            raise wrong_at(self._text, self._next.at, f"expression recursion limit exceeded: {MAX_LEVELS}")
        tree = self._operators()
        if self._next.kind == "?":
            at = self._take().at
            then = self._operators()
            self._expect(":")
            tree = Tree("cond", at, below=(tree, then, self._expression()))
        self._depth -= 1
        return tree

    def _operators(self) -> Tree:
        """A chain of operators of one level: `below` are the operands, `value` is the operators between them, with their places.

        Chains of a level that binds less wait in a stack for the next operand.
        """
        waiting: list[tuple[int, list[Tree], list[tuple[str, int]]]] = []
        while True:
            operand = self._unary()
            token = self._next
            sign = token.value if token.kind == "name" and token.value == "in" else token.kind
            level = _LEVELS.get(sign, -1)
            while waiting and waiting[-1][0] > level:
                done, operands, signs = waiting.pop()
                operand = Tree(_CHAINS[done], signs[0][1], below=(*operands, operand), value=tuple(signs))
            if level < 0:
                return operand
            if not waiting or waiting[-1][0] < level:
                waiting.append((level, [], []))
            waiting[-1][1].append(operand)
            waiting[-1][2].append((sign, self._take().at))

    def _unary(self) -> Tree:
        first = self._next
        if first.kind not in ("!", "-"):
            return self._member(self._primary())
        count = 0
        while self._skip(first.kind):
            count += 1
        if first.kind == "!" and self._skip("-"):
            if type(self._next.value) not in (int, float):
                raise self._unexpected(("a number",))
            return Tree("not", first.at, below=(Tree("const", first.at, value=-self._take().value),))
        token = self._next
        if first.kind == "-" and token.kind == "value" and type(token.value) in (int, float):
            self._take()
            count -= 1
            tree = self._member(Tree("const", first.at, value=-token.value))
        else:
            tree = self._member(self._primary())
        return tree if count % 2 == 0 else Tree("not" if first.kind == "!" else "neg", first.at, below=(tree,))

    def _member(self, tree: Tree) -> Tree:
        """Reads the selections, calls and indexes after a value."""
        if tree.kind == "const" and type(tree.value) is int and tree.value > MAX_INT64:
            raise wrong_at(self._text, tree.at, "invalid int literal")
        for _ in range(2 * MAX_LEVELS):
            token = self._next
            if token.kind in (".", ".?"):
                self._take()
                tree = self._selection(tree, token)
            elif token.kind in ("[", "[?"):
                self._take()
                key = self._expression()
                self._expect("]")
                tree = Tree("index", token.at, below=(tree, key), value=token.kind == "[?")
            else:
                return tree
        raise wrong_at(self._text, self._next.at, f"expression recursion limit exceeded: {2 * MAX_LEVELS}")

    def _selection(self, tree: Tree, sign: Token) -> Tree:
        token = self._take()
        if token.kind not in ("name", "quoted") or (token.kind == "name" and (token.value in _WORDS or token.value == "in")):
            raise wrong_at(self._text, token.at, "Syntax error: there must be the name of a field behind the point")
        if token.kind == "name" and sign.kind == "." and self._skip("("):
            return Tree("call", token.at, token.value, (tree, *self._arguments(")")), True)
        return Tree("select", sign.at, token.value, (tree,), sign.kind == ".?")

    def _arguments(self, closing: str) -> list[Tree]:
        arguments: list[Tree] = []
        if self._skip(closing):
            return arguments
        arguments.append(self._expression())
        while self._skip(","):
            arguments.append(self._expression())
        self._expect(closing)
        return arguments

    def _primary(self) -> Tree:
        token = self._take()
        if token.kind == "value":
            return Tree("const", token.at, value=token.value)
        if token.kind == "(":
            tree = self._expression()
            self._expect(")")
            return tree
        if token.kind in ("[", "[?"):
            return self._collection(token, "list", "]")
        if token.kind == "{":
            return self._collection(token, "map", "}")
        leading = token.kind == "."
        if leading:
            token = self._take()
        if token.kind != "name" or token.value == "in":
            raise wrong_at(self._text, token.at, f"Syntax error: there must be a value instead of {token.value!r}")
        if token.value in _WORDS and not leading:
            return Tree("const", token.at, value=_WORDS[token.value])
        if token.value in RESERVED:
            raise wrong_at(self._text, token.at, f"Syntax error: {token.value} is a reserved word")
        if self._skip("("):
            return Tree("call", token.at, token.value, tuple(self._arguments(")")), False)
        return Tree("ident", token.at, token.value, value=leading)

    def _collection(self, opening: Token, kind: str, closing: str) -> Tree:
        """A list or a map; a question mark makes an item optional."""
        items: list[Tree] = []
        optional: set[int] = set()
        marked = opening.kind == "[?"
        while marked or not self._skip(closing):
            if marked or self._skip("?"):
                optional.add(len(items) // 2 if kind == "map" else len(items))
            marked = False
            items.append(self._expression())
            if kind == "map":
                self._expect(":")
                items.append(self._expression())
            self._comma(closing)
        return Tree(kind, opening.at, below=tuple(items), value=frozenset(optional))

    def _comma(self, closing: str) -> None:
        """Reads a comma, which may also precede the closing sign."""
        if not self._skip(",") and self._next.kind != closing:
            raise self._unexpected((",", closing))
