"""Quantities are read exactly, rounded only below a nano, and printed as Kubernetes prints them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.api.quantity import MAX_INT64, canonical, is_quantity, is_zero, parse, whole

NANO = Fraction(1, 10**9)


def test_every_form_is_read_exactly() -> None:
    rows: list[tuple[str | float, int | Fraction]] = [
        ("1", 1),
        ("+1", 1),
        ("5.", 5),
        (".5", Fraction(1, 2)),
        ("500m", Fraction(1, 2)),
        ("1000m", 1),
        ("1k", 1000),
        ("1Ki", 1024),
        ("0.1Ki", Fraction(1024, 10)),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("-1Gi", -(2**30)),
        (" 1Gi ", 2**30),
        (3, 3),
        (1.5, Fraction(3, 2)),
        (1e3, 1000),
    ]
    assert [(text, amount, parsed) for text, amount in rows if (parsed := parse(text)) != amount] == []


def test_anything_else_is_no_quantity(subtests: pytest.Subtests) -> None:
    rows: list[str] = ["", ".", "+", "Gi", "1e", "1K", "1gi", "--1", "1.2.3", "0x1", "1_0", "١", "1 Gi", "1Kim", "1e5m", "1e1.5", "nan"]
    for text in rows:
        with subtests.test(text=text):
            assert not any(map(is_quantity, (text, True, None, [], {})))
            with pytest.raises(ValueError, match="must be a quantity"):
                parse(text)


@pytest.mark.parametrize("text", ["1e-12", "0.1n", "1e-99999999999", "0." + "0" * 100_000 + "1"])
def test_less_than_a_nano_rounds_up_to_one(text: str) -> None:
    """The tiniest amount is not zero, however many digits it takes to say it."""
    assert parse(text) == NANO
    assert not is_zero(text)


def test_zero_is_numerical() -> None:
    rows: list[str] = ["0", "0Gi", "-0", "0e9999999999", "0.000", "0" * 100_000]
    assert [text for text in rows if not is_zero(text)] == []


@pytest.mark.parametrize("text", ["1e999999999999", "9" * 100_000, "99999E", "1e30"])
def test_absurd_amounts_are_cut_down_in_bounded_time(text: str) -> None:
    assert parse(text) == MAX_INT64


def test_a_far_digit_rounds_the_last_nano_up() -> None:
    assert parse("1." + "0" * 100_000 + "1") == 1 + NANO
    assert parse("-1." + "0" * 100_000 + "1") == -(1 + NANO)


@pytest.mark.parametrize(("text", "number"), [("2", 2), ("2000m", 2), ("1500m", None), ("1Ki", 1024)])
def test_whole_tells_whole_amounts_from_parts(text: str, number: int | None) -> None:
    assert whole(text) == number


def test_the_canonical_form_keeps_the_family_of_the_suffix() -> None:
    rows: list[tuple[str | int, str]] = [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("1024Mi", "1Gi"),
        ("0.5Gi", "512Mi"),
        ("0.5Ki", "512"),
        ("-2048Ki", "-2Mi"),
        ("1e4", "10e3"),
        ("1e-3", "1e-3"),
        ("0.0001n", "1n"),
        ("0Gi", "0"),
        (5, "5"),
    ]
    assert [(printed, form) for text, printed in rows if (form := canonical(text)) != printed] == []


@given(st.integers(-(10**15), 10**15), st.sampled_from(["", "m", "n", "k", "Ki", "Mi", "e3", "e-2"]))
def test_the_canonical_form_means_the_same_and_is_its_own(number: int, suffix: str) -> None:
    text = f"{number}{suffix}"
    assert parse(canonical(text)) == parse(text)
    assert canonical(canonical(text)) == canonical(text)
