"""Expressions by dice over objects by dice: well typed where a checker sees the type, so that what goes wrong goes wrong in evaluation."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

_FIELDS: Final = ("n", "k", "d", "s", "t", "f", "l", "w", "p", "m", "missing")
_TEXTS: Final = (
    "''",
    "'a'",
    "'A-b'",
    "'10Gi'",
    "'10.0.0.1'",
    "'1.2.3'",
    "'registry.io/x/y:1'",
    "'é'",
    "'a,b,,c'",
    "'1h30m'",
    "'https://e.com:8/p?q=1'",
)
_PATTERNS: Final = ("'a'", "'^[a-z]+$'", "'[0-9]+'", "'(a|b)*c'", "'^$'", "'\\\\w+'", "'x{2,3}'", "'(?i)A'", "'[^,]+'", "'^.'")


def make_object(dice: Random) -> dict[str, Any]:
    """Returns the data that the expressions speak of, of which any field may be missing."""
    texts = ["", "a", "A-b", "10Gi", "nope", "10.0.0.1", "1.2.3", "registry.io/x/y:1", "é", "a,b,,c", "90s"]
    fields: dict[str, Any] = {
        "n": dice.choice([0, 1, -3, 7, 2**53 + 1, 2**63 - 1]),
        "k": dice.choice([0, 2, 5]),
        "d": dice.choice([0.5, -1.25, 2.0e10, 3.5]),
        "s": dice.choice(texts),
        "t": dice.choice(texts),
        "f": dice.choice([True, False]),
        "l": [dice.randrange(5) for _ in range(dice.randrange(4))],
        "w": [dice.choice(texts) for _ in range(dice.randrange(4))],
        "p": [{"n": dice.randrange(4), "s": dice.choice(texts)} for _ in range(dice.randrange(4))],
        "m": {dice.choice("abc"): dice.choice(texts) for _ in range(dice.randrange(3))},
    }
    if fields["p"] and dice.random() < 0.3:
        del fields["p"][0]["s"]
    for name in dice.sample(sorted(fields), dice.randrange(3)):
        del fields[name]
    return fields


class Writer:
    """Writes expressions about a value that `root` names."""

    def __init__(self, dice: Random, root: str) -> None:
        self._dice = dice
        self._root = root
        self._names = 0

    def truth(self, depth: int = 3) -> str:
        """Returns an expression that is true or false, or has an error."""
        if depth == 0:
            return self._one(
                lambda: self._field("f"), lambda: f"has({self._root}.{self._dice.choice(_FIELDS)})", lambda: "true", lambda: "false"
            )
        below = depth - 1
        return self._one(
            lambda: f"({self.truth(below)} && {self.truth(below)})",
            lambda: f"({self.truth(below)} || {self.truth(below)})",
            lambda: f"!{self.truth(below)}",
            lambda: f"({self.truth(below)} ? {self.truth(below)} : {self.truth(below)})",
            lambda: f"{self._number(below)} {self._dice.choice(['<', '<=', '>', '>=', '==', '!='])} {self._number(below)}",
            lambda: f"{self._text(below)} {self._dice.choice(['<', '==', '!='])} {self._text(below)}",
            lambda: f"{self._text(below)}.{self._dice.choice(['startsWith', 'endsWith', 'contains'])}({self._text(below)})",
            lambda: f"{self._text(below)}.matches({self._dice.choice(_PATTERNS)})",
            lambda: f"{self._text(below)} in {self._words(below)}",
            lambda: f"{self._number(below)} in {self._numbers(below)}",
            lambda: self._macro(below),
            lambda: f"{self._dice.choice(['isQuantity', 'isIP', 'isCIDR', 'isURL', 'isSemver'])}({self._text(below)})",
            lambda: f"quantity({self._text(below)}).isGreaterThan(quantity({self._text(below)}))",
            lambda: f"sets.{self._dice.choice(['contains', 'equivalent', 'intersects'])}({self._words(below)}, {self._words(below)})",
            lambda: f"{self._root}.?{self._dice.choice(_FIELDS)}.hasValue()",
            lambda: f"{self._numbers(below)}.isSorted()",
            lambda: f"{self._field('m')}[{self._text(below)}] == {self._text(below)}",
        )

    def _one(self, *makes: Callable[[], str]) -> str:
        return self._dice.choice(makes)()

    def _field(self, usual: str) -> str:
        """The field of the wanted type, seldom another one."""
        return f"{self._root}.{usual if self._dice.random() < 0.93 else self._dice.choice(_FIELDS)}"

    def _number(self, depth: int) -> str:
        if depth <= 0:
            return self._one(
                lambda: self._field("n"), lambda: self._field("k"), lambda: str(self._dice.choice([0, 1, 3, -2, 9223372036854775807]))
            )
        below = depth - 1
        return self._one(
            lambda: f"({self._number(below)} {self._dice.choice('+-*/%')} {self._number(below)})",
            lambda: f"size({self._words(below)})",
            lambda: f"{self._text(below)}.size()",
            lambda: f"{self._text(below)}.{self._dice.choice(['indexOf', 'lastIndexOf'])}({self._text(below)})",
            lambda: f"{self._numbers(below)}[{self._number(below)}]",
            lambda: f"{self._numbers(below)}.{self._dice.choice(['sum', 'min', 'max'])}()",
            lambda: f"int({self._text(below)})",
            lambda: f"{self._root}.?k.orValue({self._number(below)})",
            lambda: f"({self.truth(below)} ? {self._number(below)} : {self._number(below)})",
        )

    def _text(self, depth: int) -> str:
        if depth <= 0:
            return self._one(lambda: self._field("s"), lambda: self._field("t"), lambda: self._dice.choice(_TEXTS))
        below = depth - 1
        return self._one(
            lambda: f"({self._text(below)} + {self._text(below)})",
            lambda: f"{self._text(below)}.{self._dice.choice(['lowerAscii', 'upperAscii', 'trim'])}()",
            lambda: f"{self._text(below)}.replace({self._text(below)}, {self._text(below)})",
            lambda: f"{self._text(below)}.substring({self._number(below)})",
            lambda: f"{self._text(below)}.charAt({self._number(below)})",
            lambda: f"{self._text(below)}.find({self._dice.choice(_PATTERNS)})",
            lambda: f"{self._words(below)}.join({self._text(below)})",
            lambda: f"string({self._number(below)})",
            lambda: f"'%s-%d'.format([{self._text(below)}, {self._number(below)}])",
            lambda: f"{self._field('w')}[{self._number(below)}]",
        )

    def _words(self, depth: int) -> str:
        if depth <= 0:
            return self._one(lambda: self._field("w"), lambda: f"[{', '.join(self._dice.sample(_TEXTS, 2))}]")
        below = depth - 1
        name = self._name()
        return self._one(
            lambda: f"{self._text(below)}.split({self._dice.choice(_TEXTS)})",
            lambda: f"{self._words(below)}.filter({name}, {name} != {self._text(below)})",
            lambda: f"{self._words(below)}.map({name}, {name} + {self._text(below)})",
            lambda: f"({self._words(below)} + {self._words(below)})",
            lambda: f"{self._text(below)}.findAll({self._dice.choice(_PATTERNS)})",
            lambda: f"{self._field('m')}.map({name}, {name})",
        )

    def _numbers(self, depth: int) -> str:
        name = self._name()
        return self._one(
            lambda: self._field("l"),
            lambda: "[1, 2, 3]",
            lambda: f"{self._field('p')}.map({name}, {name}.n)",
            lambda: f"{self._field('l')}.map({name}, {name} * {self._number(depth - 1)})",
        )

    def _macro(self, depth: int) -> str:
        name = self._name()
        macro = self._dice.choice(["all", "exists", "exists_one"])
        return self._one(
            lambda: f"{self._words(depth)}.{macro}({name}, {name} == {self._text(depth - 1)})",
            lambda: f"{self._field('p')}.{macro}({name}, {name}.s.size() > {self._number(depth - 1)})",
            lambda: f"{self._field('p')}.all({name}, {self._field('p')}.exists_one(other, other.s == {name}.s))",
            lambda: f"{self._field('l')}.{macro}(i, {name}, i + {name} > {self._number(depth - 1)})",
            lambda: f"{self._field('m')}.{macro}({name}, v, v != {self._text(depth - 1)})",
        )

    def _name(self) -> str:
        self._names += 1
        return f"x{self._names}"
