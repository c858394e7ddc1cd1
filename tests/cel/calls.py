"""Calls by dice: every operator and function of the language on small and odd values of the types that it takes."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from dynamo_webhooks.cel.library.formats import Format
from dynamo_webhooks.cel.library.network import CIDR, IP
from dynamo_webhooks.cel.library.quantities import Quantity
from dynamo_webhooks.cel.library.semvers import Semver
from dynamo_webhooks.cel.library.urls import URL
from dynamo_webhooks.cel.overloads import _MODULE_OF, _TABLE, ANY, Overload, find
from dynamo_webhooks.cel.values import Duration, Optional, Timestamp, Uint

_WORDS: Final = (
    *("", "a", "ab", "aXbX", "\u00e9", "\U0001f600b", "A b", "X", "b", ",", "%s", "(a)", "[a-z]+", "true", "UTC", "+01:00", "1h"),
    *("1", "-1", "+5", "1.5", "1e3", "0x1F", "1_000", "10Gi", ".5Ki", "1.5Gi", "-1.5e3", "5n", "1.2.3", "10.0.0.1", "10.0.0.0/8", "::1"),
    *("http://e.com/a?b=c", "2024-02-29T00:00:00Z", "dns1123Label", "p{Greek}", "a-b.c/d"),
)
_AMOUNTS: Final = (
    *("1", "1Gi", "500m", "-1.5", "1E", "1e-9", "0", "1.5Gi", "100n", "-8Ei", "1.0", "3u"),
    *("9223372036854775807", "12345678901234567890"),
)
_VERSIONS: Final = ("1.2.3", "1.2.3-rc.1", "1.2.3-rc.10", "1.2.3-rc", "1.2.3+b", "10.0.0", "1.2.3-1", "1.2.3-a.b")
_VALUES: Final[dict[Any, Sequence[str]]] = {
    str: [f"'{word}'" for word in _WORDS],
    bytes: ("b''", "b'a'", "b'\\xff'"),
    int: ("0", "1", "-1", "2", "5", "9223372036854775807", "-9223372036854775807"),
    Uint: ("0u", "1u", "18446744073709551615u"),
    float: ("0.0", "-0.0", "1.5", "-2.5", "1e300", "1e-7", "(0.0 / 0.0)", "(1.0 / 0.0)", "0.1", "1e21", "-9.3e18", "1.8446744073709552e19"),
    bool: ("true", "false"),
    list: (
        *(
            "[1]",
            "['a', 'b', 'a']",
            "[1, 2, 1]",
            "[1.5, -0.0]",
            "[false, true]",
            "[timestamp(0), timestamp(5)]",
            "[b'b', b'a']",
            "[3u, 1u]",
        ),
        *("[optional.of(1)]", "[-9223372036854775807, -5]", "[1.0, 0.0 / 0.0]", "[duration('-1s'), duration('2h')]", "['10Gi', '']"),
    ),
    dict: ("{'a': 1}", "{true: 1}", "{1: 'x', 2: 'y'}"),
    Timestamp: ("timestamp(0)", "timestamp('2024-02-29T23:59:59.999999999Z')", "timestamp('2024-12-31T00:00:00-11:30')"),
    Duration: ("duration('0s')", "duration('1h30m1.5s')", "duration('-1.000000001s')", "duration('-9223372036s')"),
    Optional: ("optional.none()", "optional.of(1)", "optional.of('a')"),
    Format: ("format.dns1123Label()", "format.qualifiedName()", "format.labelValue()", "format.uri()", "format.byte()", "format.date()"),
    IP: ("ip('10.0.0.1')", "ip('::1')", "ip('255.255.255.255')", "ip('2001:db8:0:0:1::0')"),
    CIDR: ("cidr('10.0.0.0/8')", "cidr('::/0')", "cidr('10.1.2.3/15')", "cidr('2001:db8::1/33')"),
    Quantity: [f"quantity('{text}')" for text in _AMOUNTS],
    URL: ("url('http://e.com:80/a')", "url('/x?y')"),
    Semver: [f"semver('{text}')" for text in _VERSIONS],
}
_SIGNS: Final = ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "in")
_CLAUSES: Final = ("s", "d", "f", "e", "x", "X", "o", "b", ".2f", ".0e", ".3e", ".9e", ".10f")
# how a value is shown that `format` doesn't print
_TEMPLATES: Final = {
    **dict.fromkeys(("ip", "masked", "cidr"), "string({})"),
    **dict.fromkeys(("add", "sub"), "[dyn({0}.compareTo(quantity('1'))), dyn({0}.isInteger())]"),
    "quantity": "{}.asApproximateFloat()",
    **dict.fromkeys(("optional.of", "optional.ofNonZeroValue", "first", "last", "format.named"), "{}.hasValue()"),
    "semver": "[{0}.major(), {0}.minor(), {0}.patch()]",
    "url": "{}.getEscapedPath()",
    "validate": "{}.orValue(['valid'])",
}


def library() -> list[tuple[str, bool, Overload]]:
    """Every function: its name, whether it is called behind a point, and one of its overloads."""
    known = [name for name, homes in _MODULE_OF.items() if "authorization" not in homes]  # whose values only a cluster has
    for name in known:
        for of_value in (True, False):
            find(name, of_value=of_value)
    # whichever module was imported first
    ordered = (
        (key, sorted(overloads, key=lambda overload: [getattr(kind, "__name__", "any") for kind in overload.types]))
        for key, overloads in _TABLE.items()
    )
    return [
        (name, of_value, overload)
        for (name, of_value), overloads in sorted(ordered, key=lambda pair: pair[0])
        for overload in overloads
        if name in known
    ]


def write_calls(dice: Random) -> Iterator[str]:
    """Yields calls without end."""
    known = library()
    while True:
        name, of_value, overload = dice.choice(known)
        operands = [_value(dice, kind) for kind in overload.types]
        called = f"{operands[0]}.{name}({', '.join(operands[1:])})" if of_value else f"{name}({', '.join(operands)})"
        yield _TEMPLATES.get(name, "{}").format(called)
        yield f"dyn({_value(dice, ANY)}) {dice.choice(_SIGNS)} dyn({_value(dice, ANY)})"
        kind = dice.choice([*_VALUES])
        yield f"dyn({_value(dice, kind)}) {dice.choice(_SIGNS)} dyn({_value(dice, kind)})"
        yield f"'[%{dice.choice(_CLAUSES)}]'.format([dyn({_value(dice, ANY)})])"


def _value(dice: Random, kind: Any) -> str:
    return dice.choice(_VALUES[dice.choice([*_VALUES]) if kind is ANY else kind])
