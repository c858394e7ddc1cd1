"""Any text over any data ends soon, with a value or with an error of its own; and what makes evaluation fast changes no answer."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamo_webhooks.cel import CelError, EvaluationError, Program, compile_text
from tests.cel.expressions import Writer, make_object

_PIECES = (
    *"+-*/%<>!?:.,()[]{}'\"`\\ \n\t@#x1é",
    *("&&", "||", "==", "!=", ".?", "[?", "self", "true", "null", "0x1", "1u", "1e3", "'a'", "b'\\xff'", "r'\\'", "has(", "in", "self.a"),
    *(
        ".all(x,",
        ".exists_one(x,",
        ".map(x,",
        ".filter(",
        ".optMap(x,",
        ".transformMap(k, v,",
        "size(",
        "quantity(",
        "optional.of(",
        ".matches(",
    ),
    *(".format([", "duration(", "timestamp(", "ip(", "cidr(", "semver(", "url(", "sets.contains(", ".replace(", ".first()"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(_PIECES), max_size=25).map("".join) | st.text(max_size=40), JSON)
def test_any_text_has_a_value_or_an_error(text: str, data: Any) -> None:
    before = time.process_time()
    with suppress(CelError):
        compile_text(text, {"self"}).evaluate({"self": data})
    assert time.process_time() - before < 5


def _answer(evaluate: Callable[[], object]) -> object:
    try:
        return evaluate()
    except EvaluationError as error:
        return str(error)


def _traced(program: Program, bindings: Mapping[str, object]) -> object:
    return program.evaluate_traced(bindings)[0]


def test_expressions_by_dice_answer_alike_traced_or_not() -> None:
    """A traced evaluation leaves out what is made fast."""
    dice = Random(5)  # noqa: S311 - no secret
    answers: Counter[object] = Counter()
    for _ in range(1000):
        text = Writer(dice, "self").truth()
        program, bindings = compile_text(text, {"self"}), {"self": make_object(dice)}
        answer = _answer(partial(program.evaluate, bindings))
        assert answer == _answer(partial(_traced, program, bindings)), text
        answers[answer if type(answer) is bool else "error"] += 1
    assert min(answers[True], answers[False], answers["error"]) > 150


def test_what_an_object_lacks_makes_an_expression_true() -> None:
    parts = ("has(self.s)", "has(self.n)", "self.s == 'a'", "self.n > 1", "has(self.missing)", "self.t == 'a'", "has(self.t)")
    dice = Random(7)  # noqa: S311 - no secret
    count = 0
    for _ in range(1000):
        text = dice.choice(parts)
        for _ in range(dice.randrange(1, 5)):
            text = dice.choice(
                [f"!({text})", f"({text}) && {dice.choice(parts)}", f"{dice.choice(parts)} || ({text})", f"!({text} && has(self.s))"]
            )
        program = compile_text(text, {"self"})
        lacking = program.true_without("self")
        for _ in range(3):
            value = make_object(dice)
            if any(
                field not in value if other is None else type(value.get(field)) is str and value[field] != other for field, other in lacking
            ):
                assert program.evaluate({"self": value}) is True, (text, value)
                count += 1
    assert count > 200


def test_items_that_differ() -> None:
    text = "self.all(a, self.exists_one(b, b.s == a.s))"
    program = compile_text(text, {"self"})
    for items, wanted in (([], True), ([{"s": 1}, {"s": "1"}], True), ([{"s": 1}, {"s": 1.0}], False), ([{"s": "a"}] * 2, False)):
        assert program.evaluate({"self": items}) is wanted
        assert program.evaluate_traced({"self": items})[0] is wanted
    assert compile_text("self.all(a, self.exists_one(b, b.s == 'x'))", {"self"}).evaluate({"self": [{"s": "x"}, {"s": "y"}]}) is True
    assert compile_text("self.all(a, self.exists_one(b, b.s == b.s))", {"self"}).evaluate({"self": [{"s": "x"}, {"s": "y"}]}) is False
