"""How far a run is, on a terminal: after a second, for files and for a cluster, gone at the end; elsewhere nothing."""

import asyncio
import contextlib
import fcntl
import io
import mmap
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Final

import pytest

from dynamo_webhooks.cli.commands.check.processes import run_in_processes
from dynamo_webhooks.cli.console import progress
from dynamo_webhooks.cli.objects import cluster_snapshot
from tests.cli.clusters import cluster
from tests.cli.conftest import Files
from tests.cli.samples import BAD, GOOD
from tests.kube.memory import MemoryCluster

ERASE: Final = "\r\x1b[K"
PROGRAM: Final = ("-m", "dynamo_webhooks", "check", "-", "bad.yaml", "good.yaml", "--line", "1.2")


@contextlib.contextmanager
def _terminal() -> Iterator[tuple[int, int]]:
    leader, follower = pty.openpty()
    try:
        yield leader, follower
    finally:
        os.close(leader)


def _read(leader: int, awaited: str, screen: str = "") -> str:
    """What a terminal shows, until a text is there or its programs have ended."""
    with contextlib.suppress(OSError):  # after the end of the last program
        while awaited not in screen and select.select([leader], [], [], 30)[0]:
            screen += os.read(leader, 65_536).decode()
    return screen


def _feed(run: subprocess.Popen[str], text: str) -> None:
    """Writes to a program's standard input, and waits until it has read that: its start may take any time."""
    assert run.stdin is not None
    run.stdin.write(text)
    run.stdin.flush()
    while any(fcntl.ioctl(run.stdin, termios.FIONREAD, bytes(4))) and run.poll() is None:
        time.sleep(0.01)


@pytest.mark.parametrize("on_terminal", [True, False])
def test_a_run_of_more_than_a_second_tells_how_far_it_is_on_a_terminal(files: Files, *, on_terminal: bool) -> None:
    files(bad=BAD, good=GOOD)
    with _terminal() as (leader, follower):
        stderr = follower if on_terminal else subprocess.PIPE
        run = subprocess.Popen([sys.executable, *PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)
        os.close(follower)
        text = GOOD.replace("good", "slow")
        _feed(run, text[:10])
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(progress.WAIT_SECONDS + 0.5)  # for the rest
        out, err = run.communicate(text[10:])
        screen = _read(leader, "nothing more") if on_terminal else str(err)
    assert (run.returncode, "checked," in out) == (1, False)
    if on_terminal:
        assert f"{ERASE}1 of 3 files checked, 0 findings" in screen
        assert screen.endswith(f"{ERASE}3 objects checked for operator 1.2 (--line): 1 error\r\n")
    else:
        assert "\x1b" not in screen
        assert "checked," not in screen


def test_other_processes_add_to_what_is_shown_while_it_waits_for_them() -> None:
    counts = memoryview(mmap.mmap(-1, 16)).cast("I")
    reader, writer = os.pipe()
    seen = list[int]()

    def work(start: int, share: Sequence[int]) -> int:
        counts[start] = len(share)
        return len(share) if start == 0 else len(share) + len(os.read(reader, 1))

    def tick() -> None:
        seen.append(sum(counts))
        os.write(writer, b"x")

    assert run_in_processes(work, range(4), 2, tick) == ([2, 3] if seen else [4])
    assert seen in ([4], []), "two processors wait once"
    for end in (reader, writer):
        os.close(end)


def test_a_cluster_that_is_read_slowly_tells_how_many_objects_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(MemoryCluster):
        async def groups(self) -> Mapping[str, frozenset[str]]:
            await asyncio.sleep(0.5)
            return await made.groups()

    made = cluster(GOOD)
    slow = Slow()

    @contextlib.asynccontextmanager
    async def connected(*_: str) -> AsyncIterator[MemoryCluster]:
        yield slow

    monkeypatch.setattr(cluster_snapshot, "connect_cluster", connected)
    monkeypatch.setattr(progress, "WAIT_SECONDS", 0.0)
    with _terminal() as (leader, follower), io.TextIOWrapper(os.fdopen(follower, "wb", buffering=0), write_through=True) as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        cluster_snapshot.snapshot_cluster("", "", "llm")
        screen = _read(leader, "object")
    assert screen.startswith(f"{ERASE}reading the cluster: 0 objects")
