"""`review` prints byte for byte what a server answers to recorded requests."""

import io
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.cli.main import main
from tests.golden.corpus import cases, corpus_file
from tests.laws.conftest import share
from tests.webhooks.processes import Command

EACH = 20  # one in so many of the recorded cases; they are asked in test_admission.py and test_conversion.py
NIGHTLY = pytest.mark.nightly


class Printed:
    """Runs `review` in this process, with the body on standard input and what it prints as bytes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def __call__(self, body: bytes, *words: str) -> tuple[int, bytes]:
        out = io.BytesIO()
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body)))
        self._patch.setattr(sys, "stdout", io.TextIOWrapper(out))
        code = main(["review", "-", *words])
        return code, out.getvalue()


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Printed:
    return Printed(monkeypatch)


def _compare(served: Command, reviews: Iterable[tuple[str, str, bytes]], printed: Printed, *words: str) -> Counter[int]:
    """Sends each (id, path, body) and prints it; fails where one byte differs, and returns how often each exit code came."""
    connection, wrong, codes = served.connect(), [], Counter[int]()
    for id_, path, body in reviews:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        theirs = connection.getresponse().read()
        code, ours = printed(body, "--path", path, *words)
        codes[code] += 1
        # an answer has either verdict, and the exit code says which
        if ours != theirs or code != (1 if b'"allowed":false' in theirs or b'"status":"Failure"' in theirs else 0):
            wrong.append((id_, code, ours[:300], theirs[:300]))
    connection.close()
    assert wrong == []
    return codes


def _admission(case: dict[str, Any]) -> tuple[str, str, bytes]:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": case["request"]}
    return case["id"], case["path"], json.dumps(review).encode()


def _conversion(case: dict[str, Any]) -> tuple[str, str, bytes]:
    request = {"uid": case["id"], "desiredAPIVersion": case["desired"], "objects": [case["object"]]}
    return (
        case["id"],
        "/convert",
        json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}).encode(),
    )


@pytest.mark.parametrize("context", [pytest.param("A", marks=NIGHTLY), "B", pytest.param("C", marks=NIGHTLY)])
def test_admission_is_answered_as_a_server_does(tmp_path: Path, printed: Printed, context: str) -> None:
    words = ["--facts", str(corpus_file(f"context-{context}.yaml"))]
    recorded = [case for case in cases("golden.ndjson.gz", "admit") if case["context"] == context]
    reviews = [_admission(case) for case in share(recorded, EACH)]
    with Command(tmp_path, *words).ready() as served:
        codes = _compare(served, reviews, printed, *words)
    assert codes.total() == len(reviews) >= 3000 // EACH
    assert set(codes) == {0, 1}


def test_conversions_are_answered_as_a_server_does(tmp_path: Path, printed: Printed) -> None:
    recorded = share(list(cases("golden.ndjson.gz", "convert")), EACH)
    unknown = {**recorded[0], "id": "unknown", "desired": "nvidia.com/v7"}
    with Command(tmp_path, "--operator-version", "1.2.0").ready() as served:
        codes = _compare(served, map(_conversion, (*recorded, unknown)), printed, "--line", "1.2")
    assert len(recorded) >= 6600 // EACH
    assert codes == {0: len(recorded), 1: 1}
