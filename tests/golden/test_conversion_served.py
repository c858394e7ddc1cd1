"""The recorded conversions over HTTP: a server answers as recorded, says the comparison that came with the record."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.golden.corpus import cases, corpus_file
from tests.golden.test_conversion import SKIPS, SPELLED
from tests.webhooks.processes import DEADLINE, Command, ask

pytestmark = pytest.mark.golden


def _review(case: dict[str, Any]) -> bytes:
    request = {"uid": case["id"], "desiredAPIVersion": case["desired"], "objects": [case["object"]]}
    return json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}).encode()


def _compared(file: Path, skips: Path, served: Command) -> str:
    """What the comparison prints; it must be content."""
    port = served.line("ready ").rpartition(":")[2]
    server = ["--url", f"https://127.0.0.1:{port}", "--ca", str(served.directory / "ca.crt")]
    words = [sys.executable, str(corpus_file("compare.py")), *server, "--kind", "convert", "--skip", str(skips), str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=DEADLINE * 10)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_server_converts_as_recorded(tmp_path: Path) -> None:
    """Every case agrees or is listed, and those that the Go operator failed on are answered.

    Of these the comparison judges nothing, but where they succeed it looks for the recorded object, which they don't have, and stops with
    a KeyError: for its sake they get an empty one. How they are answered, we ask ourselves.
    """
    every = list(cases("golden.ndjson.gz", "convert"))
    failed = [case for case in every if case["expect"].get("failed")]
    file = tmp_path / "cases.ndjson"
    file.write_text("".join(json.dumps({**case, "expect": {"object": {}, **case["expect"]}}) + "\n" for case in every))
    skips = tmp_path / "skips.txt"
    skips.write_text(SKIPS.read_text() + SPELLED.read_text())
    listed = sum(1 for line in skips.read_text().splitlines() if line.strip() and not line.startswith("#"))
    with Command(tmp_path, "--workers", "1").ready() as served:
        said = _compared(file, skips, served)
        connection = served.connect()
        answers = [ask(connection, "/convert", _review(case)) for case in failed]
        connection.close()
    total = re.search(r"^total: (\d+) of (\d+) agree, (\d+) undecodable ones only sent, (\d+) listed differences$", said, re.MULTILINE)
    assert total, said
    agreed, compared, sent, apart = map(int, total.groups())
    assert sent == len(failed)
    assert agreed == compared == len(every) - len(failed) - listed
    assert apart == listed
    assert [answer["uid"] for answer in answers] == [case["id"] for case in failed]
    assert {answer["result"]["status"] for answer in answers} <= {"Success", "Failure"}
    assert failed
