"""The worked examples (tests/conversion/worked) hold; where ours do better, the example says how and for which difference.

Every measured oddity of conversion is decided once.
"""

import re
from pathlib import Path

import pytest

from dynamo_webhooks.conversion.lens.protocol import ConversionError
from tests.conversion.worked_examples import load_examples, start, walk
from tests.golden.test_conversion import _listed
from tests.laws.laws import away, home, live
from tools.manual.conversion_differences import HEALED, KEPT, SPELLED

EXAMPLES = load_examples()


def test_worked_example(subtests: pytest.Subtests) -> None:
    for example in EXAMPLES:
        with subtests.test(example["id"]):
            differences = list(walk(example))
            assert not differences, f"{example['id']} {example['title']}: " + "\n".join(differences)


def test_what_is_converted_comes_home(subtests: pytest.Subtests) -> None:
    for example in EXAMPLES:
        with subtests.test(example["id"]):
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


def test_every_quirk_is_healed_or_kept() -> None:
    assert set(HEALED) | set(KEPT) == {f"C-{number:02}" for number in range(1, 31)}
    assert not set(HEALED) & set(KEPT)


def _numbers(name: str) -> list[str]:
    lines = (Path(__file__).parents[1] / "golden" / name).read_text().splitlines()
    return [line.split()[1] for line in lines if line and not line.startswith("#")]


def test_listed_differences_name_what_is_healed_or_spelled_otherwise() -> None:
    unlike, spelled = _numbers("conversion-skips.txt"), _numbers("conversion-spelling.txt")
    assert unlike
    later = _numbers("line15-conversion.txt")
    assert {number for number in (*unlike, *later) if number.startswith("C")} <= set(HEALED)
    assert set(spelled) | {number for number in later if number.startswith("S")} == set(SPELLED)
    assert len(_listed()) == len(unlike) + len(spelled)
