"""Which objects are too deep to be worked with."""

from typing import Any

import pytest

from dynamo_webhooks.reconciler.common.problems import LEVELS, cut_nested, explain_cut


def nested(levels: int, inner: Any = 1) -> Any:
    """Maps and lists in turn, so many within one another."""
    for number in range(levels):
        inner = {"x": inner, "y": [1]} if number % 2 else [inner]
    return inner


@pytest.mark.parametrize("levels", [0, 1, LEVELS])
def test_what_is_not_deep_stays(levels: int) -> None:
    obj = {"spec": nested(levels)}
    cut_nested(obj)
    assert obj == {"spec": nested(levels)}
    assert explain_cut(obj) == ""


@pytest.mark.parametrize("levels", [LEVELS + 1, 100_000])
def test_what_is_deeper_loses_its_spec(levels: int) -> None:
    obj = {"kind": "K", "spec": nested(levels)}
    cut_nested(obj)
    assert obj["spec"] == {}
    assert explain_cut(obj) == "spec: must be nested at most 200 levels deep; flatten the deepest part"
    cut_nested(obj)
    assert explain_cut(obj) != ""


@pytest.mark.parametrize("spec", [None, {}, [], "text", {"a": None, "b": [[], {}]}])
def test_odd_specs_are_not_deep(spec: Any) -> None:
    obj = {"spec": spec}
    cut_nested(obj)
    assert obj == {"spec": spec}


def test_without_a_spec_nothing_is_added() -> None:
    obj: dict[str, Any] = {"metadata": {}}
    cut_nested(obj)
    assert obj == {"metadata": {}}
