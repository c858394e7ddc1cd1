"""Real processes: start, readiness, signals, a crash, and configurations that can't be served."""

import contextlib
import errno
import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from dynamo_webhooks.certs.files import store_self_signed
from dynamo_webhooks.cli.daemon import listening
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.webhooks import sockets
from dynamo_webhooks.webhooks.executor import forker
from dynamo_webhooks.webhooks.sockets import Address
from tests.webhooks.processes import DEADLINE, ROOT, Command, ask
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import post

BODY = review(graph())
proc_only = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds child processes in /proc")


def eventually(condition: Any) -> None:
    """Asks again until something is true; fails at a deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        time.sleep(0.005)
        assert time.monotonic() < end, "it never became true"


def test_start_serve_and_drain(tmp_path: Path) -> None:
    """The lines on stderr, an answer, probes, metrics, and exit code 0 after SIGTERM."""
    with Command(tmp_path) as command:
        command.ready()
        starts = [line.split()[0] for line in command.lines if not line.startswith(("{", "no --facts"))]
        assert starts == ["probes", "metrics", "operator", "ca", "ready"]
        assert Path(command.line("ca ")).is_file()
        assert any("taken for granted: operatorScope=cluster" in line for line in command.lines)
        connection = command.connect()
        assert ask(connection, GRAPHS, BODY)["allowed"] is True
        assert command.get("probes", "/healthz") == (200, "ok\n")
        assert command.get("probes", "/readyz") == (200, "ok\n")
        assert command.get("probes", "/metrics")[0] == 404
        assert command.get("metrics", "/healthz")[0] == 404
        command.send(signal.SIGTERM)
        assert command.wait() == 0
        connection.close()


@pytest.mark.parametrize("group", [False, True])
def test_a_request_in_flight_is_answered_after_sigterm(tmp_path: Path, group: bool) -> None:
    """Also when a service manager or a terminal signals the children too, and the server twice."""
    with Command(tmp_path) as command:
        command.ready()
        connection = command.connect()
        connection.connect()
        assert connection.sock is not None
        whole = post(GRAPHS, BODY)
        connection.sock.sendall(whole[:-1])
        eventually(lambda: command.metric(f'controller_runtime_webhook_requests_in_flight{{webhook="{GRAPHS}"}}') == 1)
        if group:
            os.killpg(command.process.pid, signal.SIGTERM)
        command.send(signal.SIGTERM)
        eventually(lambda: "draining" in command.get("probes", "/readyz")[1])
        assert command.get("probes", "/readyz")[0] == 503
        connection.sock.sendall(whole[-1:])
        answer = connection.sock.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Connection: close" in answer
        connection.close()
        assert command.wait() == 0


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """Though a request is in flight."""
    with Command(tmp_path) as command:
        command.ready()
        connection = command.connect()
        connection.connect()
        assert connection.sock is not None
        connection.sock.sendall(post(GRAPHS, BODY)[:-1])
        eventually(lambda: command.metric(f'controller_runtime_webhook_requests_in_flight{{webhook="{GRAPHS}"}}') == 1)
        command.send(signal.SIGINT)
        eventually(lambda: "draining" in command.get("probes", "/readyz")[1])

        def again() -> bool:
            command.send(signal.SIGINT)
            return command.process.poll() is not None

        eventually(again)
        assert command.wait() == 130
        connection.close()


@proc_only
def test_a_server_that_is_killed_leaves_no_process_and_its_port(tmp_path: Path) -> None:
    """Its container starts again at once."""
    with Command(tmp_path) as command:
        command.ready()
        port = command.line("ready ").rpartition(":")[2]
        children = command.children()
        assert len(children) == 1, "which answers long requests"
        command.send(signal.SIGKILL)
        assert command.wait() == -signal.SIGKILL
        with Command(tmp_path, "--listen", f"127.0.0.1:{port}") as successor:
            connection = successor.ready().connect()
            assert ask(connection, GRAPHS, BODY)["allowed"] is True
            connection.close()
        # another process may adopt them and leave them as zombies
        eventually(lambda: all(state(pid) in ("", "Z", "X") for pid in children))


@proc_only
def test_a_server_that_can_answer_no_long_request_any_more_drains_and_fails(tmp_path: Path) -> None:
    """Its container starts again; the process that forks can't be forked again beside connections."""
    with Command(tmp_path, "--drain-lag", "0") as command:
        command.ready()
        [forking] = command.children()
        os.kill(forking, signal.SIGKILL)
        assert command.log("the process that answers long requests has ended")["level"] == "error"
        assert command.wait() == 70


def test_a_signal_while_it_starts_is_handled(tmp_path: Path) -> None:
    """As the first process of a container it would otherwise ignore it, and be killed after the pod's grace period."""
    facts = tmp_path / "facts"
    os.mkfifo(facts)
    with Command(tmp_path, "--facts", str(facts)) as command:
        command.line("metrics ")  # then it waits for the facts
        command.send(signal.SIGTERM)
        assert command.wait() == 128 + signal.SIGTERM


