"""Expensive expressions by dice: every operator, macro and function of the language over large, long, deep and shared values.

Operands are bound to names, and what is made of them stands in a loop: only what an operator does itself is paid for each time.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from dynamo_webhooks.cel.library.formats import Format
from dynamo_webhooks.cel.library.network import CIDR, IP
from dynamo_webhooks.cel.library.quantities import Quantity
from dynamo_webhooks.cel.library.semvers import Semver
from dynamo_webhooks.cel.library.urls import URL
from dynamo_webhooks.cel.overloads import ANY
from dynamo_webhooks.cel.values import Duration, Optional, Timestamp, Uint
from tests.cel.calls import library

LONG: Final = 30_000  # characters of a text
MANY: Final = 3_000  # items
DEEP: Final = 20_000  # levels
_LOOP: Final = "self.loop"
_DOUBLED: Final = ".map(y, [y, y])"
_MAPPED: Final = ".map(y, {'a': y, 'b': y})"

# what a value of a type may be; every type can also be had from a function that returns it
_ATOMS: Final[dict[Any, Sequence[str]]] = {
    str: (
        *(
            "self.a",
            "self.ab",
            "self.ba",
            "self.aba",
            "self.wide",
            "self.digits",
            "self.zeros",
            "self.query",
            "self.pattern",
            "self.spaces",
        ),
        *("''", "'a'", "'a*b'", "'(a|aa)+b'", "'(x{1000}){1000}'", "'%s'", "'%.1000f'", "'1.2.3'", "'10Gi'", "'1h'", "self.versions"),
    ),
    bytes: ("bytes(self.a)", "bytes(self.wide)", "b'a'", "b''"),
    int: ("0", "1", "-1", "3", "9223372036854775807", "(-9223372036854775807 - 1)", "self.numbers[7]", "self.words.size()"),
    Uint: ("0u", "18446744073709551615u"),
    float: ("0.5", "1e300", "-1e-300", "(0.0 / 0.0)"),
    bool: ("true", "false"),
    type(None): ("null",),
    list: (
        *("self.numbers", "self.words", "self.same", "self.deep", "self.maps", "[]", "[1]", "[self.a, self.ab]", f"{_LOOP}.map(x, self.a)"),
        *(f"[[1]]{_DOUBLED * 30}", f"[[1]].map(y, [[y], [y]]){_DOUBLED * 20}", f"[{{'a': 1}}]{_MAPPED * 25}", "[self.m, self.m]"),
        *(f"[optional.of([1])]{_DOUBLED * 25}", f"{_LOOP}.map(x, [x])", "[self.aba + 'c', self.aba + 'd']", "self.same + self.same"),
    ),
    dict: ("self.m", "self.nested", "{}", "{self.a + 'b': 1}", f"[{{'a': 1}}]{_MAPPED * 25}[0]", "self", "{'a': self.deep}"),
    Timestamp: ("timestamp('2024-02-29T23:59:59.123456789Z')", "timestamp(0)"),
    Duration: ("duration('1h30m')", "duration('0s')"),
    Optional: ("optional.none()", "optional.of(self.words)", f"optional.of([[1]]{_DOUBLED * 25})", "self.?m"),
    Format: ("format.dns1123Subdomain()", "format.uri()", "format.byte()", "format.qualifiedName()", "format.datetime()"),
    IP: ("ip('10.0.0.1')", "ip('::1')"),
    CIDR: ("cidr('10.0.0.0/8')",),
    Quantity: ("quantity('1Gi')", "quantity('1e-9')", "quantity('9999999999E')"),
    URL: ("url(self.query)", "url('https://e.com/')"),
    Semver: ("semver('1.2.3')", "semver(self.versions)"),
}
_SIGNS: Final = ("==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%")
# `{0}` and so on are operands, `#` is the body of a loop
_SHAPES: Final = (
    *(f"{{0}} {sign} {{1}}" for sign in _SIGNS),
    *("{0}[{1}] == {2}", "{0}[?{1}].hasValue()", "has({0}.a)", "-{0} == {1}", "!{0}", "[{0}, {1}] == [{1}, {0}]"),
    *("({0} ? {1} : {2}) == {1}", "{{{0}: {1}}} == {{{0}: {2}}}", "sets.equivalent([{0}, {1}, {2}], [{2}, {0}])"),
    *(f"{{0}}.{macro}(k, k == {{1}})" for macro in ("all", "exists", "exists_one", "filter", "map")),
    *(f"{{0}}.{macro}(k, v, v == {{1}})" for macro in ("all", "exists", "existsOne", "transformList", "transformMap")),
    *("{0}.transformMapEntry(k, v, {{k: v}}).size() == 0", "[1].transformMapEntry(k, v, {0}).size() == 0"),
    *("{0}.all(k, {0}.exists_one(o, o == k))", "{0}.exists(k, true)", "{0}.exists(k, v, true)", "{0}.map(k, [k, k]) == {1}"),
    *("{0}.optMap(k, [k, k]).hasValue()", "{0}.optFlatMap(k, optional.of(k)).hasValue()", "{0}.orValue({1}) == {2}"),
    *("[{0}" + ", 1" * 3000 + "][0] == {1}", "true" + " && true" * 2000 + " && {0}", "[{0}" + ", 1" * 3000 + "].max() == {1}"),
    *("'%s %s'.format([{0}, {1}]) == ''", "'%s%x'.format([[{0}, {0}], {1}]) == ''"),
)


def make_data() -> dict[str, Any]:
    """Returns what the expressions name `self`."""
    deep: Any = []
    for _ in range(DEEP):
        deep = [deep]
    text = "a" * LONG
    return {
        "a": text,
        "ab": text + "b",
        "ba": "b" + text,
        "aba": "ab" + text,
        "wide": "\N{LATIN SMALL LETTER E WITH ACUTE}" * LONG,
        "digits": "1" * LONG,
        "zeros": "0" * LONG + "1",
        "spaces": " " * LONG,
        "query": "/?" + "&".join(f"a{number}=%20" for number in range(MANY * 4)),
        "pattern": r"\x41\p{Greek}(?P<a>b)[[:alpha:]]" * (LONG // 40),
        "versions": "1.2.3-" + ".".join("a" * 400),
        "loop": [*range(300)],
        "numbers": [*range(MANY)],
        "words": [text[: LONG // 10] + str(number) for number in range(100)],
        "same": [text] * MANY,
        "deep": deep,
        "maps": [{"a": number, "b": str(number)} for number in range(MANY)],
        "m": {f"k{number}": number for number in range(MANY * 10)},
        "nested": {f"k{number}": {"a": [number], "b": text} for number in range(MANY)},
    }


def shapes() -> list[tuple[str, tuple[Any, ...]]]:
    """Every operator, macro and function with the types of its operands: `{0}` is the first of them."""
    templates: list[tuple[str, tuple[Any, ...]]] = [(shape, (ANY,) * _operands(shape)) for shape in _SHAPES]
    for name, of_value, overload in library():
        numbered = [f"{{{place}}}" for place in range(len(overload.types))]
        called = f"{numbered[0]}.{name}({', '.join(numbered[1:])})" if of_value else f"{name}({', '.join(numbered)})"
        templates.append((f"{called} == {{{len(overload.types)}}}", (*overload.types, ANY)))
    return templates


def _operands(shape: str) -> int:
    return next(number for number in range(9) if f"{{{number}}}" not in shape)


def write(dice: Random, shape: str, types: Sequence[Any]) -> str:
    """Returns an expression of a shape, in a loop, whose operands are of such types."""
    names = [f"x{place}" for place in range(len(types))]
    text = f"{_LOOP}.exists(i, {shape.format(*names)})"
    for name, kind in reversed([*zip(names, types, strict=True)]):
        text = f"[{_operand(dice, kind)}].all({name}, {text})"
    return text


def _operand(dice: Random, kind: Any) -> str:
    known = [*_ATOMS] if kind is ANY else [kind]
    if kind is ANY and dice.random() < 0.6:
        known = [str, list, dict]
    return dice.choice(_ATOMS[dice.choice(known)])


def write_all(dice: Random, count: int) -> Iterator[str]:
    """Yields so many expressions, those of all shapes in turn."""
    known = shapes()
    for number in range(count):
        yield write(dice, *known[number % len(known)])
