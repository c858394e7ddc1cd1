"""The checker finds the types of expressions, and what is wrong with them.

`tests/cluster/cli/test_policy_types.py` holds it against an API server.
"""

import time
from random import Random

import pytest

from dynamo_webhooks.cel import CelError, compile_text
from dynamo_webhooks.cel.declarations import SINCE, SINCE_MODULE
from dynamo_webhooks.cel.types import DYN, StaticType, make_type
from tests.cel.typed import TypedWriter

INNER = StaticType("inner", (), {"text": make_type("string"), "count": make_type("int")})
NAMES = {"object": DYN, "typed": StaticType("typed", (), {"inner": INNER, "list": make_type("list", INNER)})}


def _checked(text: str, minor: int = 0) -> tuple[str, list[str]]:
    checked = compile_text(text, NAMES).check(NAMES, minor)
    return str(checked.type), [f"{fault.line}:{fault.column}: {fault}" for fault in checked.faults]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("object.spec", "dyn"),
        ("1 + size('a')", "int"),
        ("[1, 2].map(x, [x])", "list(list(int))"),
        ("[[], [1]]", "list(list(int))"),
        ("{'a': 1}.transformMap(k, v, k + 'b')", "map(string, string)"),
        ("{1: 'a'}.transformMapEntry(k, v, {v: k})", "map(string, int)"),
        ("object.?spec[?0].optMap(x, x == 1).orValue(false)", "bool"),
        ("optional.of('a').optFlatMap(x, optional.of(x.size()))", "optional_type(int)"),
        ("typed.list.filter(i, i.count > 1).map(i, i.text)", "list(string)"),
        ("typed.?inner.text", "optional_type(string)"),
        ("has(typed.inner) ? typed.inner.count : 0", "int"),
        ("timestamp('2024-01-01T00:00:00Z') - duration('1h')", "google.protobuf.Timestamp"),
        ("dyn(1) + 'a'", "string"),
        ("type(1) == int && null == duration('1s') && 1 < 2.5", "bool"),
        ("'%s %d'.format(['a', 1])", "string"),
        ("[dyn([1])].exists_one(x, x.sum() == 1)", "bool"),
    ],
)
def test_the_type_of_an_expression(text: str, kind: str) -> None:
    assert _checked(text) == (kind, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 +\n 'a'", "1:3: found no matching overload for '_+_' applied to '(int, string)'"),
        ("true &&\n  object.a || 'b'", "2:15: expected type 'bool' but found 'string'"),
        ("size(1) == 1", "1:1: found no matching overload for 'size' applied to '(int)'"),
        ("[1].indexOf('a') == 0", "1:5: found no matching overload for 'indexOf' applied to 'list(int).(string)'"),
        ("typed.inner.cuont == 1", "1:12: undefined field 'cuont' in inner, did you mean count?"),
        ("typed.list.all(i, has(i.zzz))", "1:24: undefined field 'zzz' in inner"),
        ("typed.list.text == 1", "1:11: type 'list(inner)' does not support field selection"),
        ("[1, 'a'].size() == 2", "1:5: expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'c'}.size() == 2", "1:15: expected type 'int' but found 'string'"),
        ("'a'.all(x, true)", "1:1: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)"),
        ("[1].map(x, x, 2) == [2]", "1:5: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'"),
        ("object.matches('[')", "1:16: invalid matches argument: error parsing regexp: missing closing ]: `[`"),
        ("int('a') == 1", "1:5: invalid int argument: type conversion error from 'string' to 'int'"),
        (
            "duration(string(1)) == duration('1s')",
            "1:10: invalid duration argument: invalid duration: '1' must be a span such as 1h30m or 1.5s",
        ),
        ("'%d'.format(['a']) == ''", "1:14: error during formatting: decimal clause can only be used on integers, was given string"),
        ("'%s'.format([1, 2]) == ''", "1:6: too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%s %s'.format(['a']) == ''", "1:9: index 1 out of range"),
        ("[?object.a] == []", "1:9: expected type 'optional_type(dyn)' but found 'dyn'"),
        ("object.a[[1]] == 1", "1:10: invalid qualifier type: list"),
        ("object.a[?int] == optional.none()", "1:11: invalid qualifier type: type"),
        ("object.all(__result__, true)", "1:12: iteration variable overwrites accumulator variable"),
    ],
)
def test_what_is_wrong_has_its_place(text: str, message: str) -> None:
    assert _checked(text)[1][0].startswith(message)


def test_a_function_must_be_known_to_the_oldest_release_of_kubernetes() -> None:
    assert (SINCE["first"], SINCE_MODULE["semvers"]) == (33, 34)
    sentence = "needs Kubernetes 1.{} or newer; --kubernetes names the oldest that must take the policy"
    for text, since, what in (
        ("[1].first().hasValue()", 33, "first"),
        ("semver('1.2.3').major() == 1", 34, "semver"),
        ("[1].all(i, v, v == 1)", 33, "the macro all with two variables"),
        ("format.uri().validate('a').hasValue()", 32, "format.uri"),
    ):
        assert _checked(text, since) == ("bool", [])
        assert _checked(text, 0) == ("bool", [])
        assert f"{what} {sentence.format(since)}" in _checked(text, since - 1)[1][0]


@pytest.mark.parametrize(
    "text",
    [
        f"[[1]]{'.map(y, {y: y})' * 90}.size() == 1",
        f"[]{'.map(y, [y, y])' * 90} == []",
        " + ".join(["[]"] * 3000) + " == []",
        " && ".join(["object.a == [1].map(x, x)[0]"] * 500),
        f"[{', '.join(['{}'] * 3000)}] == []",
        "{'a': [object.b, {'c': object.d}]}".replace("object.b", "[" * 90 + "]" * 90) + " == 1",
    ],
)
def test_time_grows_with_the_length_alone(text: str) -> None:
    before = time.process_time()
    _checked(text)
    assert time.process_time() - before < 1.5


def test_whatever_is_written_is_checked() -> None:
    dice = Random(7)  # noqa: S311 - no secret
    writer, well = TypedWriter(dice, wrong=0.1), 0
    names = dict.fromkeys(("object", "oldObject", "request", "namespaceObject", "authorizer", "authorizer.requestResource"), DYN)
    for number in range(300):
        try:
            well += not compile_text(writer.write("bool", number % 5), names).check(names).faults
        except CelError:
            continue
    assert 30 < well < 270
