"""Generated scripts: shells read them, the weight server's passes on how it ended, and the wait for a leader asks the right things."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.reconciler.render.multinode import wait_for_leader
from tests.reconciler.render.golden import load_case, render_case
from tests.reconciler.rendering import walk
from tests.rows import run_each

BASH = shutil.which("bash")
SH = shutil.which("sh")
SCRIPTED = ("nodes-trtllm", "grove-trtllm", "nodes-vllm-elastic", "nodes-vllm-ray", "nodes-vllm-data", "grove-sglang", "grove-vllm-data")


def _containers(value: Any) -> list[dict[str, Any]]:
    """All containers anywhere in a value."""
    return [container for each in walk(value) for part in ("containers", "initContainers") for container in each.get(part) or ()]


@run_each("name", SCRIPTED)
def test_shells_can_read_the_lines(name: str) -> None:
    lines = [
        container["args"][0]
        for child in render_case(load_case(name)).children
        for container in _containers(child)
        if container.get("command") in (["/bin/sh", "-c"], ["sh", "-c"])
    ]
    assert lines
    for line in lines:
        assert SH
        done = subprocess.run([SH, "-n", "-c", line], capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), line


def _weight_server(folder: Path, program: str) -> subprocess.Popen[str]:
    """The weight server's script in a process group of its own, with a program of ours in place of the server."""
    stand_in = folder / "python3"
    stand_in.write_text(f"#!/bin/sh\n{program}\n")
    stand_in.chmod(0o755)
    children = render_case(load_case("grove-shared-between-pods")).children
    server = next(container for child in children for container in _containers(child) if container.get("command") == ["bash", "-c"])
    assert BASH
    # the stale sockets of this machine, if it has any, are not ours
    script = server["args"][0].replace("/run/gms/shared", str(folder))
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.Popen([BASH, "-c", script], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)


def test_the_weight_server_ends_as_its_program_does(tmp_path: Path) -> None:
    stale = tmp_path / "gms_0.sock"
    stale.touch()
    with _weight_server(tmp_path, "exit 5") as process:
        assert process.wait(60) == 5
    assert not stale.exists()


def test_the_weight_server_ends_its_program_when_it_is_told_to_end(tmp_path: Path) -> None:
    with _weight_server(tmp_path, "trap 'exit 7' TERM\necho up\nwhile :; do sleep 0.1; done") as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 7


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the script meets: an address or none, pods at it or an error, a port that listens or doesn't."""
    world: dict[str, Any] = {"address": "10.0.0.1", "pods": [{"metadata": {"name": "l"}, "status": {"phase": "Running"}}], "listens": True}

    def resolve(_host: str) -> str:
        if not world["address"]:
            raise OSError("unknown")
        return str(world["address"])

    def pods(_address: str) -> Any:
        if isinstance(world["pods"], Exception):
            raise world["pods"]
        return world["pods"]

    class _Connection:
        def close(self) -> None:
            world["closed"] = True

    def connect(address: tuple[str, int], timeout: float) -> _Connection:
        world["asked"] = (address, timeout)
        if not world["listens"]:
            raise ConnectionRefusedError("refused")
        return _Connection()

    monkeypatch.setattr("dynamo_webhooks.reconciler.render.multinode.wait_for_leader.socket.gethostbyname", resolve)
    monkeypatch.setattr("dynamo_webhooks.reconciler.render.multinode.wait_for_leader.socket.create_connection", connect)
    monkeypatch.setattr(wait_for_leader, "pods_at", pods)
    return world


def test_a_leader_that_runs_and_listens_is_there(network: dict[str, Any]) -> None:
    assert wait_for_leader.attempt("leader", 29500) == ""
    assert network["asked"] == (("10.0.0.1", 29500), 2)
    assert network["closed"]


@pytest.mark.parametrize(
    ("world", "text"),
    [
        ({"address": ""}, "no address: unknown"),
        ({"pods": []}, "no pod has the address 10.0.0.1"),
        ({"pods": [{"metadata": {"name": "l", "deletionTimestamp": "t"}, "status": {"phase": "Running"}}]}, "pod l is going away"),
        ({"pods": [{"metadata": {"name": "l"}, "status": {"phase": "Pending"}}]}, "pod l is Pending"),
        ({"listens": False}, "no connection to 10.0.0.1: refused"),
    ],
)
def test_what_is_in_the_way_is_told(network: dict[str, Any], world: dict[str, Any], text: str) -> None:
    network.update(world)
    assert wait_for_leader.attempt("leader", 29500) == text


@pytest.mark.parametrize("error", [OSError("forbidden"), ValueError("no JSON")])
def test_where_the_api_server_can_not_be_asked_the_connection_decides(network: dict[str, Any], error: Exception) -> None:
    network["pods"] = error
    assert wait_for_leader.attempt("leader", 29500) == ""


def test_the_wait_reports_now_and_then_and_ends(
    monkeypatch: pytest.MonkeyPatch, network: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds
        network["listens"] = now[0] >= 65

    network["listens"] = False
    monkeypatch.setattr("dynamo_webhooks.reconciler.render.multinode.wait_for_leader.time.sleep", pause)
    monkeypatch.setattr("dynamo_webhooks.reconciler.render.multinode.wait_for_leader.time.monotonic", lambda: now[0])
    monkeypatch.setenv("LEADER_HOST", "leader")
    monkeypatch.setenv("LEADER_PORT", "29500")
    assert wait_for_leader.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "waiting for leader:29500 for 30 s: no connection to 10.0.0.1: refused",
        "waiting for leader:29500 for 60 s: no connection to 10.0.0.1: refused",
        "leader:29500 is there after 65 s",
    ]
