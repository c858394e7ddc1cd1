"""Starts a server process, sends it requests over one TLS keep-alive connection, and reads its CPU time and memory from the kernel."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.bench.footprint import family, spent


@contextmanager
def apart(*servers: Measured) -> Iterator[None]:
    """Keeps clients to one CPU and servers to the others, as if they were on machines of their own.

    Where they share one, what the client has just written is still in its cache: a request costs the server a third less, and the bare
    one feels it most. Which of both it is changes by the minute, and with it the ratio.
    """
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        yield
        return
    client = {min(cpus)}
    os.sched_setaffinity(0, client)
    for server in servers:
        server.keep_to(cpus - client)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)
        for server in servers:
            server.keep_to(cpus)


class Measured:
    """A server process under measurement; use as a context manager."""

    def __init__(self, command: Sequence[str], authority: Path) -> None:
        """`command` prints `ready https://HOST:PORT` on stderr when it serves."""
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self._authority = authority
        self._port = self._wait()
        # the access log goes where a container's goes: somewhere that reads it
        self._drain = subprocess.Popen(["cat"], stdin=self._process.stderr, stdout=subprocess.DEVNULL)
        self._opened: ssl.SSLSocket | None = None

    @property
    def _connection(self) -> ssl.SSLSocket:
        """Made when it is first needed: a server closes one on which nothing is asked."""
        if self._opened is None:
            context = ssl.create_default_context(cafile=str(self._authority))
            self._opened = context.wrap_socket(socket.create_connection(("127.0.0.1", self._port)), server_hostname="127.0.0.1")
        return self._opened

    def _wait(self) -> int:
        assert self._process.stderr
        seen = ""
        for line in self._process.stderr:
            seen += line
            if line.startswith("ready "):
                return int(line.rsplit(":", 1)[1])
        raise RuntimeError(f"the server did not start: {seen}")

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Ends the process."""
        if self._opened is not None:
            self._opened.close()
        self._process.terminate()
        self._process.wait(10)
        self._drain.terminate()
        self._drain.wait(10)

    def send(self, path: str, body: bytes, times: int) -> bytes:
        """Sends the same request so many times, one after the other; returns the last answer's body."""
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        message = head.encode() + body
        answer = b""
        for _ in range(times):
            self._connection.sendall(message)
            answer = self._read()
        return answer

    def _read(self) -> bytes:
        data = self._received()
        while b"\r\n\r\n" not in data:
            data += self._received()
        head, _, rest = data.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"unexpected answer: {head[:100]!r}")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        body = bytearray(rest)  # grows in place: a long answer comes in thousands of records
        while len(body) < length:
            body += self._received()
        return bytes(body)

    def _received(self) -> bytes:
        found = self._connection.recv(262_144)
        if not found:
            raise RuntimeError("the server closed the connection")
        return found

    @property
    def port(self) -> int:
        """Where it serves."""
        return self._port

    @property
    def authority(self) -> Path:
        """The certificate with which it is verified."""
        return self._authority

    def cpu(self) -> float:
        """Seconds of CPU that the process has used, by the scheduler's own account of nanoseconds, and those below it, in hundredths."""
        own = sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")) / 1e9
        return own + sum(spent(child) for child in family(self._process.pid)[1:])

    def keep_to(self, cpus: set[int]) -> None:
        """Lets its threads run on these CPUs alone."""
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), cpus)

    def resident(self) -> float:
        """Megabytes resident, the pages shared with nobody and those shared alike."""
        return self._memory("VmRSS:")

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def _memory(self, field: str) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith(field))) / 1024


def program() -> list[str]:
    """Our command line, run by this interpreter; from the files of BENCH_TREE if that is set: there they may be compiled."""
    tree = os.environ.get("BENCH_TREE")
    return [*(["env", "-C", tree] if tree else []), sys.executable, "-m", "dynamo_webhooks.cli.main"]


def ours(folder: Path, facts: Path) -> list[str]:
    """The command of our server on free ports."""
    free = "127.0.0.1:0"
    command = [*program(), "serve", "--cert-dir", str(folder), "--self-signed", "--no-cluster", "--facts", str(facts)]
    return [*command, "--listen", free, "--probe-listen", free, "--metrics-listen", free]


def bare(folder: Path) -> list[str]:
    """The command of the yardstick with the same certificates."""
    return [sys.executable, "-m", "tests.bench.bare", str(folder)]
