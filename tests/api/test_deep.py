"""JSON of any depth is read and written: what the decoder refuses for its depth stays text, and is checked all the same."""

from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.api.deep import MAX_DECODED_LEVELS, Deep, dump, load

DEPTHS: Final = [
    1,
    MAX_DECODED_LEVELS - 1,
    MAX_DECODED_LEVELS,
    MAX_DECODED_LEVELS + 1,
    254,
    255,
    1_023,
    1_024,
    1_025,
    2 * MAX_DECODED_LEVELS + 1_000,
    10_000,
    100_000,
]


def nested(depth: int, inside: bytes = b"1") -> bytes:
    return b'{"a":' * depth + inside + b"}" * depth


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_text_of_any_depth_is_read_and_written(depth: int) -> None:
    for text in (nested(depth), b"[" * depth + b"]" * depth, nested(depth, b'"}\\\\]\\"["'), b'[{"b":2},' + nested(depth) + b',"x"]'):
        assert dump(load(text)) == text


def test_shallow_neighbours_of_a_deep_value_are_decoded() -> None:
    decoded = load(b'{"deep":' + nested(3_000) + b',"list":[1,"x",' + nested(1_500) + b'],"plain":{"a":null}}')
    assert decoded["plain"] == {"a": None}
    assert decoded["list"][:2] == [1, "x"]
    values = [decoded["deep"], decoded["list"][2]]
    for _ in range(MAX_DECODED_LEVELS - 2):
        values = [value["a"] for value in values]
    assert [(type(value["a"] if type(value) is dict else value), _levels(value)) for value in values] == [
        (Deep, 3_000 - MAX_DECODED_LEVELS + 1),
        (Deep, 1_500 - MAX_DECODED_LEVELS + 2),
    ]


def _levels(value: Any) -> int:
    deep: Deep = value["a"] if type(value) is dict else value
    return deep.levels


@pytest.mark.parametrize(
    "text",
    [
        nested(3_000, b"x"),
        nested(3_000)[:-1],
        nested(3_000) + b"}",
        nested(3_000, b'"'),
        nested(3_000, b"[}"),
        nested(3_000, b"1}{1"),
        nested(3_000, b'"\xff"'),
        b"[" * 3_000,
        b"]" * 3_000 + b"[" * 3_000,
        nested(3_000, b'{"a":1,}'),
    ],
    ids=lambda text: repr(text[1490:1510]),
)
def test_a_text_that_is_broken_below_many_levels_is_refused(text: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        load(text)


def test_equal_texts_are_equal_values() -> None:
    assert load(nested(2_000)) == load(nested(2_000))
    assert load(nested(2_000)) != load(nested(2_000, b"2"))
    assert len({Deep(b"1", 1), Deep(b"1", 1)}) == 1


def test_keys_are_sorted_and_odd_values_written_at_any_depth() -> None:
    value: Any = {"b": 10**30, "a": [1.5, None, True, "\ud800é"], "c": {}, "d": []}
    text = b'{"a":[1.5,null,true,"\xed\xa0\x80\xc3\xa9"],"b":1000000000000000000000000000000,"c":{},"d":[]}'
    assert dump(value, ordered=True) == text
    for _ in range(2_000):
        value = {"a": value}
    assert dump(value, ordered=True) == nested(2_000, text)


def test_what_is_no_json_is_not_written() -> None:
    with pytest.raises(TypeError):
        dump({"a": object()})


def test_a_tuple_is_written_as_a_list_however_deep_its_values_are() -> None:
    assert dump((load(nested(3_000)), None)) == b"[" + nested(3_000) + b",null]"
