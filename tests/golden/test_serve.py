"""The server of the Go operator 1.2's verdicts: it starts, and answers short and long requests as that operator does."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.webhooks.processes import DEADLINE, ROOT, Command, ask
from tests.webhooks.requests import GRAPHS, graph, review

pytestmark = pytest.mark.golden
PROGRAM = ("-m", "tests.golden.serve")
LONG = 64 * 1024  # bytes, so that a process of its own answers


def test_it_takes_the_flags_of_serve() -> None:
    asked = subprocess.run([sys.executable, *PROGRAM, "--help"], capture_output=True, text=True, cwd=ROOT, timeout=DEADLINE, check=True)
    assert asked.stdout.startswith("usage: dynamo-webhooks serve ")


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