def state(pid: int) -> str:
    """The state letter of a process; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_a_server_with_other_certificates_guesses_nothing(tmp_path: Path) -> None:
    store_self_signed(tmp_path / "certs", ("localhost", "127.0.0.1"), datetime.now(UTC))
    with Command(tmp_path, own=False) as command:
        command.ready()
        assert not any("taken for granted" in line for line in command.lines)
        assert any("operatorVersion is not known" in line for line in command.lines)


def serve(*flags: str) -> tuple[int, str]:
    """Runs a command that must not start, in this process; closes what it has bound, as the end of one of its own would."""
    output, before = io.StringIO(), signal.getsignal(signal.SIGTERM)
    with contextlib.ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        stack.callback(signal.signal, signal.SIGTERM, before)

        def bind(where: Address) -> tuple[Address, socket.socket]:
            address, sock = sockets.bind(where)
            return address, stack.enter_context(sock)

        patch.setattr(listening, "bind", bind)
        stack.enter_context(contextlib.redirect_stderr(output))
        return main(["serve", *flags]), output.getvalue()


LOOPBACK = ("--listen", "127.0.0.1:0", "--probe-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--no-cluster")


BAD_FLAGS: Final = (
    (("--listen", "9443"), '--listen: must be HOST:PORT with a port from 0 to 65535, got "9443"'),
    (("--probe-listen", "localhost:http"), "--probe-listen: must be HOST:PORT"),
    (("--metrics-listen", "::1:80"), "--metrics-listen: must be HOST:PORT with an IPv6 host in brackets"),
    (("--workers", "2"), "--workers: must be removed: a pod serves with one process; raise the replicas of the server's Deployment"),
    (("--drain-lag", "-1"), "--drain-lag: must be from 0 to 300 seconds, got -1"),
    (("--drain-lag", "inf"), "--drain-lag: must be from 0 to 300 seconds, got inf"),
    (("--drain-lag", "nan"), "--drain-lag: must be from 0 to 300 seconds, got nan"),
    (("--operator-version", "latest"), '--operator-version: must be a semantic version such as 1.2.0, got "latest"'),
    (("--config", "/nowhere.yaml"), "--config /nowhere.yaml: does not exist"),
    ((*LOOPBACK,), "--cert-dir: must name the directory"),
    ((*LOOPBACK, "--self-signed", "--facts", "/nowhere/facts.yaml"), "/nowhere/facts.yaml"),
    ((*LOOPBACK, "--self-signed", "--cert-dir", "/dev/null/certs"), "--cert-dir /dev/null/certs: "),
)
BAD_FACTS: Final = {"grove: maybe": "grove", "operatorScope: world": "operatorScope", "groove: true": "groove", "[1": "facts"}


def test_a_bad_flag_stops_the_start(subtests: pytest.Subtests) -> None:
    for flags, words in BAD_FLAGS:
        with subtests.test(flags=flags):
            code, output = serve(*flags)
            assert (code, words in output, "Traceback" in output) == (2, True, False)


def test_bad_facts_stop_the_start(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for facts, key in BAD_FACTS.items():
        with subtests.test(facts=facts):
            file = tmp_path / "facts.yaml"
            file.write_text(facts)
            code, output = serve(*LOOPBACK, "--self-signed", "--cert-dir", str(tmp_path / "certs"), "--facts", str(file))
            assert (code, key in output.strip().splitlines()[-1], "Traceback" in output) == (2, True, False)


@pytest.mark.parametrize("reuse", [False, True])
def test_a_port_in_use_stops_the_start(tmp_path: Path, reuse: bool) -> None:
    """Another server of ours would share the port without a word: that is noticed too."""
    with socket.socket() as taken:
        if reuse:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        flags = ("--listen", f"127.0.0.1:{port}", "--self-signed", "--cert-dir", str(tmp_path))
        code, output = serve(*LOOPBACK[2:], *flags)
    assert code == 2
    assert re.search(rf"--listen: can't listen on 127\.0\.0\.1:{port}: address already in use", output)
    assert "Traceback" not in output


def test_without_a_cluster_it_says_so(tmp_path: Path) -> None:
    """Facts are not watched yet, and nobody shall believe that they are. As a process, which says nothing more at its end."""
    words = [sys.executable, "-m", "dynamo_webhooks.cli.main", "serve", "--cert-dir", str(tmp_path), "--listen", "bad host:1"]
    done = subprocess.run([*words, *LOOPBACK[2:6]], capture_output=True, text=True, cwd=ROOT, timeout=DEADLINE, check=False)
    assert done.returncode == 2
    assert "facts come from the file alone" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr


def test_a_fork_that_fails_leaves_signals_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocked for ever, SIGTERM would not end the process any more."""
    monkeypatch.setattr(os, "fork", _no_room)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with pytest.raises(BlockingIOError):
        forker.fork(lambda: os._exit(0))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def _no_room() -> NoReturn:
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
