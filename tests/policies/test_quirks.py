"""Every quirk and gap of the measured behaviour is decided in one place: by rules that name it, or in policies/quirks.py."""

from __future__ import annotations

import re

import pytest

from dynamo_webhooks.policies.catalogue import declared
from dynamo_webhooks.policies.quirks import CHANGED, ENGINE, GAPS, KEPT, QUIRKS

ALL = {*QUIRKS, *GAPS}
BY_RULES = {number for rule in declared() if rule.difference for number in rule.difference.quirks}
TABLES = {"ENGINE": ENGINE, "CHANGED": CHANGED, "KEPT": KEPT}


def test_there_are_52_quirks_and_27_gaps() -> None:
    assert (len(QUIRKS), len(GAPS)) == (52, 27)
    assert (QUIRKS[0], QUIRKS[-1], GAPS[0], GAPS[-1]) == ("Q-01", "Q-52", "G-01", "G-27")


def test_rules_and_tables_name_only_numbers_that_exist() -> None:
    assert {*BY_RULES, *CHANGED, *KEPT} - ALL == set()


def test_no_number_is_undecided() -> None:
    assert ALL - {*BY_RULES, *CHANGED, *KEPT} == set()


@pytest.mark.parametrize(
    ("one", "other"), [(set(KEPT), BY_RULES), (set(CHANGED), BY_RULES), (set(KEPT), set(CHANGED))], ids=["kept", "changed", "tables"]
)
def test_no_number_is_decided_twice(one: set[str], other: set[str]) -> None:
    assert one & other == set()


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
