"""The playground's stand-in for orjson: the same bytes and the same refusals."""

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Final

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tools.playground.runtime import orjson as stand_in

ROOT: Final = Path(__file__).parents[2]
OPTIONS: Final = [0, orjson.OPT_INDENT_2, orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE, orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS]
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.integers(-(2**40), 2**40).map(lambda n: n / 8) | st.text()
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20)


def test_its_options_are_those_of_orjson() -> None:
    names = [name for name in vars(stand_in) if name.startswith("OPT_")]
    assert {name: getattr(orjson, name) for name in names} == {name: getattr(stand_in, name) for name in names}
    used = {word for path in ROOT.glob("dynamo_webhooks/*/**/*.py") for word in path.read_text().split() if word.startswith("orjson.")}
    assert {word for word in used if "OPT_" in word and not any(name in word for name in names)} == set()


@given(values)
def test_it_writes_and_reads_the_same(value: object) -> None:
    for option in OPTIONS:
        written = orjson.dumps(value, option=option)
        assert stand_in.dumps(value, option=option) == written
        assert repr(stand_in.loads(written)) == repr(orjson.loads(written))


def test_it_writes_and_reads_recorded_objects_the_same() -> None:
    texts = [file.read_bytes() for file in sorted((ROOT / "api" / "generated").glob("*.json"))]
    for name in ("golden", "convert15"):
        with gzip.open(ROOT / "tests" / "golden" / "recorded" / f"{name}.ndjson.gz") as lines:
            texts += islice(lines, 0, 2_000, 10)
    assert len(texts) > 300
    for text in texts:
        assert stand_in.loads(text) == (value := orjson.loads(text))
        assert [stand_in.dumps(value, option=option) for option in OPTIONS] == [orjson.dumps(value, option=option) for option in OPTIONS]
    for page in (ROOT / "manifests" / "crds").glob("*.yaml"):
        value = yaml.load(page.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - either is safe
        assert stand_in.dumps(value) == orjson.dumps(value)


@pytest.mark.parametrize("value", ["\ud800", {"a": {3}}, b"x"])
def test_it_refuses_to_write_the_same(value: object) -> None:
    with pytest.raises(orjson.JSONEncodeError):
        orjson.dumps(value)
    with pytest.raises(stand_in.JSONEncodeError):
        stand_in.dumps(value)


@pytest.mark.parametrize(
    "text",
    ["", "nul", "NaN", "[1,]", "{'a': 1}", '"\\ud800"', '"a\nb"', "01", "1 2", b'"\xff"', "1e999", "[" * 2000, "[Infinity]", '{"a" 1}'],
)
def test_it_refuses_to_read_the_same(text: str | bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(text)
    with pytest.raises(stand_in.JSONDecodeError) as caught:
        stand_in.loads(text)
    assert isinstance(caught.value, json.JSONDecodeError)


@pytest.mark.parametrize(
    "text", ["-0", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "1" * 400 + "e-390", "1.0", "1E5"]
)
def test_it_reads_numbers_the_same(text: str) -> None:
    assert repr(stand_in.loads(text)) == repr(orjson.loads(text))
