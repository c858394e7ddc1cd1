"""What `/convert` answers until conversion is served: a failure that the API server can show."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from policies.facts import Facts
from webhooks.admission import Settings, answer
from webhooks.routes import CONVERT


def ask(review: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    found = answer(CONVERT, orjson.dumps(review), Settings(Facts()))
    return found.status, orjson.loads(found.body)


@pytest.mark.parametrize("version", ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"])
def test_the_failure_is_said_with_the_uid(version: str) -> None:
    request = {"uid": "c-1", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": [{}]}
    status, review = ask({"apiVersion": version, "kind": "ConversionReview", "request": request})
    assert (status, review["apiVersion"], review["kind"]) == (200, version, "ConversionReview")
    assert (review["response"]["uid"], review["response"]["convertedObjects"]) == ("c-1", [])
    assert review["response"]["result"]["status"] == "Failure"
    assert "conversion is not served" in review["response"]["result"]["message"]


def test_another_review_is_rejected() -> None:
    status, review = ask({"kind": "AdmissionReview", "request": {"uid": "c-1"}})
    assert (status, review["message"]) == (400, "kind must be ConversionReview")
