"""Long reviews taken apart: the objects that the decoder finds in the whole, in pieces; and whatever looks odd is left to the decoder."""

import json
from typing import Any, Final

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.api.deep import dump
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.webhooks import convert
from dynamo_webhooks.webhooks import split_review as splitting
from dynamo_webhooks.webhooks.envelope import MAX_LEVELS
from dynamo_webhooks.webhooks.split_review import NotDivisibleError, split_review
from tests.rows import run_each
from tests.webhooks.requests import conversion as text
from tests.webhooks.requests import graph
from tests.webhooks.test_convert import MIXED

LEAD: Final = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment"}


@pytest.fixture(autouse=True)
def everything_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small reviews are enough to see it."""
    monkeypatch.setattr(splitting, "MIN_LONG_REVIEW_BYTES", 0)


def taken(body: bytes) -> list[Any] | None:
    """The objects of a review that can be taken apart; None for one that must be decoded at one go."""
    split = split_review(body)
    if split is None:
        return None
    try:
        return list(split.objects(body)) if split.has_mark(orjson.loads(split.frame)["request"]) else None
    except (NotDivisibleError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


@pytest.mark.interpreted
def test_blanks_around_words_make_no_difference() -> None:
    objects = [{**LEAD, "metadata": {"name": f"g-{index}", "finalizers": ["a", "b"]}, "spec": {"services": {}}} for index in range(3)]
    whole = orjson.loads(text(objects))
    spelled = [
        json.dumps(whole),
        *(json.dumps(whole, indent=blanks) for blanks in (2, "\t")),
        text(objects).decode().replace(",", " \r\n,"),
    ]
    for body in spelled:
        assert taken(body.encode()) == objects


@run_each(
    "body",
    [
        text([]),
        text([{"kind": "K", "apiVersion": "v"}]),
        text([{"apiVersion": "v", "kind": "K"}, 1]),
        text([{"apiVersion": "v", "kind": "K"}, {"apiVersion": "w", "kind": "K"}]),
        text([{**LEAD, "items": [{}, LEAD]}]),  # what looks like a second object is a part of the first
        text([LEAD, LEAD, LEAD]).replace(b"},{", b"} , {", 1),
        text([LEAD, LEAD]).replace(b"},{", b"},,{"),
        text([LEAD, LEAD]).replace(b"},{", b"}{"),
        text([LEAD, LEAD])[:-1],
        text([LEAD, LEAD])[:-3],
        text([LEAD]) + b"}",
        text([LEAD], objects2=[LEAD]),
        text([LEAD])[:-2] + b',"objects":[]}}',  # the last one counts
        text([LEAD])[:-2] + b',"objects":[' + orjson.dumps(LEAD) + b"]}}",
        b'{"request":{"objects":"\\"objects\\":[' + orjson.dumps(orjson.dumps(LEAD).decode())[1:-1] + b']"}}',
        b'{"x":' + text([LEAD]) + b',"request":{"objects":[]}}',
        b'[{"objects":[' + orjson.dumps(LEAD) + b"]}]",
        b'{"objects":[' + orjson.dumps(LEAD) + b"]}",
    ],
)
def test_what_looks_odd_is_left_to_the_decoder(body: bytes) -> None:
    assert taken(body) is None


@pytest.mark.interpreted
def test_no_depth_keeps_an_object_from_being_taken_apart() -> None:
    for depth in (MAX_LEVELS - 6, MAX_LEVELS - 5, MAX_LEVELS - 4, MAX_LEVELS - 3, MAX_LEVELS - 2, 10_000):
        listed = b'[{"apiVersion":"v","kind":"K","x":' + b"[" * depth + b"]" * depth + b"}]"
        assert dump(taken(b'{"request":{"objects":' + listed + b"}}")) == listed, depth


PARTS: Final = (
    orjson.dumps(LEAD),
    orjson.dumps({**LEAD, "metadata": {"name": "x"}, "items": [LEAD, LEAD]}),
    orjson.dumps({**LEAD, "s": '},{"apiVersion":"nvidia.com/v1alpha1","kind":"'}),
    b'{"apiVersion":"nvidia.com/v1alpha1","kind":"',
    *(bytes([byte]) for byte in b'{}[],:"\\ 1'),
    b'"objects":[',
    b"]}}",
    b"},{",
    b'{"request":{"objects":[',
    "é".encode(),
    b"\xff",
)


@given(st.lists(st.sampled_from(PARTS), max_size=12), st.booleans())
def test_pieces_are_the_objects_of_the_whole_or_nothing(parts: list[bytes], framed: bool) -> None:
    """Whatever stands there: never others than the decoder's, and none where it finds none."""
    body = b"".join(parts)
    if framed:
        body = b'{"request":{"uid":"u","objects":[' + PARTS[0] + body + b"]}}"
    objects = taken(body)
    if objects is not None:
        assert orjson.loads(body)["request"]["objects"] == objects


