"""Every shape of hostile objects on every route: answered without internal error, in bounded size and time that grows with the size.

Calls are counted here, of Python and of C functions, so that nothing depends on the clock; what one call of C costs, the growth table of
the measurements shows (tests/bench/growth.py).
"""

import logging
import sys
import tracemalloc
from collections.abc import Callable
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
from tests.hostile.shapes import LINE_1_5, Shape, body, everything, label
from tests.webhooks.test_admission import SETTINGS

MOST: Final = 2.2  # calls for twice the size
ANSWERED: Final = 400_000  # bytes of an answer to an admission review: a hundred causes, each with its sentence and its field
CONVERTED: Final = 12  # times the bytes of a conversion review, of its answer: each null of a list may be remembered with its path
HELD: Final = 150  # times the bytes of a review, of memory while it is answered: `{}` is three of them, and a dictionary

SHAPES: Final = pytest.mark.parametrize("shape", everything(), ids=lambda shape: f"{shape.kind}: {shape.name}")


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)  # damaged annotations are logged


@pytest.mark.interpreted
@SHAPES
def test_twice_the_size_takes_twice_the_calls(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    # short objects are not weighed, and light ones no further than that: steps that a count must not meet
    monkeypatch.setattr(losses, "LIGHT", 0)
    monkeypatch.setattr(weight, "LIGHT", 0)
    monkeypatch.setattr(weight, "WARNED", 0)
    for once, twice in zip(shape.cases(shape.size), shape.cases(2 * shape.size), strict=True):
        few, many = (_calls(asked.route, body(asked)) for asked in (once, twice))
        assert many <= MOST * few, f"{label(once)}: {few} calls at size {shape.size}, {many} at twice that"


@SHAPES
def test_answers_are_right_and_bounded(shape: Shape) -> None:
    for asked in shape.cases(2 * shape.size if shape.deep else 4 * shape.size):
        text = body(asked)
        found = answer(asked.route, text, SETTINGS)
        assert found.verdict.outcome != "fault"
        assert complaint(asked.route, Mutant(text, whole=True), found.status, found.body) == ""
        most = CONVERTED * len(text) + 2_000 if asked.route.purpose is Purpose.CONVERT else ANSWERED
        assert len(found.body) <= most, label(asked)


@SHAPES
def test_memory_grows_with_the_size_and_no_faster(shape: Shape) -> None:
    for asked in shape.cases(shape.size):
        text = body(asked)
        peak = _peak(lambda route=asked.route, text=text: answer(route, text, SETTINGS))
        assert peak <= HELD * len(text) + 500_000, f"{label(asked)}: {peak} bytes for {len(text)}"


@pytest.mark.parametrize("shape", LINE_1_5, ids=lambda shape: shape.name)
def test_what_line_1_5_looks_at_takes_twice_the_calls_too(shape: Shape) -> None:
    settings = SETTINGS._replace(facts=SETTINGS.facts._replace(operatorVersion="1.5.0", checkpoint=True))
    for once, twice in zip(shape.cases(shape.size), shape.cases(2 * shape.size), strict=True):
        few, many = (_calls(asked.route, body(asked), settings) for asked in (once, twice))
        assert many <= MOST * few, f"{label(once)}: {few} calls at size {shape.size}, {many} at twice that"
        found = answer(twice.route, body(twice), settings)
        assert found.verdict.outcome != "fault"
        assert len(found.body) <= CONVERTED * len(body(twice)) + ANSWERED


def _calls(route: Route, text: bytes, settings: Settings = SETTINGS) -> int:
    """The calls that an answer takes, once the caches know what is usual."""
    answer(route, text, settings)
    count = 0

    def counted(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        answer(route, text, settings)
    finally:
        sys.setprofile(before)
    return count


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
    few, many = (_calls(*_review(size)) for size in (100, 1_000))
    assert many > 5 * few > 100


def _review(size: int) -> tuple[Any, bytes]:
    [shape] = [one for one in everything() if (one.name, one.kind) == ("mounts without a place, kept", "DynamoComponentDeployment")]
    asked = next(one for one in shape.cases(size) if label(one) == "validate v1alpha1")
    return asked.route, body(asked)
