"""Many files in several processes: the same bytes as one process gives, whatever becomes of a child. Each case is a process of its own,
because a test run has threads, beside which nobody should fork."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dynamo_webhooks.cli.check import parallel
from dynamo_webhooks.cli.yaml.load import InputError, Source
from tests.cli.conftest import Files
from tests.cli.objects import BAD, GOOD

PATIENCE = 60  # seconds, for what takes one
_FORKS = "from dynamo_webhooks.cli.check import parallel\nparallel._usable = lambda: 3\nparallel.WORTH = 1\n"
_CHECK = f"import sys\n{_FORKS}from dynamo_webhooks.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"
_SERIAL = _CHECK.replace("lambda: 3", "lambda: 1")

# two slices of two files each; what is found is the names
_THROUGH = """
import os, signal, sys
from dynamo_webhooks.cli.check import parallel
from dynamo_webhooks.cli.check.run import Gathered
from dynamo_webhooks.cli.exits import UsageError
from dynamo_webhooks.cli.yaml.errors import InputError

parent, found, own = os.getpid(), Gathered(), Gathered()

def work(file):
    if os.getpid() != parent:
        FATE
    own.unreadable.append(InputError("seen", file))

for _ in parallel.through([["a", "b"], ["c", "d"]], work, lambda: own, found.add, Gathered):
    print("done", flush=True)
found.add(own)
print(*[f"{error.name}: {error.text}" for error in found.unreadable], sep="\\n")
"""


def _python(script: str, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, input=text, timeout=PATIENCE, check=False)


def _through(fate: str, before: str = "") -> list[str]:
    done = _python(before + _THROUGH.replace("FATE", fate))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("words", [(), ("-o", "json"), ("-q", "--answer"), ("--old", "0.yaml")])
def test_the_bytes_are_those_of_one_process(files: Files, words: tuple[str, ...]) -> None:
    """With objects that are right and wrong, two names for one file, a file that is broken, one that isn't there, and standard input."""
    named = {str(number): (BAD if number % 2 else GOOD).replace("name: ", f"name: n{number}-") for number in range(6)}
    folder = files(**named, broken="a: [\n")
    names = [*(f"{number}.yaml" for number in range(6)), "broken.yaml", "missing.yaml", "-", "./0.yaml"]
    many, one = (_python(script, "check", *words, *names, text=BAD) for script in (_CHECK, _SERIAL))
    assert (many.returncode, many.stdout, many.stderr) == (one.returncode, one.stdout, one.stderr)
    assert many.returncode == 4
    assert "missing.yaml: does not exist" in many.stderr
    assert folder.is_dir()


def test_what_children_find_comes_in_the_order_of_the_files() -> None:
    assert _through("pass") == ["done"] * 4 + [f"{name}: seen" for name in "abcd"]


def test_files_of_a_child_that_was_killed_are_named_as_not_checked() -> None:
    killed = "not checked: the process that was to do it was killed by signal 9; check fewer files at once"
    lines = _through("if file == 'd': os.kill(os.getpid(), signal.SIGKILL)")
    assert lines == ["done"] * 2 + ["a: seen", "b: seen", f"c: was {killed}", f"d: was {killed}"]


def test_the_files_of_a_child_that_failed_are_done_once_more_by_the_parent() -> None:
    """Its error is told there as ever; here it was the child's alone."""
    lines = _through("if file == 'a': raise UsageError('no')")
    assert [line for line in lines if line != "done"] == ["c: seen", "d: seen", "a: seen", "b: seen"]


def test_an_interrupted_run_leaves_no_process_behind() -> None:
    script = _THROUGH.replace("FATE", "os.write(1, f'{os.getpid()}\\n'.encode()); signal.pause()")
    with _running(script) as process:
        assert process.stdout
        children = [int(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) != 0
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


# a system that lets one process start, and no second
_FEW = """
import os
fork, left = os.fork, [1]
def few():
    if not left:
        raise BlockingIOError(11, "no")
    left.pop()
    return fork()
os.fork = few
"""


def test_the_files_of_a_process_that_may_not_start_are_done_by_the_parent() -> None:
    assert _through("pass", _FEW) == ["done"] * 4 + ["a: seen", "b: seen", "c: seen", "d: seen"]


def test_a_run_that_ignores_interrupts_goes_on() -> None:
    """As one does that a script has sent to the background: its children get the terminal's interrupts, too."""
    ignoring = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    assert _through("os.kill(os.getpid(), signal.SIGINT)", ignoring) == ["done"] * 4 + [f"{name}: seen" for name in "abcd"]


def _running(script: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def sized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files of 1, 2, 3 and 4 bytes, where two bytes are worth a process."""
    monkeypatch.setattr(parallel, "WORTH", 2)
    names = [str(tmp_path / str(size)) for size in range(1, 5)]
    for size, name in enumerate(names, start=1):
        Path(name).write_text("x" * size)
    return names


@pytest.mark.parametrize(("usable", "sizes"), [(1, [[1, 2, 3, 4]]), (2, [[1, 2, 3], [4]]), (3, [[1, 2, 3], [4]]), (9, [[1, 2], [3], [4]])])
def test_files_are_divided_by_size_in_their_order(
    sized: list[str], monkeypatch: pytest.MonkeyPatch, usable: int, sizes: list[list[int]]
) -> None:
    monkeypatch.setattr(parallel, "_usable", lambda: usable)
    assert [[int(Path(str(name)).name) for name in part] for part in parallel.slices(sized)] == sizes


def test_small_runs_texts_and_errors_take_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_usable", lambda: 8)
    few: list[parallel.Item] = [Source("-", "x" * 1_000), InputError("no", "a"), "missing", "\0"]
    assert parallel.slices(few) == [few]
    assert len(parallel.slices([Source("-", "x" * parallel.WORTH)] * 3)) == 3


def test_nobody_forks_where_it_is_not_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert parallel._usable() == 1
