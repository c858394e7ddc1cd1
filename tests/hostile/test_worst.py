"""The costliest body of each size and route that a search finds is within the bounds that SECURITY.md states."""

import logging
from random import Random
from typing import Final

import pytest

from dynamo_webhooks.webhooks.limits import Limits
from dynamo_webhooks.webhooks.routes import Route
from tests.hostile import worst
from tests.hostile.settings import SEARCH_SEED
from tests.hostile.worst import MAX_TIMES, MAX_TIMES_IN_LOOP, SIZES, TRIALS, Worst, calibrated, climb, cost, line, searches

ASKED: Final = [(*each, light) for light in (False, True) for each in searches(SIZES) if not light or each[2] == SIZES[-1]]


def _ratio(result: Worst) -> float:
    """Measured again, between two calibrations: what else runs on the machine changes the speed."""
    before, seconds, after = calibrated(), cost(result.route, result.text), calibrated()
    return seconds / max(before, after)


@pytest.mark.interpreted  # compiled modules take a quarter of the time, and the ordinary conversion less than that
@pytest.mark.parametrize(
    ("route", "version", "size", "light"), ASKED, ids=lambda value: value.path if isinstance(value, Route) else str(value)
)
def test_the_worst_body_is_bounded(
    route: Route, version: str, size: int, light: bool, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.CRITICAL)
    result = climb(route, version, size, Random(SEARCH_SEED), TRIALS, light=light)  # noqa: S311 - no secret
    with capsys.disabled():
        print("in the loop " * light + line(result))
    most = MAX_TIMES_IN_LOOP * Limits().small_body if light else MAX_TIMES[route.purpose] * len(result.text)
    assert result.ratio * len(result.text) <= most or min(_ratio(result) for _ in range(3)) <= most, line(result)


def test_the_search_finds_what_is_costly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that costs a thousand times as much as others is found, and its body is the one that is told."""
    monkeypatch.setattr(worst, "cost", lambda _, text: len(text) * (1e-3 if b'"annotations":{"n0"' in text else 1e-6))
    result = climb(*searches((4096,))[0], Random(SEARCH_SEED), 400)  # noqa: S311 - no secret
    assert result.ratio == pytest.approx(1000)
    assert b'"annotations":{"n0"' in result.text
