"""The worked examples (tests/conversion/worked) hold; where ours do better, the example says how and for which difference."""

import re
from typing import Any

import pytest

from dynamo_webhooks.conversion.lens.protocol import ConversionError
from tests.conversion.worked_examples import load_examples, start, walk
from tests.laws.laws import away, home, live

EXAMPLES = load_examples()


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["id"] for example in EXAMPLES])
def test_worked_example(example: dict[str, Any]) -> None:
    found = list(walk(example))
    assert not found, f"{example['id']} {example['title']}: " + "\n".join(found)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["id"] for example in EXAMPLES])
def test_what_is_converted_comes_home(example: dict[str, Any]) -> None:
    obj = start(example)
    try:
        there = away(obj)
    except ConversionError:
        assert "an error" in [step.get("better", step.get("gives")) for step in example["steps"]]
    else:
        assert live(home(there, obj)) == live(obj)


def test_all_examples_are_there() -> None:
    """Those measured of the Go operator (E..), and our own (O..)."""
    specified = [example for example in EXAMPLES if example["id"].startswith("E")]
    assert sorted(example["id"] for example in specified) == sorted(f"E{number:02}" for number in range(1, 109))
    assert {example["id"] for example in EXAMPLES if example not in specified} == {"O01", "O02"}
    assert sum("convert" in step for example in specified for step in example["steps"]) == 213
    converted = [step for example in EXAMPLES for step in example["steps"] if "convert" in step]
    assert all(("better" in step) is ("why" in step) for step in converted)
    assert all(re.match(r"C-\d\d|nothing is dropped|the schema refuses", step["why"]) for step in converted if "why" in step)
