"""What the engine does beyond the cases of cel-spec: Kubernetes' library, places, budgets, and texts that are no expression."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from dynamo_webhooks.cel import NONE, CelError, EvaluationError, Lazy, Optional, ParseError, compile_text, compiler
from dynamo_webhooks.cel.check import map_types
from dynamo_webhooks.cel.declarations import DECLARED, split
from dynamo_webhooks.cel.macros import _MACROS
from dynamo_webhooks.cel.overloads import Overload, choose
from dynamo_webhooks.cel.values import _KINDS
from tests.cel.calls import library
from tests.cel.limits import EXPRESSIONS, REFUSED, SPEC

SELF = {"name": "a", "size": 3, "parts": [{"name": "x", "n": 1}, {"name": "y", "n": 2}], "labels": {"app": "web"}}


def evaluate(text: str, **bindings: object) -> object:
    return compile_text(text, bindings).evaluate(bindings)


def test_kubernetes_library() -> None:
    rows: list[str] = [
        "quantity('1Gi').isGreaterThan(quantity('1G'))",
        "quantity('500m').add(quantity('1')).compareTo(quantity('1500m')) == 0",
        "quantity('1k').asInteger() == 1000 && !quantity('50m').isInteger() && quantity('50m').asApproximateFloat() == 0.05",
        "sign(quantity('-1')) == -1 && quantity('3').sub(1) == quantity('2') && isQuantity('1e3') && !isQuantity('x') && !isQuantity('')",
        "url('https://user@example.com:8080/a/b?q=1&q=2#f').getHost() == 'example.com:8080'",
        "url('https://example.com:8080/a').getHostname() == 'example.com' && url('https://[::1]:80/').getPort() == '80'",
        "url('https://e.com/a?q=1&q=2').getQuery() == {'q': ['1', '2']} && url('/a').getScheme() == ''"
        " && url('/a b!').getEscapedPath() == '/a%20b%21' && isURL('a://e') && !isURL('e.com') && !isURL('http://a:x/')",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.2.3.4') && isCIDR('::/0') && !isCIDR('10.0.0.0/33')",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
        "semver('v1.2', true) == semver('1.2.0') && isSemver('1.2.3') && !isSemver('v1.2.3') && semver('1.2.3').minor() == 2",
        "'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1']",
        "'\u212a\u017f'.matches('(?i)^ks$') && !'\u212a'.matches('(?i)[^k]') && 'K'.matches('(?i)\u212a') && !'\u0131'.matches('(?i)i')",
        "'\u03c2'.matches('(?i)\u03a3') && 'a'.matches('(?i)\\\\p{Lu}') && !'\u017f'.matches('(?i)\\\\W')",
        "'\u03b1b\u4e00'.findAll('\\\\p{Greek}|[^\\\\P{Han}]') == ['\u03b1', '\u4e00'] && !'\u03b1'.matches('\\\\p{^Greek}')",
        "'\u03bc'.matches('(?i)\\\\p{Common}') && !'\u03bc'.matches('\\\\p{Common}') && !'\u0000'.matches('\\\\p{Latin}')",
        "'registry.example.com/a/b:1'.matches('^registry\\\\.example\\\\.com/.+:[^:]+$')",
        "[1, 2, 3].isSorted() && [1, 2].sum() == 3 && [3, 1].min() == 1 && [3, 1].max() == 3 && [1, 2, 1].lastIndexOf(1) == 2",
        "[1, 2].first().value() == 1 && [1, 2].last() == optional.of(2) && [].first() == optional.none() && ![].last().hasValue()",
        "[optional.of(1), optional.none()].unwrapOpt() == [1] && optional.unwrap([self.?missing, self.?size]) == [3]",
        "sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])",
        "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').value()[0].startsWith('a lowercase RFC')",
        "format.named('uuid').value().validate('x').value() == ['does not match the UUID format'] && !format.named('none').hasValue()",
        "[2.0e10, 1.0e6, 123456.0, 1234567.5, 0.0001].map(n, string(n)) == ['2e+10', '1e+06', '123456', '1.2345675e+06', '0.0001']",
        "'%s has %d of %.1f'.format(['a', 2, 3.0]) == 'a has 2 of 3.0'",
        "{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'} && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "self.parts.all(i, p, p.n == i + 1) && self.labels.exists(k, v, k == 'app' && v == 'web')",
        "self.?missing.orValue(2) == 2 && self.?size.optMap(n, n + 1).orValue(0) == 4 && self.parts[?5].hasValue() == false",
        "type(self.size) == int && type(quantity('1')) == kubernetes.Quantity && self.labels.app == self.labels['app']",
    ]
    assert [(text, answer) for text in rows if (answer := evaluate(text, self=SELF)) is not True] == []


def test_an_error_is_worded_as_by_an_api_server(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("self.missing", "no such key: missing"),
        ("self.parts[2]", "index out of bounds: 2"),
        ("1 / (self.size - 3)", "division by zero"),
        ("1 % (self.size - 3)", "modulus by zero"),
        ("self.size + 9223372036854775807", "integer overflow"),
        ("self.size + self.name", "no such overload"),
        ("self.size.lowerAscii()", r"no such overload: lowerAscii\(int\)"),
        ("self.size ? 1 : 2", "no such overload"),
        ("double(self.name + '1e400')", "type conversion error from 'string' to 'double'"),
        ("double('1e40' + '0')", "type conversion error from 'string' to 'double'"),
        ("int('9223372036854775808' + '')", "type conversion error from 'string' to 'int'"),
        ("uint(self.size - 4)", "unsigned integer overflow"),
        ("quantity('8Ei').asInteger()", "cannot convert value to integer"),
        ("'a'.matches('(a{100}){11}' + '')", "error parsing regexp: invalid repeat count"),
        ("'%f'.format([self.size])", "error during formatting: fixed-point clause can only be used on doubles, was given int"),
        ("quantity(self.name)", "quantities must match the regular expression"),
        ("'a'.matches(self.name + '(')", r"error parsing regexp: missing closing \): `\(`"),
        ("[1].map(x, self.parts.map(y, y.missing))", "no such key: missing"),
        ("optional.none().value()", r"optional.none\(\) dereference"),
    ]
    for text, words in rows:
        with subtests.test(text=text, words=words), pytest.raises(EvaluationError, match=f"^{words}"):
            evaluate(text, self=SELF)


def test_a_wrong_text_has_its_place(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, int, int, str]] = [
        ("self.a ==", 1, 10, "there must be a value instead of '<EOF>'"),
        ("self.a &&\n  other", 2, 3, "undeclared reference to 'other'"),
        ("self.a b", 1, 8, "there must be an operator or the end instead of 'b'"),
        ("foo(self)", 1, 1, "undeclared reference to 'foo'"),
        ("self.foo()", 1, 6, "undeclared reference to 'foo'"),
        ("math.abs(1)", 1, 6, "undeclared reference to 'abs'"),
        ("cel.bind(a, 1, a)", 1, 5, "undeclared reference to 'bind'"),
        ("[1].existsOne(a, true)", 1, 5, "undeclared reference to 'existsOne'"),
        ("size(1, 2)", 1, 1, r"found no matching overload for 'size' applied to '\(int, int\)'"),
        ("self.startsWith(1, 2)", 1, 6, "found no matching overload for 'startsWith'"),
        ("'a", 1, 1, "must end with '"),
        ("'\\q'", 1, 2, "must be an escape sequence"),
        ("self.all(1, true)", 1, 10, "argument must be a simple name"),
        ("has(self)", 1, 5, "it must select a field"),
        ("has(self.?a)", 1, 9, "it must select a field"),
        ("1 # 2", 1, 3, "token recognition error at: '#'"),
        ("for", 1, 1, "for is a reserved word"),
        ("99999999999999999999", 1, 1, "invalid int literal"),
        ("[1, 2", 1, 6, "there must be , or ] instead of the end"),
        ("", 1, 1, "there must be a value"),
    ]
    for text, line, column, words in rows:
        with subtests.test(text=text, line=line, column=column):
            with pytest.raises(ParseError, match=words) as caught:
                compile_text(text, {"self"})
            assert (caught.value.line, caught.value.column) == (line, column)


def test_the_place_of_the_field_that_decided(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, object, tuple[object, ...] | None]] = [
        ("self.size == 4", False, ("self", "size")),
        ("self.name == 'a' && self.parts[1].n < 2", False, ("self", "parts", 1, "n")),
        ("self.parts.all(p, p.name == 'x')", False, ("self", "parts", 1, "name")),
        ("self.parts.filter(p, p.n > 1).all(p, p.name == 'x')", False, ("self", "parts", 1, "name")),
        ("self.parts.map(p, p.n).all(n, n < 2)", False, None),
        ("has(self.missing)", False, ("self", "missing")),
        ("self.labels['app'] == 'x'", False, ("self", "labels", "app")),
        ("variables.app == 'x'", False, None),
        ("1 == 2", False, None),
    ]
    for text, value, path in rows:
        with subtests.test(text=text):
            bindings = {"self": SELF, "variables.app": Lazy(lambda: SELF["name"])}
            assert compile_text(text, bindings).evaluate_traced(bindings) == (value, path)


def test_an_error_has_the_place_too() -> None:
    with pytest.raises(EvaluationError) as caught:
        compile_text("self.parts[0].missing > 1", {"self"}).evaluate_traced({"self": SELF})
    assert caught.value.path == ("self", "parts", 0, "missing")


def test_a_lazy_value_is_made_once_and_only_if_it_is_read() -> None:
    made: list[int] = []

    def make() -> object:
        made.append(1)
        return {"a": 1}

    value = Lazy(make)
    program = compile_text("true || value.a == 2", {"value"})
    assert program.evaluate({"value": value}) is True
    assert made == []
    assert (
        compile_text("value.a == 1 && value.a < 2 && outer.value.a == 1", {"value", "outer"}).evaluate(
            {"value": value, "outer": {"value": value}}
        )
        is True
    )
    assert made == [1]


def test_a_program_knows_the_names_that_it_uses() -> None:
    program = compile_text("self.a && variables.b.c && [1].all(oldSelf, oldSelf > 0)", {"self", "oldSelf", "variables.b"})
    assert program.names == {"self", "variables.b"}


def test_optional_bindings() -> None:
    assert evaluate("oldSelf.hasValue()", oldSelf=NONE) is False
    assert evaluate("oldSelf.hasValue() && oldSelf.a.value() == 1", oldSelf=Optional({"a": 1})) is True


def test_a_costly_expression_ends_with_an_error(subtests: pytest.Subtests) -> None:
    rows: list[str] = [
        "self.many.all(a, self.many.all(b, self.many.all(c, a + b + c >= 0)))",
        "self.many.map(a, self.many.map(b, a + b)).size() > 0",
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(a, 'xxxxxxxxxxxxxxxxxxxx').join('y').replace('', self.long).replace('', self.long)",
        "[self.long, self.long, self.long].map(a, self.long.replace('a', self.long))",
        "self.long.matches('(a?){500}a{500}b')",
        "self.long.findAll('(a|aa)+b')",
        "[[self.long, self.long]].map(a, [a, a, a, a, a, a, a]).map(b, [b, b, b, b, b, b]).map(c, '%s'.format([[c, c, c]]))[0]"
        " + '%s'.format([self.many.map(a, self.long)])",
        "[self.many + self.many].all(l, sets.equivalent(l, l))",
    ]
    for text in rows:
        with subtests.test(text=text):
            before = time.process_time()
            with pytest.raises(EvaluationError, match="actual cost limit exceeded"):
                compile_text(text, {"self"}).evaluate({"self": {"long": "a" * 20_000, "many": [*range(1000)]}})
            assert time.process_time() - before < 10


def test_a_budget_that_is_spent_decides_over_every_operator() -> None:
    with pytest.raises(EvaluationError, match="cost limit"):
        compile_text("many.all(x, x >= 0) || true", {"many"}).evaluate({"many": [*range(100)]}, 50)
    assert evaluate("many.all(x, x >= 0) || true", many=[*range(100)]) is True


def test_a_deep_or_long_text_is_refused(subtests: pytest.Subtests) -> None:
    rows: list[Callable[[], str]] = [
        lambda: "(" * 1000 + "1" + ")" * 1000,
        lambda: "[" * 5000,
        lambda: "a" + ".b" * 5000,
        lambda: "1 ? " * 5000,
        lambda: "f(" * 5000,
        lambda: "{1:" * 5000,
        lambda: "x" * 200_000,
        lambda: "'" + "\\" * 60_001,
        lambda: "self.all(a, " * 200 + "true" + ")" * 200,
    ]
    for make in rows:
        with subtests.test(str(make)), pytest.raises(ParseError):
            compile_text(make(), {"self"})


def test_long_chains_are_not_deep() -> None:
    assert evaluate("1" + " + 1" * 5_000) == 5_001
    assert evaluate("true" + " && true" * 10_000) is True
    assert evaluate("-" * 60_000 + "1") == 1


@pytest.mark.parametrize(
    "text",
    [
        "self.a == self.b && self.a in [self.b] && [self.a].indexOf(self.b) == 0 && self.a != self.c",
        "sets.equivalent([self.a], [self.b]) && !sets.intersects([self.a], [self.c])",
        "'%s'.format([self.a]).size() == 100003",
    ],
)
def test_deep_data_is_no_deep_call(text: str) -> None:
    deep: dict[str, Any] = {name: [value] for name, value in (("a", 1), ("b", 1), ("c", 2))}
    for _ in range(50_000):
        deep = {name: [value] for name, value in deep.items()}
    assert compile_text(text, {"self"}).evaluate({"self": deep}) is True


def test_a_lazy_value_that_fails_is_asked_once() -> None:
    calls: list[int] = []

    def fail() -> object:
        calls.append(1)
        return evaluate("1 / (n - 1)", n=1)

    assert evaluate("[1, 2, 3].exists(x, variables.a == x) || true", **{"variables.a": Lazy(fail)}) is True
    assert calls == [1]


def test_the_library_implements_what_is_declared() -> None:
    """For each type; one function may serve lists of all types."""
    implemented = {
        (name, of_value, tuple(_KINDS.get(kind) or getattr(kind, "kind", "any") for kind in overload.types))
        for name, of_value, overload in library()
    }
    declared = {
        (name, of_value, tuple("any" if kind.is_parameter else kind.name for kind in map_types(given, "bool")[0]))
        for module, signatures in DECLARED.items()
        for name, of_value, given, _ in map(split, signatures if module != "authorization" else ())
    }
    assert declared - implemented == {("duration", False, ("int",))}, "which an API server declares, and can't convert"
    assert implemented <= declared


def test_every_function_and_macro_is_held_against_an_api_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some expression of those that are asked there calls it, for each type that it takes."""
    called: set[tuple[Any, ...]] = set()

    def note(overloads: Sequence[Overload], arguments: Sequence[Any]) -> Overload | None:
        overload = choose(overloads, arguments)
        called.add(overload or ())
        return overload

    monkeypatch.setattr(compiler, "choose", note)
    for text in EXPRESSIONS:
        with suppress(CelError):
            evaluate(text, object={"spec": SPEC}, request={})
    assert [(name, overload.types) for name, _, overload in library() if overload not in called] == []
    assert [name for name in _MACROS if f".{name}(" not in " ".join(EXPRESSIONS)] == []


@pytest.mark.parametrize("text", REFUSED)
def test_a_function_that_an_api_server_lacks_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="undeclared reference"):
        compile_text(text, set())
