"""Reads a regular expression into a tree of tuples."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

MAX_LEVELS: Final = 60
MAX_REPETITIONS: Final = 1000

# ranges, in their order
_LETTERS: Final = (("A", "Z"), ("a", "z"))
_DIGITS: Final = (("0", "9"),)
_PERL: Final = {"d": _DIGITS, "w": (*_DIGITS, ("A", "Z"), ("_", "_"), ("a", "z")), "s": (("\t", "\n"), ("\f", "\r"), (" ", " "))}
_POSIX: Final = {
    "alnum": (*_DIGITS, *_LETTERS),
    "alpha": _LETTERS,
    "ascii": (("\0", "\x7f"),),
    "blank": (("\t", "\t"), (" ", " ")),
    "cntrl": (("\0", "\x1f"), ("\x7f", "\x7f")),
    "digit": _DIGITS,
    "graph": (("!", "~"),),
    "lower": (("a", "z"),),
    "print": ((" ", "~"),),
    "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "space": (("\t", "\r"), (" ", " ")),
    "upper": (("A", "Z"),),
    "word": _PERL["w"],
    "xdigit": (*_DIGITS, ("A", "F"), ("a", "f")),
}
_NAME: Final = re.compile(r"\w+", re.ASCII)
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
# each with all that begin with its letter
_CATEGORIES: Final = {
    kinds[0] + kind for kinds in ("Lultmo", "Mnce", "Ndlo", "Pcdseifo", "Smcko", "Zslp", "Ccfos") for kind in ("", *kinds[1:])
}

_LAST: Final = "\U0010ffff"


class RegexError(ValueError):
    """A text that is no regular expression."""


class Chars(NamedTuple):
    """A set of characters: ranges in their order, categories of Unicode, and other sets."""

    ranges: tuple[tuple[str, str], ...] = ()
    categories: tuple[str, ...] = ()
    others: tuple[Chars, ...] = ()
    negated: bool = False
    folded: bool = False

    def has(self, char: str) -> bool:
        """Whether a character belongs to the set."""
        belongs = self._has(char) or (self.folded and any(map(self._has, orbit(char))))
        return belongs is not self.negated

    def _has(self, char: str) -> bool:
        after = bisect_right(self.ranges, (char, _LAST))
        return (
            (after > 0 and char <= self.ranges[after - 1][1])
            or any(other.has(char) for other in self.others)
            or (bool(self.categories) and unicodedata.category(char).startswith(self.categories))
        )


# letters that are neither the upper nor the title case of the one that they fold to
_ODD: Final = (
    "\xb5\u017f\u0345\u03c2\u03d0\u03d1\u03d5\u03d6\u03f0\u03f1\u03f4\u03f5\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85\u1c86\u1c87\u1c88"
    "\u1e9b\u1e9e\u1fbe\u2126\u212a\u212b"
)


def _folded(char: str) -> str:
    """The letter that a letter folds to alone, as CaseFolding.txt of Unicode says for C and S."""
    return next((letter for letter in (char.casefold(), char.lower()) if len(letter) == 1), char)


@lru_cache(maxsize=1024)
def orbit(char: str) -> tuple[str, ...]:
    """Returns the letters that are the same whatever their case, as RE2 takes them: `k`, `K` and the sign of Kelvin."""
    folded = _folded(char)
    return tuple(
        letter
        for letter in {folded, folded.upper(), folded.title(), folded.lower(), *_ODD}
        if len(letter) == 1 and _folded(letter) == folded
    )


ANY_CHAR: Final = Chars(negated=True)
BUT_NEWLINE: Final = Chars((("\n", "\n"),), negated=True)
Tree = tuple[Any, ...]


def parse(text: str) -> Tree:
    """Returns the tree: ("chars", set), ("cat", trees), ("alt", trees), ("rep", tree, least, most, greedy), ("assert", kind)."""
    parser = _Parser(text)
    tree = parser.alternatives("")
    if parser.at < len(text):
        raise RegexError(f"unexpected ): `{text}`")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def _wrong(self, what: str, start: int) -> RegexError:
        return RegexError(f"{what}: `{self.text[start : start + 40]}`")

    def _skip(self, part: str) -> bool:
        found = self.text.startswith(part, self.at)
        self.at += len(part) * found
        return found

    def alternatives(self, flags: str) -> Tree:
        self.depth += 1
        if self.depth > MAX_LEVELS:
            raise RegexError("expression nests too deeply")
        branches: list[Tree] = []
        items: list[Tree] = []
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self._skip("|"):
                branches.append(("cat", tuple(items)))
                items = []
                continue
            flags = self._item(items, flags)
        self.depth -= 1
        last: Tree = ("cat", tuple(items))
        return ("alt", (*branches, last)) if branches else last

    def _item(self, items: list[Tree], flags: str) -> str:
        """Reads one item with its repetition, and returns the flags for what follows."""
        start = self.at
        if self._skip("(?") and (changed := self._group_flags(flags, start)) is not None:
            if self._skip(")"):
                return changed
            self._skip(":")
            items.append(self._group(changed, start))
        elif self.text[start] == "(":
            self.at = start + 1
            items.append(self._group(flags, start))
        elif self.text[start] in "*+?":
            raise self._wrong("missing argument to repetition operator", start)
        elif self._skip("\\Q"):
            end = self.text.find("\\E", self.at)
            quoted = self.text[self.at : end if end >= 0 else len(self.text)]
            self.at += len(quoted) + 2 * (end >= 0)
            items.extend(("chars", _one(char, flags)) for char in quoted)
            if not quoted:
                return flags
        else:
            items.append(self._atom(flags))
        items[-1] = self._repeated(items[-1], flags, start)
        return flags

    def _group_flags(self, flags: str, start: int) -> str | None:
        """Reads the flags after `(?`, up to the colon or the bracket; None for a group with a name, which is read too."""
        for opening in ("P<", "<"):
            if self._skip(opening):
                end = self.text.find(">", self.at)
                if not _NAME.fullmatch(self.text, self.at, end):  # also where there is no end
                    raise self._wrong("invalid named capture", start)
                self.at = end + 1
                return flags
        on = True
        while self.at < len(self.text) and self.text[self.at] not in ":)":
            sign = self.text[self.at]
            if sign == "-" and on:
                on = False
            elif sign in "imsU":
                flags = flags.replace(sign, "") + (sign if on else "")
            else:
                raise self._wrong("invalid or unsupported Perl syntax", start)
            self.at += 1
        if self.text[self.at - 1] == "-":
            raise self._wrong("invalid or unsupported Perl syntax", start)
        return flags

    def _group(self, flags: str, start: int) -> Tree:
        tree = self.alternatives(flags)
        if not self._skip(")"):
            raise self._wrong("missing closing )", start)
        return tree

    def _repeated(self, item: Tree, flags: str, start: int) -> Tree:
        count = 0
        while (times := self._times()) is not None:
            count += 1
            if count > 1:
                raise self._wrong("invalid nested repetition operator", start)
            least, most = times
            if max(least, most or 0) > MAX_REPETITIONS or (most is not None and least > most):
                raise self._wrong("invalid repeat count", start)
            item = ("rep", item, least, most, self._skip("?") == ("U" in flags))
            if _times_in(item) > MAX_REPETITIONS:
                raise self._wrong("invalid repeat count", start)
        return item

    def _times(self) -> tuple[int, int | None] | None:
        for sign, times in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._skip(sign):
                return times
        end = self.text.find("}", self.at, self.at + 12)
        if end < 0 or self.text[self.at] != "{":
            return None
        least, comma, most = self.text[self.at + 1 : end].partition(",")
        if not all(digits.isascii() and digits.isdigit() for digits in (least, most or "0")):
            return None
        self.at = end + 1
        return int(least), (int(most) if most else None) if comma else int(least)

    def _atom(self, flags: str) -> Tree:
        start = self.at
        sign = self.text[start]
        self.at += 1
        if sign == ".":
            return ("chars", ANY_CHAR if "s" in flags else BUT_NEWLINE)
        if sign == "[":
            return ("chars", self._class(flags))
        if sign in "^$":
            name = "begin" if sign == "^" else "end"
            return ("assert", name + ("_line" if "m" in flags else ""))
        if sign != "\\":
            return ("chars", _one(sign, flags))
        kind = self.text[self.at : self.at + 1]
        if kind in ("A", "z", "b", "B") and kind:
            self.at += 1
            return ("assert", {"A": "begin", "z": "end", "b": "word", "B": "inside"}[kind])
        escaped = self._escaped(start, flags)
        return ("chars", escaped if isinstance(escaped, Chars) else _one(escaped, flags))

    def _escaped(self, start: int, flags: str) -> Chars | str:
        """Reads the text after a backslash: a set or a character."""
        kind = self.text[self.at : self.at + 1]
        self.at += 1
        if kind.lower() in _PERL and kind:
            return Chars(_PERL[kind.lower()], negated=kind.isupper(), folded="i" in flags)
        if kind in ("p", "P") and kind:
            return self._category(kind == "P", start, flags)
        if kind in _CONTROLS:
            return _CONTROLS[kind]
        if kind == "x":
            return self._hexadecimal(start)
        if kind == "0" or (kind in "1234567" and kind and self.text[self.at : self.at + 1] in tuple("01234567")):
            digits = kind
            while len(digits) < 3 and self.text[self.at : self.at + 1] in tuple("01234567"):
                digits += self.text[self.at]
                self.at += 1
            return chr(int(digits, 8))
        if not kind or kind.isalnum() or ord(kind) > 127:
            raise self._wrong("trailing backslash at end of expression" if not kind else "invalid escape sequence", start)
        return kind

    def _hexadecimal(self, start: int) -> str:
        rest = self.text[self.at : self.at + 12]
        digits = rest[1 : rest.find("}")] if rest.startswith("{") and "}" in rest[:10] else rest[:2]
        valid = digits.isalnum() and (rest.startswith("{") or len(digits) == 2)
        self.at += len(digits) + 2 * rest.startswith("{")
        try:
            return chr(int(digits if valid else "no", 16))
        except (ValueError, OverflowError):
            raise self._wrong("invalid escape sequence", start) from None

    def _category(self, negated: bool, start: int, flags: str) -> Chars:
        rest = self.text[self.at : self.at + 30]
        name = rest[1 : rest.find("}")] if rest.startswith("{") and "}" in rest else rest[:1]
        self.at += len(name) + 2 * rest.startswith("{")
        if name.startswith("^"):
            name, negated = name[1:], not negated
        if name == "Any":
            return Chars(negated=not negated)
        if name in _CATEGORIES:
            return Chars(categories=(name,), negated=negated, folded="i" in flags)
        if name not in scripts_of_unicode():
            raise self._wrong("invalid character class range", start)
        return Chars(scripts_of_unicode()[name], negated=negated, folded="i" in flags)

    def _class(self, flags: str) -> Chars:
        start = self.at - 1
        negated = self._skip("^")
        ranges: list[tuple[str, str]] = []
        others: list[Chars] = []
        first = True
        while first or not self._skip("]"):
            first = False
            low = self._class_item(start, flags)
            if isinstance(low, Chars):
                others.append(low)
                continue
            high: Chars | str = low
            if self.text[self.at : self.at + 1] == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self._class_item(start, flags)
            if isinstance(high, Chars) or high < low:
                raise self._wrong("invalid character class range", start)
            ranges.append((low, high))
        return Chars(_merged(ranges), (), tuple(others), negated, "i" in flags)

    def _class_item(self, start: int, flags: str) -> Chars | str:
        rest = self.text[self.at : self.at + 14]
        if not rest:
            raise self._wrong("missing closing ]", start)
        if rest.startswith("[:") and ":]" in rest:
            name = rest[2 : rest.index(":]")]
            if name.removeprefix("^") not in _POSIX:
                raise self._wrong("invalid character class range", start)
            self.at += len(name) + 4
            return Chars(_POSIX[name.removeprefix("^")], negated=name.startswith("^"), folded="i" in flags)
        self.at += 1
        return self._escaped(self.at - 1, flags) if rest[0] == "\\" else rest[0]


@cache
def scripts_of_unicode() -> dict[str, tuple[tuple[str, str], ...]]:
    """Returns the ranges of each script of Unicode, as in Go's tables, which an API server asks; Python has none."""
    from pathlib import Path

    rows = (line.split() for line in Path(__file__).with_name("scripts.txt").read_text("utf-8").splitlines()[1:])
    return {name: tuple(map(_range, ranges)) for name, *ranges in rows}


def _range(text: str) -> tuple[str, str]:
    low, _, high = text.partition("-")
    return chr(int(low, 16)), chr(int(high or low, 16))


def _times_in(tree: Tree) -> int:
    """Returns how often nested repetitions repeat their content, where they give a number."""
    kind = tree[0]
    if kind in ("cat", "alt"):
        return max(map(_times_in, tree[1]), default=1)
    return max(1, tree[3] or tree[2]) * _times_in(tree[1]) if kind == "rep" else 1


def _one(char: str, flags: str) -> Chars:
    return Chars(((char, char),), folded="i" in flags and len(orbit(char)) > 1)


def _merged(ranges: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    merged: list[tuple[str, str]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
