"""Real processes: start, readiness, signals, several workers, a crash, and configurations that can't be served."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest

from dynamo_webhooks.certs.files import store_self_signed
from dynamo_webhooks.webhooks import forked, supervisor
from dynamo_webhooks.webhooks.limits import Limits
from dynamo_webhooks.webhooks.process import Plan, SideListeners
from tests.webhooks.processes import DEADLINE, ROOT, Command, ask
from tests.webhooks.requests import GRAPHS, graph, review
from tests.webhooks.serving import post
from tests.webhooks.test_admission import SETTINGS
from tests.webhooks.test_convert import review as conversion
from tests.webhooks.test_convert_bulk import OBJECTS, numbered

BODY = review(graph())
WORKERS = pytest.mark.parametrize("workers", [1, 2])
LAG = 4.0  # seconds
proc_only = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds worker processes in /proc")


def eventually(condition: Any) -> None:
    """Asks again until something is true; fails at a deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        time.sleep(0.005)
        assert time.monotonic() < end, "it never became true"


@WORKERS
def test_start_serve_and_drain(tmp_path: Path, workers: int) -> None:
    """The lines on stderr, an answer, probes, metrics, and exit code 0 after SIGTERM."""
    with Command(tmp_path, "--workers", str(workers)) as command:
        command.ready()
        starts = [line.split()[0] for line in command.lines if not line.startswith(("{", "no --facts"))]
        assert starts == ["probes", "metrics", "ca", "ready"]
        assert Path(command.line("ca ")).is_file()
        connection = command.connect()
        assert ask(connection, GRAPHS, BODY)["allowed"] is True
        assert command.get("probes", "/healthz") == (200, "ok\n")
        # with several workers it asks them, and one that is slow to answer on a busy machine counts as not ready
        eventually(lambda: command.get("probes", "/readyz") == (200, "ok\n"))
        assert command.get("probes", "/metrics")[0] == 404
        assert command.get("metrics", "/healthz")[0] == 404
        command.send(signal.SIGTERM)
        assert command.wait() == 0
        connection.close()


@WORKERS
@pytest.mark.parametrize("group", [False, True])
def test_a_request_in_flight_is_answered_after_sigterm(tmp_path: Path, workers: int, group: bool) -> None:
    """Also when a service manager or a terminal signals the workers too, and the supervisor twice."""
    with Command(tmp_path, "--workers", str(workers)) as command:
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


@WORKERS
@pytest.mark.parametrize("taking", [False, True], ids=["asking", "taking"])
def test_a_long_list_is_answered_completely_after_sigterm(tmp_path: Path, workers: int, taking: bool) -> None:
    """T17: the signal comes before the last byte of a review of 20 MiB, or when the first of its answer has been taken."""
    objects = [numbered(graph(), number) for number in range(OBJECTS)]
    whole = post("/convert", conversion(objects))
    with Command(tmp_path, "--workers", str(workers)) as command:
        command.ready()
        connection = command.connect()
        connection.connect()
        assert connection.sock is not None
        answer = http.client.HTTPResponse(connection.sock)
        connection.sock.sendall(whole[:-1])
        eventually(lambda: command.metric('controller_runtime_webhook_requests_in_flight{webhook="/convert"}') == 1)
        if taking:
            connection.sock.sendall(whole[-1:])
            answer.begin()  # much more than the system holds of a connection is still to come
            command.send(signal.SIGTERM)
        else:
            command.send(signal.SIGTERM)
            eventually(lambda: "draining" in command.get("probes", "/readyz")[1])
            connection.sock.sendall(whole[-1:])
            answer.begin()
        there = json.loads(answer.read())["response"]["convertedObjects"]
        assert [obj["metadata"]["name"] for obj in there] == [obj["metadata"]["name"] for obj in objects]
        assert connection.sock.recv(1) == b""  # nobody waits for this connection any longer
        assert command.wait() == 0
        connection.close()


@WORKERS
def test_a_second_signal_ends_it_at_once(tmp_path: Path, workers: int) -> None:
    """Though a request is in flight."""
    with Command(tmp_path, "--workers", str(workers)) as command:
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
def test_a_crashed_worker_is_replaced_and_its_counts_stay(tmp_path: Path) -> None:
    with Command(tmp_path, "--workers", "2") as command:
        command.ready()
        connections = [command.connect() for _ in range(8)]
        assert all(ask(connection, GRAPHS, BODY)["allowed"] for connection in connections)
        counted = 8
        eventually(lambda: command.metric("dynamo_operator_webhook_requests_total") == counted)
        before = set(command.children())
        assert len(before) == 2
        os.kill(min(before), signal.SIGKILL)
        assert command.log("is replaced")["level"] == "error"
        eventually(lambda: command.get("probes", "/readyz")[0] == 200)
        after = set(command.children())
        assert len(after) == 2
        assert len(after & before) == 1
        assert command.metric("dynamo_webhooks_workers_replaced_total") == 1
        fresh = [command.connect() for _ in range(8)]
        assert all(ask(connection, GRAPHS, BODY)["allowed"] for connection in fresh)
        eventually(lambda: command.metric("dynamo_operator_webhook_requests_total") == counted + 8)
        command.send(signal.SIGTERM)
        assert command.wait() == 0
        for connection in connections + fresh:
            connection.close()


