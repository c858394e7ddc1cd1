"""The first process of a container outlives a crash of the serving process, so that its workers may, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.webhooks.processes import ROOT, Command, ask
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.test_processes import eventually, proc_only, state

BODY: Final = review(graph())
LAG: Final = "3"
# Linux lets another process than the first one of a container inherit orphans (prctl 36, PR_SET_CHILD_SUBREAPER): all that it takes here.
FIRST: Final = """
import ctypes, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
from webhooks import first
first.fork_below()
from cli.main import main
sys.exit(main())
"""
pytestmark = proc_only


def test_workers_answer_after_a_crash_and_the_container_ends_after_them(tmp_path: Path) -> None:
    with Command(tmp_path, "--workers", "2", "--drain-lag", LAG, program=("-c", FIRST)) as command:
        command.ready()
        [serving] = command.children()
        workers = [int(word) for word in Path(f"/proc/{serving}/task/{serving}/children").read_text().split()]
        assert len(workers) == 2
        os.kill(serving, signal.SIGKILL)
        eventually(lambda: serving not in command.children())
        assert set(command.children()) == set(workers)
        fresh = command.connect()
        assert ask(fresh, GRAPHS, BODY)["allowed"] is True
        fresh.close()
        assert command.wait() == 128 + signal.SIGKILL
        assert {state(pid) for pid in workers} == {""}  # buried, too


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_passed_on_and_a_drained_server_is_a_success(tmp_path: Path, number: signal.Signals) -> None:
    with Command(tmp_path, "--workers", "2", program=("-c", FIRST)) as command:
        command.ready()
        command.send(number)
        assert command.wait() == 0


def test_a_bad_flag_ends_the_container_as_it_ends_the_command(tmp_path: Path) -> None:
    with Command(tmp_path, "--workers", "0", program=("-c", FIRST)) as command:
        assert command.wait() == 2
        assert command.told("--workers")


@pytest.mark.parametrize(("pid", "processes"), [(1, 2), (2, 1)])
def test_only_the_first_process_steps_aside(pid: int, processes: int) -> None:
    code = f"""
import os
before, seen = os.getpid(), os.getpid
os.getpid = lambda: {pid}
from webhooks import first
first.step_aside()
print(1 if seen() == before else 2)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{processes}\n"


def test_hardly_anything_is_loaded_before() -> None:
    """It stays in memory as long as the container."""
    code = "import sys, cli.main, cli.commands.serve, webhooks.first; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    loaded = set(done.stdout.split())
    assert not loaded & {"asyncio", "aiohttp", "orjson", "ssl", "kubernetes", "pydantic", "webhooks.process"}
