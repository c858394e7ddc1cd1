"""What the engine does beyond the cases of cel-spec: Kubernetes' library, places, budgets, and texts that are no expression."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from dynamo_webhooks.cel import DEFAULT, NONE, EvaluationError, Lazy, Optional, ParseError, compile_text
from dynamo_webhooks.cel.overloads import _HOME_OF, _TABLE, find

SELF = {"name": "a", "size": 3, "parts": [{"name": "x", "n": 1}, {"name": "y", "n": 2}], "labels": {"app": "web"}}


def evaluate(text: str, **bindings: object) -> object:
    return compile_text(text, bindings).evaluate(bindings)


@pytest.mark.parametrize(
    "text",
    [
        "quantity('1Gi').isGreaterThan(quantity('1G'))",
        "quantity('500m').add(quantity('1')).compareTo(quantity('1500m')) == 0",
        "quantity('1k').asInteger() == 1000 && !quantity('50m').isInteger() && quantity('50m').asApproximateFloat() == 0.05",
        "quantity('-1').sign() == -1 && quantity('3').sub(1) == quantity('2') && isQuantity('1e3') && !isQuantity('x') && !isQuantity('')",
        "url('https://user@example.com:8080/a/b?q=1&q=2#f').getHost() == 'example.com:8080'",
        "url('https://example.com:8080/a').getHostname() == 'example.com' && url('https://[::1]:80/').getPort() == '80'",
        "url('https://e.com/a?q=1&q=2').getQuery() == {'q': ['1', '2']} && url('/a').getScheme() == ''"
        " && url('/a b').getEscapedPath() == ''"
        " || isURL('a://e') && !isURL('e.com') && !isURL('http://a:x/')",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.2.3.4') && isCIDR('::/0') && !isCIDR('10.0.0.0/33')",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
        "semver('v1.2', true) == semver('1.2.0') && isSemver('1.2.3') && !isSemver('v1.2.3') && semver('1.2.3').minor() == 2",
        "'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1']",
        "'registry.example.com/a/b:1'.matches('^registry\\\\.example\\\\.com/.+:[^:]+$')",
        "[1, 2, 3].isSorted() && [1, 2].sum() == 3 && [3, 1].min() == 1 && [3, 1].max() == 3 && [1, 2, 1].lastIndexOf(1) == 2",
        "[3, 1, 2].sort() == [1, 2, 3] && [1, 1, 2].distinct() == [1, 2] && [[1], [2, [3]]].flatten(2) == [1, 2, 3]",
        "['b', 'a'].sortBy(t, t) == ['a', 'b'] && lists.range(3) == [0, 1, 2] && [1, 2, 3].slice(1, 2) == [2]",
        "sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])",
        "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').value()[0].startsWith('a lowercase RFC')",
        "format.named('uuid').value().validate('x').value() == ['must be a valid UUID'] && !format.named('none').hasValue()",
        "[2.0e10, 1.0e6, 123456.0, 1234567.5, 0.0001].map(n, string(n)) == ['2e+10', '1e+06', '123456', '1.2345675e+06', '0.0001']",
        "'%s has %d of %.1f'.format(['a', 2, 3.0]) == 'a has 2 of 3.0'",
        "{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'} && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "self.parts.all(i, p, p.n == i + 1) && self.labels.exists(k, v, k == 'app' && v == 'web')",
        "self.?missing.orValue(2) == 2 && self.?size.optMap(n, n + 1).orValue(0) == 4 && self.parts[?5].hasValue() == false",
        "type(self.size) == int && type(quantity('1')) == kubernetes.Quantity && self.labels.app == self.labels['app']",
    ],
)
def test_kubernetes_library(text: str) -> None:
    assert evaluate(text, self=SELF) is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("self.missing", "no such key: missing"),
        ("self.parts[2]", "index out of bounds: 2"),
        ("1 / (self.size - 3)", "division by zero"),
        ("1 % (self.size - 3)", "modulus by zero"),
        ("self.size + 9223372036854775807", "integer overflow"),
        ("self.size + self.name", "no such overload"),
        ("self.size.lowerAscii()", r"no such overload: lowerAscii\(int\)"),
        ("self.size ? 1 : 2", "no such overload"),
        ("quantity(self.name)", "quantities must match the regular expression"),
        ("'a'.matches(self.name + '(')", r"error parsing regexp: missing closing \): `\(`"),
        ("[1].map(x, self.parts.map(y, y.missing))", "no such key: missing"),
        ("optional.none().value()", r"optional.none\(\) dereference"),
    ],
)
def test_an_error_is_worded_as_by_an_api_server(text: str, words: str) -> None:
    with pytest.raises(EvaluationError, match=f"^{words}"):
        evaluate(text, self=SELF)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("self.a ==", 1, 10, "there must be a value instead of '<EOF>'"),
        ("self.a &&\n  other", 2, 3, "undeclared reference to 'other'"),
        ("self.a b", 1, 8, "there must be an operator or the end instead of 'b'"),
        ("foo(self)", 1, 1, "undeclared reference to 'foo'"),
        ("self.foo()", 1, 6, "undeclared reference to 'foo'"),
        ("size(1)", 1, 1, r"found no matching overload for 'size' applied to '\(int\)'"),
        ("self.startsWith(1, 2)", 1, 6, "found no matching overload for 'startsWith'"),
        ("'a", 1, 1, "must end with '"),
        ("'\\q'", 1, 2, "must be an escape sequence"),
        ("self.all(1, true)", 1, 10, "argument must be a simple name"),
        ("has(self)", 1, 5, "it must select a field"),
        ("1 # 2", 1, 3, "token recognition error at: '#'"),
        ("for", 1, 1, "for is a reserved word"),
        ("99999999999999999999", 1, 1, "invalid int literal"),
        ("[1, 2", 1, 6, "there must be , or ] instead of the end"),
        ("", 1, 1, "there must be a value"),
    ],
)
def test_a_wrong_text_has_its_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(ParseError, match=words) as caught:
        compile_text(text, {"self"})
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "value", "path"),
    [
        ("self.size == 4", False, ("self", "size")),
        ("self.name == 'a' && self.parts[1].n < 2", False, ("self", "parts", 1, "n")),
        ("self.parts.all(p, p.name == 'x')", False, ("self", "parts", 1, "name")),
        ("self.parts.filter(p, p.n > 1).all(p, p.name == 'x')", False, ("self", "parts", 1, "name")),
        ("self.parts.map(p, p.n).all(n, n < 2)", False, None),
        ("has(self.missing)", False, ("self", "missing")),
        ("self.labels['app'] == 'x'", False, ("self", "labels", "app")),
        ("variables.app == 'x'", False, None),
        ("1 == 2", False, None),
    ],
)
def test_the_place_of_the_field_that_decided(text: str, value: object, path: tuple[object, ...] | None) -> None:
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


@pytest.mark.parametrize(
    "text",
    [
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))",
        "lists.range(2000000).size() > 0",
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(a, 'xxxxxxxxxxxxxxxxxxxx').join('y').replace('', self.long).replace('', self.long)",
        "[self.long, self.long, self.long].map(a, self.long.replace('a', self.long))",
        "self.long.matches('(a?){500}a{500}b')",
        "self.long.findAll('(a|aa)+b')",
        "cel.bind(a, [self.long, self.long], cel.bind(b, [a, a, a, a, a, a, a], cel.bind(c, [b, b, b, b, b, b], '%s'.format([[c, c, c]]))))"
        " + '%s'.format([lists.range(1000).map(a, self.long)])",
        "[lists.range(20000)].all(l, l.distinct().size() == 1)",
    ],
)
def test_a_costly_expression_ends_with_an_error(text: str) -> None:
    before = time.process_time()
    with pytest.raises(EvaluationError, match="actual cost limit exceeded"):
        compile_text(text, {"self"}).evaluate({"self": {"long": "a" * 20_000}})
    assert time.process_time() - before < 10


def test_a_budget_that_is_spent_decides_over_every_operator() -> None:
    with pytest.raises(EvaluationError, match="cost limit"):
        compile_text("lists.range(100).all(x, x >= 0) || true", set()).evaluate({}, 50)
    assert compile_text("lists.range(100).all(x, x >= 0) || true", set()).evaluate({}, DEFAULT) is True


@pytest.mark.parametrize(
    "make",
    [
        lambda: "(" * 1000 + "1" + ")" * 1000,
        lambda: "[" * 5000,
        lambda: "a" + ".b" * 5000,
        lambda: "1 ? " * 5000,
        lambda: "f(" * 5000,
        lambda: "{1:" * 5000,
        lambda: "x" * 200_000,
        lambda: "'" + "\\" * 60_001,
        lambda: "self.all(a, " * 200 + "true" + ")" * 200,
    ],
)
def test_a_deep_or_long_text_is_refused(make: Callable[[], str]) -> None:
    with pytest.raises(ParseError):
        compile_text(make(), {"self"})


def test_long_chains_are_not_deep() -> None:
    assert evaluate("1" + " + 1" * 5_000) == 5_001
    assert evaluate("true" + " && true" * 10_000) is True
    assert evaluate("-" * 60_000 + "1") == 1


def test_deep_data_is_compared_or_refused() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(EvaluationError, match="must not be nested as deeply"):
        evaluate("self.a == self.b", self={"a": [deep], "b": [deep]})


def test_the_library_declares_the_names_that_its_table_has() -> None:
    for name in _HOME_OF:
        for of_value in (True, False):
            find(name.replace("{}", "x"), of_value=of_value)
    declared = {name for name, _ in _TABLE}
    spaces = tuple(name.removesuffix("{}") for name in _HOME_OF if name.endswith(".{}"))
    assert {name for name in declared if not name.startswith(spaces)} == {name for name in _HOME_OF if not name.startswith(spaces)}
