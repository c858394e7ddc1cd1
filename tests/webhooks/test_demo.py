"""`make serve` and `make demo`: they say how long they take, install the server's packages alone, and leave no process behind."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("target", ["serve", "demo", "test", "lint", "types"])
def test_a_target_says_how_long_it_and_its_set_up_take_before_they_start(target: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", f"VENV={tmp_path / 'none'}", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    first, *steps = done.stdout.splitlines()
    assert re.match("echo 'first .* about .* minutes?'", first), done.stdout
    [notice] = [line for line in steps if line.startswith("echo")][:1]
    assert re.search("seconds|minutes", notice), notice
    assert (" -r requirements.lock" in done.stdout) == (target not in ("serve", "demo")), done.stdout


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_nothing_runs_on_when_nobody_reads(stream: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    out, err = (writer if name == stream else subprocess.DEVNULL for name in ("stdout", "stderr"))
    command = [sys.executable, "-m", "tools.demo"]
    demo = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, start_new_session=True, stdout=out, stderr=err)
    os.close(writer)
    assert demo.wait(60) in (0, 143)  # the server ends in order, or by the signal before it is ready
    with pytest.raises(ProcessLookupError):
        os.killpg(demo.pid, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_runs_on_when_it_alone_is_told_to_end(number: signal.Signals, tmp_path: Path) -> None:
    """As a `make` that is killed tells it."""
    command = [sys.executable, "-m", "tools.demo"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as demo:
        assert demo.stdout
        assert demo.stdout.readline() == b"{\n"  # the answer
        demo.send_signal(number)
        assert demo.wait(60) == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(demo.pid, 0)
