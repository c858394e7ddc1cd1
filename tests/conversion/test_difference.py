"""Differences as data: applying them gives what was wanted, and anything else that is applied does no harm."""

import copy
from typing import Any

import hypothesis
from hypothesis import strategies as st

from dynamo_webhooks.conversion.difference import MAX_DEPTH, apply_differences, are_identical, find_differences, is_well_formed

KEYS = st.sampled_from(["a", "b", "0", ""])
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, "", "1", 9007199254740993])
VALUES = st.recursive(SCALARS, lambda below: st.lists(below, max_size=4) | st.dictionaries(KEYS, below, max_size=4), max_leaves=12)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@hypothesis.given(OBJECTS, OBJECTS)
@hypothesis.settings(database=None)
def test_applying_the_differences_gives_what_was_wanted(have: Any, want: Any) -> None:
    before = copy.deepcopy((have, want))
    entries = find_differences(have, want)
    assert are_identical(apply_differences(have, entries), want)
    assert is_well_formed(entries)
    assert bool(entries) is not are_identical(have, want)
    assert are_identical([have, want], list(before))


@hypothesis.given(VALUES, st.lists(st.tuples(st.lists(KEYS | st.integers(-2, 3), max_size=4), VALUES)), st.booleans())
@hypothesis.settings(database=None)
def test_entries_of_another_value_do_no_harm(value: Any, foreign: list[tuple[list[Any], Any]], takes: bool) -> None:
    """What an entry can't reach is left alone; the value itself never changes."""
    before = copy.deepcopy(value)
    apply_differences(value, [[path] if takes else [path, new] for path, new in foreign])
    assert are_identical(value, before)


def test_an_entry_that_reaches_nothing_changes_nothing() -> None:
    value = {"a": [1], "b": "text"}
    for entry in ([["a", 5], 2], [["a", -1], 2], [["a", "x"], 2], [["b", "x"], 2], [["c"]], [["c", "d"]], [["c", 0], 1], [["b", 0], 1]):
        assert are_identical(apply_differences(value, [entry]), value), entry


def test_a_member_below_an_absent_one_is_reached() -> None:
    assert apply_differences({}, [[["a", "b"], 1]]) == {"a": {"b": 1}}
    assert apply_differences({"a": None}, [[["a", "b"], 1]]) == {"a": {"b": 1}}


def test_deep_values_are_told_apart() -> None:
    """Deeper than the limit, a value is replaced as a whole; nothing runs out of stack."""

    def deep(leaf: int) -> Any:
        value: Any = leaf
        for _ in range(MAX_DEPTH + 50):
            value = {"a": value}
        return value

    entries = find_differences(deep(1), deep(2))
    assert len(entries) == 1
    assert len(entries[0][0]) == MAX_DEPTH
    assert is_well_formed(entries)
    assert are_identical(apply_differences(deep(1), entries), deep(2))


def test_other_shapes_are_refused() -> None:
    rows: list[Any] = [
        None,
        {},
        "x",
        [1],
        [[]],
        [["a", 1]],
        [[[], 3]],
        [[["a"], 1, 2]],
        [[[True], 1]],
        [[[None], 1]],
        [[[1.0], 1]],
        [[["a"] * (MAX_DEPTH + 1), 1]],
    ]
    assert [entries for entries in rows if is_well_formed(entries)] == []
