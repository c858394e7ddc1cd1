"""Spans of time and sizes: what is read, and that what is written reads as the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.api.operator.section import amount, seconds, size, span


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30s", 30),
        ("1h30m", 5400),
        ("250ms", 0.25),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("0", 0),
        ("+1m", 60),
        ("-1m", -60),
        ("2d", 172800),
        ("1us", 1e-6),
    ],
)
def test_spans_are_read(text: str, length: float) -> None:
    assert seconds(text) == pytest.approx(length)


@pytest.mark.parametrize("text", ["", "s", "30", "1 s", "1s ", "s1", "1y", "1h-30m", ".s", "9999999999h", "1e3s", "１s"])
def test_other_texts_are_no_spans(text: str) -> None:
    assert seconds(text) is None


@given(st.integers(min_value=-(10**12), max_value=10**12))
def test_a_written_span_is_read_as_the_same(milliseconds: int) -> None:
    assert seconds(span(milliseconds / 1000)) == pytest.approx(milliseconds / 1000, abs=1e-4)


@given(st.integers(min_value=1, max_value=2**50))
def test_a_written_size_is_read_as_the_same(count: int) -> None:
    assert size(amount(count)) == count


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5Mi", "7MB", "7 Mi", "07"])
def test_other_texts_are_no_sizes(text: str) -> None:
    assert size(text) is None
