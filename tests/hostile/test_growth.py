"""Every shape of hostile objects on every route: answered without internal error, in bounded size and time that grows with the size.

Calls are counted here, of Python and of C functions, so that nothing depends on the clock.
"""

import logging
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from dynamo_webhooks.admission import losses
from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.conversion import weight
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.envelope import Answer
from dynamo_webhooks.webhooks.routes import Route
from tests.hostile.judging import complaint
from tests.hostile.mutants import Mutant
from tests.hostile.reviews import Asked
from tests.hostile.shapes import LINE_1_5, Shape, body, everything, label
from tests.laws.conftest import share
from tests.webhooks.test_admission import SETTINGS

MAX_CALLS_RATIO: Final = 2.2  # for twice the size
ANSWERED: Final = 400_000  # bytes of an answer to an admission review: a hundred causes, each with its sentence and its field
CONVERTED: Final = 12  # times the bytes of a conversion review, of its answer: each null of a list may be remembered with its path
HELD: Final = 150  # times the bytes of a review, of memory while it is answered: `{}` is three of them, and a dictionary


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)  # damaged annotations are logged


@pytest.mark.slow("counts the calls of some hundred objects in two sizes")
@pytest.mark.interpreted
@pytest.mark.parametrize("kind", sorted({shape.kind for shape in everything()}))
def test_twice_the_size_takes_twice_the_calls(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # short objects are not weighed, and light ones no further than that: steps that a count must not meet
    monkeypatch.setattr(losses, "LIGHT_BYTES", 0)
    monkeypatch.setattr(weight, "LIGHT_BYTES", 0)
    monkeypatch.setattr(weight, "WARNING_BYTES", 0)
    wrong = [fault for shape in everything() if shape.kind == kind for fault in _growing(shape, SETTINGS)]
    assert not wrong, "\n".join(wrong)


def test_what_line_1_5_looks_at_takes_twice_the_calls_too() -> None:
    settings = SETTINGS._replace(facts=SETTINGS.facts._replace(operatorVersion="1.5.0", checkpoint=True))
    wrong = [fault for shape in LINE_1_5 for fault in _growing(shape, settings)]
    assert not wrong, "\n".join(wrong)


def test_answers_are_right_and_bounded() -> None:
    wrong: list[str] = []
    for shape in share(everything(), 4):
        for case in shape.cases(2 * shape.size if shape.deep else 4 * shape.size):
            text = body(case)
            wrong += _misanswered(shape, case, text, answer(case.route, text, SETTINGS))
    assert not wrong, "\n".join(wrong)


def test_memory_grows_with_the_size_and_no_faster() -> None:
    wrong: list[str] = []
    for shape in share(everything(), 4):
        for case in shape.cases(shape.size):
            text = body(case)
            answer(case.route, text, SETTINGS)  # imports the rules that it asks, once for the process
            peak = _peak(lambda route=case.route, text=text: answer(route, text, SETTINGS))
            if peak > HELD * len(text) + 500_000:
                wrong.append(f"{_said(shape, case)}: {peak} bytes for {len(text)}")
    assert not wrong, "\n".join(wrong)


def _said(shape: Shape, case: Asked) -> str:
    return f"{shape.kind}: {shape.name}, {label(case)}"


def _growing(shape: Shape, settings: Settings) -> Iterator[str]:
    """What is wrong with the cost of a shape, and with its answer at twice the size."""
    for once, twice in zip(shape.cases(shape.size), shape.cases(2 * shape.size), strict=True):
        text = body(twice)
        for case in (once, twice):
            answer(case.route, body(case), settings)  # so that caches know what is usual, and what is imported late is there
        (few, _), (many, reply) = _calls(once.route, body(once), settings), _calls(twice.route, text, settings)
        if many > MAX_CALLS_RATIO * few:
            yield f"{_said(shape, once)}: {few} calls at size {shape.size}, {many} at twice that"
        yield from _misanswered(shape, twice, text, reply)


def _misanswered(shape: Shape, case: Asked, text: bytes, reply: Answer) -> Iterator[str]:
    most = CONVERTED * len(text) + 2_000 if case.route.purpose is Purpose.CONVERT else ANSWERED
    if reply.verdict.outcome == "fault" or len(reply.body) > most:
        yield f"{_said(shape, case)}: {reply.verdict.outcome} in {len(reply.body)} bytes"
    if wrong := complaint(case.route, Mutant(text, whole=True), reply.status, reply.body):
        yield f"{_said(shape, case)}: {wrong}"


def _calls(route: Route, text: bytes, settings: Settings = SETTINGS) -> tuple[int, Answer]:
    """The calls that an answer takes, and the answer."""
    count = 0

    def counted(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        reply = answer(route, text, settings)
    finally:
        sys.setprofile(before)
    return count, reply


def _peak(answered: Callable[..., Answer]) -> int:
    """The most bytes that were in use at once while something was answered."""
    answered()
    tracemalloc.start()
    try:
        answered()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_calls_are_counted() -> None:
    """A test that counts nothing would always pass."""
    answer(*_review(100), SETTINGS)  # so that caches know what is usual
    few, many = (_calls(*_review(size))[0] for size in (100, 1_000))
    assert many > 5 * few > 100


def _review(size: int) -> tuple[Any, bytes]:
    [shape] = [form for form in everything() if (form.name, form.kind) == ("mounts without a place, kept", "DynamoComponentDeployment")]
    wanted = next(case for case in shape.cases(size) if label(case) == "validate v1alpha1")
    return wanted.route, body(wanted)
