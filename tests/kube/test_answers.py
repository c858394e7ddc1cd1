"""What an API server's bytes mean."""

import json
from typing import Any

import pytest

from dynamo_webhooks.kube import answers
from dynamo_webhooks.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    NotServedError,
    UnavailableError,
)
from tests.rows import run_each


def status(**members: Any) -> bytes:
    return json.dumps({"kind": "Status", **members}).encode()


@run_each(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", InvalidError),
        (401, "Unauthorized", ForbiddenError),
        (403, "Forbidden", ForbiddenError),
        (404, "NotFound", NotServedError),
        (405, "MethodNotAllowed", ApiError),
        (409, "AlreadyExists", AlreadyExistsError),
        (409, "Conflict", ConflictError),
        (410, "Expired", GoneError),
        (422, "Invalid", InvalidError),
        (429, "TooManyRequests", UnavailableError),
        (500, "InternalError", UnavailableError),
        (503, "", UnavailableError),
    ],
)
def test_each_status_is_one_error(code: int, reason: str, expected: type[ApiError]) -> None:
    error = answers.make_error(code, status(reason=reason, message="the server's own sentence"), "get /x", secret=False)
    assert type(error) is expected
    assert (error.code, error.reason) == (code, reason)
    assert str(error) == f"get /x: {code}: the server's own sentence"


@run_each(
    ("content", "expected"),
    [
        (status(reason="NotFound", message='services "x" not found', details={"name": "x", "kind": "services"}), NotFoundError),
        (status(reason="NotFound", message="the server could not find the requested resource", details={}), NotServedError),
        (status(reason="NotFound", message="not found", details=None), NotServedError),
        (b"404 page not found\n", NotServedError),
    ],
)
def test_an_object_that_is_not_there_is_told_from_a_kind_that_is_not_served(content: bytes, expected: type[ApiError]) -> None:
    assert type(answers.make_error(404, content, "get /x", secret=False)) is expected


@run_each("content", [b"", b"<html>a proxy's page</html>", b"[]", b'{"message": null}', b"\xff\xfe"])
def test_a_refusal_that_is_no_status_is_still_told(content: bytes) -> None:
    error = answers.make_error(502, content, "get /x", secret=False)
    assert type(error) is UnavailableError
    assert str(error).startswith("get /x: 502: ")


@run_each("code", [400, 413, 415, 422, 500])
def test_a_refusal_of_a_secret_names_fields_and_no_values(code: int) -> None:
    causes = [{"field": "data[tls.key]", "reason": "FieldValueInvalid", "message": 'Invalid value: "hunter2"'}]
    content = status(reason="Invalid", message='data[tls.key]: Invalid value: "hunter2"', details={"causes": causes})
    error = answers.make_error(code, content, "post /api/v1/secrets", secret=True)
    assert "hunter2" not in str(error)
    assert "data[tls.key] (FieldValueInvalid)" in str(error)
    assert "hunter2" not in str(answers.make_error(code, b"hunter2", "post /api/v1/secrets", secret=True))


@run_each("content", [b"", b"[]", b"null", b"{", b"\xff"])
def test_an_answer_that_is_no_object_may_come_right_later(content: bytes) -> None:
    with pytest.raises(UnavailableError, match="get /x: the answer must be"):
        answers.decode_answer(content, "get /x")


def test_lines_are_found_however_the_stream_is_cut() -> None:
    text = b'{"a":1}\n\n{"b":2}\r\n{"c":"' + b"x" * 5000 + b'"}\n{"unfinished'
    for size in (1, 2, 7, 1000, len(text)):
        lines = answers.LineSplitter()
        received = [line for start in range(0, len(text), size) for line in lines.feed(text[start : start + size])]
        assert [json.loads(line) for line in received] == [{"a": 1}, {"b": 2}, {"c": "x" * 5000}]


def test_an_error_in_a_watch_is_raised_as_what_it_is() -> None:
    gone = json.dumps({"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}).encode()
    with pytest.raises(GoneError, match="too old"):
        answers.decode_event(gone, "watch /x")
    with pytest.raises(UnavailableError):
        answers.decode_event(b'{"type": "ERROR"}', "watch /x")
    with pytest.raises(UnavailableError, match="NEWS"):
        answers.decode_event(b'{"type": "NEWS"}', "watch /x")
    with pytest.raises(UnavailableError, match="`object` of an event must be a map"):
        answers.decode_event(b'{"type": "ADDED"}', "watch /x")


@run_each("depth", [10, answers.MAX_ANSWER_LEVELS - 3, answers.MAX_ANSWER_LEVELS, 1023, 1024, 50_000])
def test_one_object_that_is_too_deep_keeps_no_other_from_being_read(depth: int) -> None:
    deep = b'{"x":' * depth + b'[{}, "}]"]' + b"}" * depth
    answer = answers.decode_answer(b'{"items":[{"a":"{[\\"","b":' + deep + b'},{"c":[1]}]}', "list")
    assert answer["items"][0]["a"] == '{["'
    assert answer["items"][1] == {"c": [1]}


def test_what_is_cut_off_is_still_no_json() -> None:
    with pytest.raises(UnavailableError, match="must be JSON"):
        answers.decode_answer(b'{"x":' * 5000, "list")
