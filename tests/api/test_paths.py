"""Values by their paths: what is there is found, whichever end an index counts from, and nothing else is."""

from dynamo_webhooks.api.paths import MISSING, lookup


def test_a_value_is_found_by_its_path_alone() -> None:
    values = [lookup({"a": ["x", "y"]}, ("a", index)) for index in (-3, -2, -1, 0, 1, 2)]
    assert values == [MISSING, "x", "y", "x", "y", MISSING]
    assert lookup({"a": None}, ("a", "b")) is MISSING
    assert lookup({"0": "x"}, (0,)) is MISSING