@proc_only
def test_a_replaced_worker_holds_no_connection_of_its_supervisor(tmp_path: Path) -> None:
    """Or whoever reads metrics would never hear that it was closed, and ask on it again."""
    with Command(tmp_path, "--workers", "2") as command:
        command.ready()
        port = int(command.line("probes ").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as probing:
            probing.sendall(b"GET /healthz HTTP/1.1\r\nHost: server\r\n\r\n")
            assert probing.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
            before = command.children()
            os.kill(before[0], signal.SIGKILL)
            eventually(lambda: len(now := command.children()) == 2 and before[0] not in now)
            probing.sendall(b"GET /healthz HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n")
            while probing.recv(65536):
                pass


@proc_only
def test_connections_that_a_crashed_worker_had_not_accepted_are_served_by_its_replacement(tmp_path: Path) -> None:
    """The supervisor holds the sockets, and with them those who wait there."""
    with Command(tmp_path, "--workers", "2") as command:
        command.ready()
        workers = command.children()
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
            eventually(lambda pid=worker: state(pid) == "T")
        port = int(command.line("ready ").rpartition(":")[2])
        early = [socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) for _ in range(16)]
        os.kill(workers[0], signal.SIGKILL)
        os.kill(workers[1], signal.SIGCONT)
        context = ssl.create_default_context(cafile=str(command.directory / "ca.crt"))
        for sock in early:
            with context.wrap_socket(sock, server_hostname="127.0.0.1") as wrapped:
                wrapped.sendall(post(GRAPHS, BODY))
                assert wrapped.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")


@proc_only
def test_workers_whose_supervisor_is_killed_serve_on_until_endpoints_have_learned_of_it(tmp_path: Path) -> None:
    """Its probes are gone with it; connections, old and new, are answered until the lag is over."""
    with Command(tmp_path, "--workers", "2", "--drain-lag", str(LAG)) as command:
        command.ready()
        workers = command.children()
        old = command.connect()
        assert ask(old, GRAPHS, BODY)["allowed"] is True
        began = time.monotonic()
        command.send(signal.SIGKILL)
        command.process.wait(DEADLINE)
        fresh = command.connect()
        try:
            answers = [ask(connection, GRAPHS, BODY)["allowed"] for connection in (old, fresh)]
        except OSError:  # a machine that was elsewhere for so long shows nothing
            assert time.monotonic() - began > LAG
        else:
            assert answers == [True, True]
        eventually(lambda: all(state(pid) in ("", "Z", "X") for pid in workers))
        for connection in (old, fresh):
            connection.close()


@proc_only
def test_a_server_that_follows_a_crashed_one_waits_for_its_port(tmp_path: Path) -> None:
    with Command(tmp_path, "--workers", "2", "--drain-lag", str(LAG)) as command:
        command.ready()
        port = command.line("ready ").rpartition(":")[2]
        command.send(signal.SIGKILL)
        command.process.wait(DEADLINE)
        with Command(tmp_path, "--workers", "2", "--drain-lag", str(LAG), "--listen", f"127.0.0.1:{port}") as successor:
            successor.ready()
            assert successor.told("address already in use; trying again for 5 s")
            connection = successor.connect()
            assert ask(connection, GRAPHS, BODY)["allowed"] is True
            connection.close()


@proc_only
def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    """A supervisor that is killed leaves no process behind that nobody would stop."""
    with Command(tmp_path, "--workers", "2") as command:
        command.ready()
        workers = command.children()
        assert len(workers) == 2
        command.send(signal.SIGKILL)
        assert command.wait() == -signal.SIGKILL
        # whoever adopts them may leave them as zombies
        eventually(lambda: all(state(pid) in ("", "Z", "X") for pid in workers))