@pytest.mark.interpreted
def test_whether_all_objects_are_light_is_known_before_any_is_decoded() -> None:
    long = {**LEAD, "metadata": {"name": "x" * 1_000}}
    length = len(orjson.dumps(long))
    for objects in ([long], [LEAD, long, LEAD], [LEAD, LEAD, long], [long, LEAD]):
        split = split_review(text(objects))
        assert split is not None
        assert split.all_light(text(objects), length + len(split.lead) + 1)
        assert not split.all_light(text(objects), length - 1)


@pytest.mark.interpreted
def test_what_surrounds_the_list_is_short() -> None:
    assert taken(text([LEAD]) + b" " * 4_000) == [LEAD]
    assert taken(text([LEAD]) + b" " * 5_000) is None
    assert taken(b" " * 5_000 + text([LEAD])) is None


def test_answers_are_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces and at one go, whether all goes well, some fail, or the end is damaged."""
    good = [{**LEAD, **graph()} for _ in range(3)]
    damaged = {**good[0], "metadata": {"name": "d", "annotations": {"nvidia.com/dgd-spec": "{"}}}
    reviews = [
        text(good),
        text([*good, {**LEAD, "spec": 1}]),
        text([good[0], damaged]),
        text(good)[:-1],
        text(MIXED),
    ]
    for body in reviews:
        monkeypatch.setattr(splitting, "MIN_LONG_REVIEW_BYTES", 0)
        ours = convert.answer(body, line=Line.V1_2)
        monkeypatch.setattr(splitting, "MIN_LONG_REVIEW_BYTES", len(body) + 1)
        whole = convert.answer(body, line=Line.V1_2)
        assert (ours.status, ours.body, ours.verdict.outcome, ours.verdict.code) == (
            whole.status,
            whole.body,
            whole.verdict.outcome,
            whole.verdict.code,
        )


def test_an_odd_end_is_noticed_after_others_were_converted(caplog: pytest.LogCaptureFixture) -> None:
    """The review begins anew, and nothing is told twice."""
    damaged = {**LEAD, "metadata": {"name": "d", "annotations": {"nvidia.com/dgd-spec": "{"}}, "spec": {}}
    body = text([damaged, {"kind": LEAD["kind"], "apiVersion": LEAD["apiVersion"], "spec": {}}])
    assert taken(body) is None
    response = orjson.loads(convert.answer(body, line=Line.V1_2).body)["response"]
    assert (response["result"]["status"], len(response["convertedObjects"])) == ("Success", 2)
    assert len([line for line in caplog.messages if "could not be used" in line]) == 1


@run_each("body", [text([LEAD, {**LEAD, "s": "x" * 500}]), text([LEAD, LEAD]).replace(b"},{", b"},,{"), text([LEAD]) + b"}"])
def test_steps_are_not_for_long_objects_nor_for_odd_reviews(body: bytes) -> None:
    with pytest.raises(NotDivisibleError):
        list(convert.steps(body, 400, line=Line.V1_2))
