"""`review` prints byte for byte what a server answers to recorded requests; and the server of the Go operator 1.2's verdicts answers."""

import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.cli.main import main
from tests.golden.corpus import cases, corpus_file
from tests.webhooks.processes import DEADLINE, ROOT, Command, ask
from tests.webhooks.requests import GRAPHS, graph, review

pytestmark = pytest.mark.golden

EACH = 5  # of the recorded cases; all of them are asked in test_admission.py and test_conversion.py


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


@pytest.mark.parametrize("context", ["A", "B", "C"])
def test_admission_is_answered_as_a_server_does(tmp_path: Path, printed: Printed, context: str) -> None:
    words = ["--facts", str(corpus_file(f"context-{context}.yaml"))]
    reviews = [_admission(case) for case in cases("golden.ndjson.gz", "admit") if case["context"] == context][::EACH]
    with Command(tmp_path, *words).ready() as served:
        codes = _compare(served, reviews, printed, *words)
    assert codes.total() == 600
    assert set(codes) == {0, 1}


def test_conversions_are_answered_as_a_server_does(tmp_path: Path, printed: Printed) -> None:
    recorded = list(cases("golden.ndjson.gz", "convert"))[::EACH]
    unknown = {**recorded[0], "id": "unknown", "desired": "nvidia.com/v7"}
    with Command(tmp_path).ready() as served:
        codes = _compare(served, map(_conversion, (*recorded, unknown)), printed, "--line", "1.2")
    assert len(recorded) > 1300
    assert codes == {0: len(recorded), 1: 1}


PROGRAM = ("-m", "tests.golden.serve")
LONG = 64 * 1024  # bytes, so that a process of its own answers


def test_it_takes_the_flags_of_serve() -> None:
    asked = subprocess.run([sys.executable, *PROGRAM, "--help"], capture_output=True, text=True, cwd=ROOT, timeout=DEADLINE, check=True)
    assert asked.stdout.startswith("usage: dynamo-webhooks serve ")


@pytest.mark.interpreted
def test_it_answers_as_1_2(tmp_path: Path) -> None:
    """An update is refused there for what the stored object says already."""
    stored = graph()
    stored["spec"]["services"]["frontend"]["replicas"] = -1
    long = graph()
    long["metadata"]["annotations"]["note"] = "x" * LONG
    long["spec"]["services"]["frontend"]["replicas"] = -1
    for program, allowed in ((PROGRAM, False), (("-m", "dynamo_webhooks.cli.main", "serve"), True)):
        folder = tmp_path / str(allowed)
        folder.mkdir()
        with Command(folder, facts={"operatorVersion": "1.2.0", "operatorScope": "cluster"}, program=program).ready() as served:
            connection = served.connect()
            for obj in (stored, long):
                assert ask(connection, GRAPHS, review(obj, "UPDATE", obj))["allowed"] is allowed
            connection.close()