def state(pid: int) -> str:
    """The state letter of a process; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_facts_and_profile_reach_the_rules(tmp_path: Path) -> None:
    """Without --facts one line says what is taken for granted; with them they decide."""
    obj = graph()
    obj["spec"]["priorityClassName"] = "high"
    with Command(tmp_path, "--workers", "1", "--profile", "1.2", facts={"operatorScope": "cluster", "grove": False}) as command:
        command.ready()
        connection = command.connect()
        status = ask(connection, GRAPHS, review(obj))["status"]
        assert (status["code"], status["details"]["causes"][0]["field"]) == (422, "spec.priorityClassName")
        connection.close()
        assert not any("no --facts" in line for line in command.lines)


def test_a_server_with_certificates_of_its_own_takes_facts_for_granted_and_says_so(tmp_path: Path) -> None:
    with Command(tmp_path, "--workers", "1") as command:
        command.ready()
        assert any("taken for granted: operatorScope=cluster" in line for line in command.lines)


def test_a_server_with_other_certificates_guesses_nothing(tmp_path: Path) -> None:
    store_self_signed(tmp_path / "certs", ("localhost", "127.0.0.1"), datetime.now(UTC))
    with Command(tmp_path, "--workers", "1", own=False) as command:
        command.ready()
        assert not any("taken for granted" in line for line in command.lines)
        assert any("operatorVersion is not known" in line for line in command.lines)


def serve(*flags: str) -> tuple[int, str]:
    """Runs a command that must not start."""
    words = [sys.executable, "-m", "dynamo_webhooks.cli.main", "serve", *flags]
    found = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=DEADLINE, check=False)
    return found.returncode, found.stderr


LOOPBACK = ("--listen", "127.0.0.1:0", "--probe-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--no-cluster")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--listen", "9443"), '--listen: must be HOST:PORT with a port from 0 to 65535, got "9443"'),
        (("--probe-listen", "localhost:http"), "--probe-listen: must be HOST:PORT"),
        (("--metrics-listen", "::1:80"), "--metrics-listen: must be HOST:PORT with an IPv6 host in brackets"),
        (("--workers", "0"), "--workers: must be at least 1, got 0"),
        (("--drain-lag", "-1"), "--drain-lag: must be from 0 to 300 seconds, got -1"),
        (("--drain-lag", "inf"), "--drain-lag: must be from 0 to 300 seconds, got inf"),
        (("--drain-lag", "nan"), "--drain-lag: must be from 0 to 300 seconds, got nan"),
        ((*LOOPBACK,), "--cert-dir: must name the directory"),
        ((*LOOPBACK, "--self-signed", "--facts", "/nowhere/facts.yaml"), "/nowhere/facts.yaml"),
        ((*LOOPBACK, "--self-signed", "--cert-dir", "/dev/null/certs"), "--cert-dir /dev/null/certs: "),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_bad_flag_stops_the_start(flags: tuple[str, ...], words: str) -> None:
    code, said = serve(*flags)
    assert (code, words in said, "Traceback" in said) == (2, True, False)


@pytest.mark.parametrize(
    ("facts", "key"), [("grove: maybe", "grove"), ("operatorScope: world", "operatorScope"), ("groove: true", "groove"), ("[1", "facts")]
)
def test_bad_facts_stop_the_start(tmp_path: Path, facts: str, key: str) -> None:
    file = tmp_path / "facts.yaml"
    file.write_text(facts)
    code, said = serve(*LOOPBACK, "--self-signed", "--cert-dir", str(tmp_path / "certs"), "--facts", str(file))
    last = said.strip().splitlines()[-1]
    assert (code, key in last, "Traceback" in said) == (2, True, False)


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("reuse", [False, True])
def test_a_port_in_use_stops_the_start(tmp_path: Path, workers: str, reuse: bool) -> None:
    """Another server of ours would share the port without a word: that is noticed too."""
    with socket.socket() as taken:
        if reuse:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        flags = ("--listen", f"127.0.0.1:{port}", "--self-signed", "--cert-dir", str(tmp_path), "--workers", workers)
        code, said = serve(*LOOPBACK[2:], *flags)
    assert code == 2
    assert re.search(rf"--listen: can't listen on 127\.0\.0\.1:{port}: address already in use", said)
    assert "Traceback" not in said


def test_without_a_cluster_it_says_so(tmp_path: Path) -> None:
    """Facts are not watched yet, and nobody shall believe that they are."""
    code, said = serve("--cert-dir", str(tmp_path), "--listen", "bad host:1", *LOOPBACK[2:6])
    assert code == 2
    assert "facts come from the file alone" in said


def test_a_fork_that_fails_leaves_signals_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocked for ever, SIGTERM would not end the process any more."""
    monkeypatch.setattr(os, "fork", _no_room)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with pytest.raises(BlockingIOError):
        forked.fork(lambda: os._exit(0))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def _no_room() -> NoReturn:
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


async def test_a_worker_is_replaced_as_soon_as_there_is_room_for_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The pod used to stay unready until somebody deleted it."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        one = supervisor.Supervisor(Plan(SETTINGS, tmp_path, Limits(), 0.0), [sock], SideListeners(sock, sock))

        def started() -> int:
            one._ending = not forks
            return os.posix_spawn(sys.executable, [sys.executable, "-c", ""], os.environ)

        forks = [started, _no_room, _no_room, started]
        monkeypatch.setattr(supervisor, "fork", lambda _: forks.pop(0)())
        monkeypatch.setattr(supervisor, "RESTART_SECONDS", 0.0)
        await one._start(0)
        while one._watches:
            await asyncio.wait(one._watches)
    assert forks == []
    assert caplog.text.count("worker 0 can't be started, and is tried again: Resource temporarily unavailable") == 2
