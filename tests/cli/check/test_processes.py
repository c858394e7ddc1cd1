"""Many files in several processes: the same result as in one, also when a process ends without a word."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.cli.commands.check import run
from dynamo_webhooks.cli.commands.check.processes import run_in_processes
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD, NEEDS_GROVE, OTHER_KIND, WARNED

OPEN: Final = Path("/proc/self/fd")


@pytest.fixture(autouse=True)
def three_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})


def _nothing() -> None:
    """Nobody waits for a line."""


def _listed(_: int, share: Sequence[int]) -> list[int]:
    return list(share)


def test_shares_come_back_in_their_order() -> None:
    here = os.getpid()
    shares = run_in_processes(lambda start, share: (start, os.getpid() == here, list(share)), range(10), 3, _nothing)
    assert shares == [(0, True, [0, 1, 2, 3]), (4, False, [4, 5, 6, 7]), (8, False, [8, 9])]
    assert run_in_processes(_listed, range(5), 3, _nothing) == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("how", ["killed", "raised", "nothing that can be sent"])
def test_a_share_that_is_not_delivered_is_worked_on_here(how: str) -> None:
    here = os.getpid()

    def work(_: int, share: Sequence[int]) -> object:
        if os.getpid() != here:
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "raised":
                raise ValueError
            return lambda: share
        return list(share)

    assert run_in_processes(work, range(6), 2, _nothing) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("call", ["fork", "pipe"])
def test_where_the_system_allows_no_more_the_work_is_done_here(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed, real, before = iter([True, False]), getattr(os, call), len([*OPEN.iterdir()])

    def limited() -> object:
        if next(allowed):
            return real()
        raise BlockingIOError

    monkeypatch.setattr(os, call, limited)
    assert run_in_processes(_listed, range(6), 2, _nothing) == [[0, 1], [2, 3], [4, 5]]
    assert len([*OPEN.iterdir()]) == before


def test_an_error_here_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    here, fork, children = os.getpid(), os.fork, list[int]()

    def noted() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", noted)

    def work(_: int, share: Sequence[int]) -> int:
        if os.getpid() == here:
            raise ValueError
        return len(share)

    with pytest.raises(ValueError, match=r"^$"):
        run_in_processes(work, range(6), 2, _nothing)
    assert len(children) == 2
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_a_report_is_the_same(command: Command, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    named = GOOD.replace("name:", "name: x", 1)
    ignored = BAD.replace("spec:", f"# dynamo-webhooks: ignore[{BAD_RULE}] too far away\nspec:", 1)
    texts = [GOOD, BAD, "a: [", WARNED, OTHER_KIND, NEEDS_GROVE, GOOD, named, ignored, f"{BAD}---\n{GOOD}", "x: 1\n- 2", BAD]
    files(**{f"f{number:02}": text for number, text in enumerate(texts)})
    alone = command("check", ".", "-o", "json")
    forks: list[int] = []
    fork = os.fork

    def counted() -> int:
        forks.append(1)
        return fork()

    monkeypatch.setattr(run, "MIN_FILES_FOR_ORJSON", 4)
    monkeypatch.setattr(os, "fork", counted)
    spread = command("check", ".", "-o", "json")
    assert len(forks) == 2
    assert (spread.code, spread.out, spread.err) == (alone.code, alone.out, alone.err)
    assert len(alone.json["findings"]) > 4
    assert len(alone.json["unreadable"]) == 2
