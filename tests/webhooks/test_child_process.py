"""Processes that are started by module name run our modules, whatever lies in the working directory."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dynamo_webhooks.webhooks import child_process
from tests.webhooks.processes import DEADLINE, ROOT, Command, ask
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.test_facts_serving import stored
from tests.webhooks.test_logs import PLAIN
from tests.webhooks.test_processes import proc_only

NAMES = ("dynamo_webhooks", "asyncio", "json")
OURS = (
    "-P",
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from dynamo_webhooks.cli.main import main; sys.exit(main())",
    "serve",
)  # as the installed command


@pytest.fixture
def decoys(tmp_path: Path) -> Path:
    """A folder with packages of our names, and two of the standard library's, each of which leaves a file `ran` when it is imported."""
    folder = tmp_path / "decoys"
    for name in NAMES:
        package = folder / name
        (package / "webhooks" / "cluster").mkdir(parents=True)
        for file in ("__init__.py", "webhooks/__init__.py", "webhooks/cluster/__init__.py", "webhooks/cluster/__main__.py"):
            (package / file).write_text(f"open({str(folder / 'ran')!r}, 'a').write(__name__)\n")
    return folder


def test_a_decoy_is_run_by_a_plain_module_start(decoys: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "dynamo_webhooks.webhooks.cluster"],
        cwd=decoys,
        env=child_process.environment(),
        check=True,
        timeout=DEADLINE,
    )
    assert (decoys / "ran").exists()


def test_a_module_is_ours(decoys: Path) -> None:
    words = child_process.command("dynamo_webhooks.cli.main", "version")
    done = subprocess.run(words, cwd=decoys, env=child_process.environment(), check=True, timeout=DEADLINE, capture_output=True, text=True)
    assert "kinds" in json.loads(done.stdout)
    assert not (decoys / "ran").exists()


@proc_only
def test_a_server_runs_its_own_watcher(tmp_path: Path, decoys: Path) -> None:
    """Without a cluster it answers all the same, and its watcher ends with it."""
    file = stored(tmp_path, **PLAIN)
    nowhere = ("--kubeconfig", str(tmp_path / "kubeconfig"))
    with Command(tmp_path, "--config", file, cluster=nowhere, program=OURS, where=decoys) as command:
        command.ready()
        assert "no file" in command.log("the cluster can't be watched")["msg"]
        [watcher] = _watchers(command)
        with contextlib.closing(command.connect()) as connection:
            assert ask(connection, GRAPHS, review(graph()))["allowed"]
        assert command.metric("dynamo_webhooks_cluster_watch_restarts") == 0
        command.send(signal.SIGTERM)
        assert command.wait() == 0
    assert not Path(f"/proc/{watcher}").exists()
    assert not (decoys / "ran").exists()


def _watchers(command: Command) -> list[int]:
    return [pid for pid in command.children() if b"dynamo_webhooks.webhooks.cluster" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@proc_only
def test_a_server_ends_in_good_order_while_its_watcher_is_down(tmp_path: Path) -> None:
    nowhere = ("--kubeconfig", str(tmp_path / "kubeconfig"))
    with Command(tmp_path, "--config", stored(tmp_path, **PLAIN), cluster=nowhere) as command:
        command.ready()
        command.log("the cluster can't be watched")
        [watcher] = _watchers(command)
        os.kill(watcher, signal.SIGKILL)
        command.log("started again in")
        command.send(signal.SIGTERM)
        assert command.wait() == 0
        assert not command.told("Traceback")
