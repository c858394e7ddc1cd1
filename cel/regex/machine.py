"""Runs a regular expression over a text without ever going back: all ways to match advance together, a character at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from .syntax import Chars, RegexError, Tree, parse

MAX_INSTRUCTIONS: Final = 5_000  # of a machine
_MAX_CACHED_STEPS: Final = 2_000  # of a machine
_MAX_CACHED_STATES: Final = 50_000  # in them
_WORD: Final = Chars((("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")))

States = tuple[int, ...]


def _size(tree: Tree) -> int:
    """Counts the instructions that a tree makes."""
    kind = tree[0]
    if kind in ("cat", "alt"):
        return sum(map(_size, tree[1])) + (2 * len(tree[1]) - 2 if kind == "alt" else 0)
    if kind != "rep":
        return 1
    size, least, most = _size(tree[1]), int(tree[2]), tree[3]
    return least * size + (2 + size if most is None else (int(most) - least) * (1 + size))


def read_pattern(text: str) -> Tree:
    """The tree of a pattern that isn't too large for a machine. Raises: RegexError."""
    tree = parse(text)
    if _size(tree) >= MAX_INSTRUCTIONS:
        raise RegexError("expression too large")
    return tree


class Regex:
    """A machine: instructions are (kind, operand, next instructions), and begin at 0."""

    def __init__(self, text: str) -> None:
        self._code: list[tuple[str, Any, tuple[int, ...]]] = []
        self._add(read_pattern(text))
        self._code.append(("match", None, ()))
        self._asserts = any(kind == "assert" for kind, _, _ in self._code)
        self._reads: dict[tuple[int, str], bool] = {}
        self._known: dict[tuple[States, str, str], tuple[States, bool]] = {}
        self._cached_states = 0  # states in remembered steps

    def __len__(self) -> int:
        return len(self._code)

    def _emit(self, kind: str, what: Any = None, goes: tuple[int, ...] = ()) -> int:
        self._code.append((kind, what, goes))
        return len(self._code) - 1

    def _add(self, tree: Tree) -> None:
        """Adds the instructions of a tree, which go on behind themselves."""
        kind = tree[0]
        if kind in ("chars", "assert"):
            at = self._emit(kind, tree[1])
            self._code[at] = (kind, tree[1], (at + 1,))
        elif kind == "cat":
            for part in tree[1]:
                self._add(part)
        elif kind == "alt":
            self._add_alternatives(tree[1])
        else:
            self._add_repeated(*tree[1:])

    def _split(self, at: int, way: int, other: int, *, greedy: bool = True) -> None:
        self._code[at] = ("split", None, (way, other) if greedy else (other, way))

    def _add_alternatives(self, trees: tuple[Tree, ...]) -> None:
        ends: list[int] = []
        for tree in trees[:-1]:
            at = self._emit("split")
            self._add(tree)
            ends.append(self._emit("split"))
            self._split(at, at + 1, len(self._code))
        self._add(trees[-1])
        for end in ends:
            self._code[end] = ("split", None, (len(self._code),))

    def _add_repeated(self, tree: Tree, least: int, most: int | None, greedy: bool) -> None:
        for _ in range(least):
            self._add(tree)
        if most is None:
            at = self._emit("split")
            self._add(tree)
            end = self._emit("split")
            self._code[end] = ("split", None, (at,))
            self._split(at, at + 1, len(self._code), greedy=greedy)
            return
        starts = []
        for _ in range(most - least):
            starts.append(self._emit("split"))
            self._add(tree)
        for at in starts:
            self._split(at, at + 1, len(self._code), greedy=greedy)

    def matches(self, text: str) -> bool:
        """Whether the expression matches anywhere in the text."""
        states: States = ()
        known = self._known
        before = ""
        for char in (*text, ""):
            key = (states, before if self._asserts else "", char)
            step = known.get(key)
            if step is None:
                if len(known) >= _MAX_CACHED_STEPS or self._cached_states >= _MAX_CACHED_STATES:
                    known.clear()
                    self._cached_states = 0
                step = known[key] = self._step((*states, 0), before, char)
                self._cached_states += len(step[0])
            states, done = step
            if done:
                return True
            before = char
        return False

    def _step(self, states: States, before: str, char: str) -> tuple[States, bool]:
        """Reads one character, or the end, behind another: where the machine may be next, and whether it has matched."""
        following, matched = self._advance([(at, 0) for at in states], before, char)
        return tuple(sorted(at for at, _ in following)), matched is not None

    def _advance(self, ways: list[tuple[int, int]], before: str, char: str) -> tuple[list[tuple[int, int]], int | None]:
        """Follows each way, an instruction and where its match begins, in the order of preference.

        Returns the ways on behind the character, those that are preferred to a match, and where that begins if there is one.
        """
        code, reads = self._code, self._reads
        seen: set[int] = set()
        following: list[tuple[int, int]] = []
        waiting = ways[::-1]
        while waiting:
            at, begin = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            kind, what, goes = code[at]
            if kind == "split":
                waiting.extend([(way, begin) for way in reversed(goes)])
            elif kind == "chars":
                read = reads.get((at, char))
                if read is None:
                    if len(reads) >= 10 * _MAX_CACHED_STEPS:
                        reads.clear()
                    read = reads[at, char] = bool(char) and what.has(char)
                if read:
                    following.append((goes[0], begin))
            elif kind == "match":
                return following, begin
            elif _asserted(what, before, char):
                waiting.append((goes[0], begin))
        return following, None

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Returns the ends of the leftmost match from a place on, that which a search going back would find."""
        ways: list[tuple[int, int]] = []
        best: tuple[int, int] | None = None
        for at in range(start, len(text) + 1):
            if best is None:
                ways.append((0, at))
            elif not ways:
                break
            ways, begin = self._advance(ways, text[at - 1 : at] if at else "", text[at : at + 1])
            if begin is not None:
                best = (begin, at)
        return best

    def find_all(self, text: str) -> Iterator[str]:
        """Yields the matches one behind the other; none is empty right behind another."""
        at, last = 0, -1
        while at <= len(text):
            match = self.find(text, at)
            if match is None:
                return
            begin, end = match
            if begin == end == last:
                at = end + 1
                continue
            yield text[begin:end]
            last = end
            at = end if end > begin else end + 1


def _asserted(kind: str, before: str, char: str) -> bool:
    """Whether a place between two characters is what an assertion asks for; at the ends of the text one of them is empty."""
    if kind == "begin":
        return not before
    if kind == "end":
        return not char
    if kind == "begin_line":
        return before in ("", "\n")
    if kind == "end_line":
        return char in ("", "\n")
    return ((bool(before) and _WORD.has(before)) != (bool(char) and _WORD.has(char))) is (kind == "word")


compile_regex: Final = lru_cache(maxsize=256)(Regex)  # by its text; may raise RegexError
