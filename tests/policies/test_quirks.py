"""Every quirk and gap of the measured behaviour is decided in one place: by rules that name it, or in policies/quirks.py."""

import re

import pytest

from dynamo_webhooks.policies.catalogue import list_declared
from dynamo_webhooks.policies.quirks import CHANGED, ENGINE, KEPT

QUIRKS = tuple(f"Q-{number:02}" for number in range(1, 53))
GAPS = tuple(f"G-{number:02}" for number in range(1, 28))
ALL = {*QUIRKS, *GAPS}
BY_RULES = {number for rule in list_declared() if rule.difference for number in rule.difference.quirks}
TABLES = {"ENGINE": ENGINE, "CHANGED": CHANGED, "KEPT": KEPT}


def test_every_number_is_decided_once_and_no_other_is_named() -> None:
    assert sorted([*BY_RULES, *CHANGED, *KEPT]) == sorted(ALL)


@pytest.mark.parametrize("table", TABLES)
def test_every_decision_is_a_sentence_that_fits_a_table(table: str) -> None:
    for name, text in TABLES[table].items():
        assert re.fullmatch(r"[A-Z].*\.", text), name
        assert "|" not in text, name
        assert "\n" not in text, name


def test_a_decision_that_points_to_the_engine_names_one_of_its_differences() -> None:
    named = [name for text in CHANGED.values() for name in re.findall(r"Engine difference `([a-z-]+)`", text)]
    assert named
    assert set(named) <= set(ENGINE)
