"""The first process of a container outlives a crash of the serving process, so that its workers may, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.webhooks.processes import DEADLINE, ROOT, Command, ask
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.test_processes import eventually, proc_only, state

BODY: Final = review(graph())
LAG: Final = "3"
# Linux lets another process than the first one of a container inherit orphans (prctl 36, PR_SET_CHILD_SUBREAPER): all that it takes here.
FIRST: Final = """
import ctypes, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
from dynamo_webhooks.webhooks import pid1
pid1.fork_below()
from dynamo_webhooks.cli.main import main
sys.exit(main())
"""
# A child outside of our process group, as what an exec leaves behind when it ends; a process that hangs stands for a worker that does.
STRANGER: Final = f"""
import subprocess, sys
nowhere = subprocess.DEVNULL
stranger = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=nowhere, stdout=nowhere, stderr=nowhere)
print("stranger", stranger.pid, file=sys.stderr, flush=True)
{FIRST}"""
HASTY: Final = FIRST.replace("fork_below()", "fork_below(patience=0.5)")
IGNORING: Final = f"""
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
{FIRST}"""
pytestmark = proc_only


def test_workers_answer_after_a_crash_and_the_container_ends_after_them(tmp_path: Path) -> None:
    with Command(tmp_path, "--workers", "2", "--drain-lag", LAG, program=("-c", FIRST)) as command:
        command.ready()
        [serving] = command.children()
        workers = command.below(serving)
        assert len(workers) == 2
        os.kill(serving, signal.SIGKILL)
        eventually(lambda: serving not in command.children())
        assert set(command.children()) == set(workers)
        fresh = command.connect()
        assert ask(fresh, GRAPHS, BODY)["allowed"] is True
        fresh.close()
        assert command.wait() == 128 + signal.SIGKILL
        assert {state(pid) for pid in workers} == {""}  # buried, too


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, 128 + signal.SIGKILL)])
def test_nobody_waits_for_what_an_exec_left_behind(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """It would keep a drained server, and one that must be started again, from ending."""
    with Command(tmp_path, "--workers", "2", program=("-c", STRANGER)) as command:
        command.ready()
        stranger = int(command.line("stranger "))
        try:
            [serving] = set(command.children()) - {stranger}
            os.kill(serving, number)
            assert command.wait() == code
            assert state(stranger) not in ("", "Z")
        finally:
            os.kill(stranger, signal.SIGKILL)


def test_a_worker_that_hangs_is_not_waited_for_without_end(tmp_path: Path) -> None:
    """Whoever would have ended it has crashed."""
    with Command(tmp_path, "--workers", "2", program=("-c", HASTY)) as command:
        command.ready()
        [serving] = command.children()
        hanging, _ = command.below(serving)
        os.kill(hanging, signal.SIGSTOP)
        try:
            eventually(lambda: state(hanging) == "T")
            os.kill(serving, signal.SIGKILL)
            assert command.process.wait(DEADLINE) == 128 + signal.SIGKILL
            assert state(hanging) == "T"
        finally:
            os.kill(hanging, signal.SIGKILL)


def test_whoever_started_us_may_have_ignored_the_end_of_children(tmp_path: Path) -> None:
    with Command(tmp_path, "--workers", "2", program=("-c", IGNORING)) as command:
        command.ready()
        command.send(signal.SIGTERM)
        assert command.wait() == 0


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
from dynamo_webhooks.webhooks import pid1
pid1.step_aside()
print(1 if seen() == before else 2)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{processes}\n"


def test_hardly_anything_is_loaded_before() -> None:
    """It stays in memory as long as the container."""
    code = "import sys, dynamo_webhooks.cli.commands.serve, dynamo_webhooks.webhooks.pid1; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    loaded = set(done.stdout.split())
    assert not loaded & {"asyncio", "aiohttp", "orjson", "ssl", "kubernetes", "pydantic", "dynamo_webhooks.webhooks.process"}
