"""Whatever an expression does, it pays for: the time that it takes is at most a straight line over the budget that it spends."""

import signal
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from dynamo_webhooks.cel import CelError, EvaluationError, compile_text
from dynamo_webhooks.cel.frame import Frame
from dynamo_webhooks.cel.types import DYN
from tests.hostile.expressions import make_data, write_all
from tests.hostile.settings import EXPRESSIONS, SEARCH_SEED

BUDGET = 20_000
AT_ONCE = 0.15  # seconds of CPU that one look at all data may take, and that compiling and checking an expression takes
A_UNIT = 50e-6  # seconds of CPU for a unit of the budget, twenty times what most operators take, and twice the worst
STOPPED = 10  # seconds of CPU after which an evaluation is taken for endless


class _EndlessError(BaseException):
    """No expression must catch it."""


@pytest.fixture(autouse=True)
def _stopped() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _EndlessError

    before = signal.signal(signal.SIGVTALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def _work(text: str, data: dict[str, Any], *, traced: bool) -> tuple[float, int]:
    """How many seconds of CPU an expression takes, and how much of the budget it spends."""
    spent: list[Frame] = []
    before = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, STOPPED)
    try:
        program = compile_text(text, {"self"})
        program.check({"self": DYN})
        compiler = program._compiler
        spent.append(Frame({"self": data}, compiler.variables, BUDGET - compiler.cost))
        if traced:
            program.evaluate_traced({"self": data}, BUDGET)
        else:
            program._run(spent[0])
    except CelError:
        pass
    except _EndlessError:
        return STOPPED, BUDGET
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - before, BUDGET - (spent[0].remaining if spent and not traced else 0)


@pytest.mark.slow("evaluates hundreds of expressions up to their budget")
def test_time_grows_with_the_budget_that_is_spent() -> None:
    dice, data = Random(SEARCH_SEED), make_data()  # noqa: S311 - no secret
    slow = []
    for number, text in enumerate(write_all(dice, EXPRESSIONS)):
        took, spent = _work(text, data, traced=number % 4 == 0)
        if took > AT_ONCE + A_UNIT * spent:  # once more: the machine may have been busy
            took, spent = min(_work(text, data, traced=number % 4 == 0) for _ in range(2))
        if took > AT_ONCE + A_UNIT * spent:
            slow.append(f"{took:.2f} s for {spent}: {text}")
    assert slow == []


@pytest.mark.parametrize(
    "text",
    [
        "self.numbers.all(i, self.m.exists(k, true))",
        "self.numbers.all(i, [1].transformMapEntry(k, v, self.m).size() > 0)",
        "self.numbers.exists(i, ''.matches('(x{1000}){1000}' + string(i)))",
        "'a'.matches(self.pattern + self.pattern)",
        "[self.same].all(l, self.loop.all(i, l.isSorted() && l.min() == l.max()))",
        "[{self.a: 1}].all(m, [self.a.substring(1) + 'a'].all(k, self.numbers.all(i, m[k] == 1)))",
    ],
)
def test_what_was_free_once_costs(text: str) -> None:
    took, spent = _work(text, make_data(), traced=False)
    assert took <= AT_ONCE + A_UNIT * spent


@pytest.mark.parametrize(
    "operator", ["y == y", "y in [y]", "sets.equivalent([y], [y, y])", "[y].indexOf(y) == 1", "'%s'.format([y]) == ''"]
)
@pytest.mark.parametrize("doubled", [".map(y, [y, y])", ".map(y, {'a': y, 'b': y})", ".map(y, [optional.of([y]), y])"])
def test_values_that_share_their_parts_cost_what_they_would_unfolded(operator: str, doubled: str) -> None:
    with pytest.raises(EvaluationError, match=r"actual cost limit exceeded|error during formatting"):
        compile_text(f"[[1]]{doubled * 40}.all(y, {operator})", set()).evaluate({}, BUDGET)
