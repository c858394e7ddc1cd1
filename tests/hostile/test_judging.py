"""Answers that must be complained about: what the other tests look for would be found."""

import logging
from typing import Any

import orjson
import pytest

from dynamo_webhooks.admission import judging as asking
from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.routes import CONVERT, ROUTES, Route
from tests.hostile.judging import complaint, judged
from tests.hostile.mutants import Mutant
from tests.hostile.reviews import UID, admission, conversion

PATH = "/mutate-nvidia-com-v1alpha1-dynamographdeployment"
OBJECT = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "a"}}
ADMISSION = Mutant(orjson.dumps(admission(ROUTES[PATH], OBJECT).review), whole=True)
CONVERSION = Mutant(orjson.dumps(conversion([OBJECT], "nvidia.com/v1beta1").review), whole=True)


def _response(**response: Any) -> bytes:
    return orjson.dumps({"response": {"uid": UID, **response}})


def test_a_good_answer_is_none_to_complain_about() -> None:
    for route, mutant in ((ROUTES[PATH], ADMISSION), (CONVERT, CONVERSION)):
        reply = answer(route, mutant.body, Settings(Facts()))
        assert complaint(route, mutant, reply.status, reply.body) == ""


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, b"{", "no JSON"),
        (400, b'{"kind":"Status","code":400,"message":"m"}', "has an envelope"),
        (500, b'{"kind":"Status","code":500,"message":"m"}', "HTTP 500"),
        (200, _response(allowed=True, uid="another"), "uid"),
        (200, b"{}", "uid"),
        (200, _response(allowed=False, status={"code": 500, "message": "m"}), "the client's"),
        (200, _response(allowed=False, status={"code": 422, "message": ""}), "the client's"),
        (200, _response(allowed=False, status={"code": 422, "message": "this is an internal error"}), "internal error"),
        (200, _response(allowed=True, patch="W10=", patchType="JSONPatch"), "changes nothing"),
        (200, _response(allowed=True, patch="W10="), "nobody may send"),
    ],
)
def test_bad_answers_to_admission(status: int, body: bytes, words: str) -> None:
    assert words in complaint(ROUTES[PATH], ADMISSION, status, body)


@pytest.mark.parametrize(
    ("result", "objects", "words"),
    [
        ({"status": "Success"}, [], "became 0"),
        ({"status": "Success"}, [OBJECT], "nvidia.com/v1alpha1"),
        ({"status": "Success"}, [{**OBJECT, "apiVersion": "nvidia.com/v1beta1", "metadata": {"name": "b"}}], "metadata"),
        ({"status": "Failure", "code": 500, "message": "m"}, [], "the client's"),
        ({"status": "Failure", "code": 422, "message": "m"}, [OBJECT], "the client's"),
    ],
)
def test_bad_answers_to_conversion(result: Any, objects: Any, words: str) -> None:
    assert words in complaint(CONVERT, CONVERSION, 200, _response(result=result, convertedObjects=objects))


def test_a_status_below_500_must_say_why() -> None:
    broken = Mutant(b"{", whole=False)
    assert complaint(CONVERT, broken, 400, b'{"kind":"Status","code":400,"message":"m"}') == ""
    assert "HTTP 400" in complaint(CONVERT, broken, 400, b"{}")
    assert "HTTP 503" in complaint(CONVERT, broken, 503, b'{"kind":"Status","code":503,"message":"m"}')


@pytest.mark.interpreted
def test_a_fault_is_seen(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "webhooks.admission")

    def broken(review: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(asking, "compute_edits", broken)
    route: Route = ROUTES[PATH]
    assert "fault" in judged(route, ADMISSION, Settings(Facts()))
