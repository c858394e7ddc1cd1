"""A server process under measurement: sends it requests over one TLS keep-alive connection, and reads what it used from the kernel."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, Final

from tests.footprint import family, spent
from tests.webhooks.processes import ROOT, Command
from tests.webhooks.serving import post

TREE: Final = Path(os.environ.get("BENCH_TREE") or ROOT)  # a copy of the sources that may be compiled
# a server of an earlier commit knows these, too
FACTS: Final = {"operatorVersion": "1.2.0", "grove": True, "inferencePool": True, "dra": True, "lws": True}


class Server(Command):
    """Our server from the files of a folder, or another `program`; servers of one directory share its certificates."""

    def __init__(self, directory: Path, where: Path = TREE, **program: Any) -> None:
        """Waits until it serves."""
        super().__init__(directory, facts=FACTS, where=where, **program)
        self.pid, self.authority = self.process.pid, self.directory / "ca.crt"
        self.port = int(self.line("ready ").rpartition(":")[2])
        # the access log goes where a container's goes: somewhere that reads it
        subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    @cached_property
    def _socket(self) -> Any:
        """Connected when it is first needed: a server closes a connection on which nothing is asked."""
        connection = self.connect()
        connection.connect()
        return connection.sock

    def post(self, path: str, body: bytes, times: int) -> bytes:
        """Posts the same review so many times, one after the other; returns the last answer's body."""
        message, answer = post(path, body), b""
        for _ in range(times):
            self._socket.sendall(message)
            response = HTTPResponse(self._socket, method="POST")
            response.begin()
            answer = response.read()
            if response.status != 200:
                raise RuntimeError(f"unexpected answer: {response.status} {answer[:100]!r}")
        return answer

    def cpu(self) -> float:
        """Seconds of CPU that the process has used, by the scheduler's own account of nanoseconds, and those below it, in hundredths."""
        own = sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{self.pid}/task").glob("*/schedstat")) / 1e9
        return own + sum(spent(child) for child in family(self.pid)[1:])

    def cost(self, path: str, body: bytes, times: int) -> float:
        """Seconds of CPU for one of so many requests."""
        before = self.cpu()
        self.post(path, body, times)
        return (self.cpu() - before) / times

    def keep_to(self, cpus: set[int]) -> None:
        """Lets its threads run on these CPUs alone."""
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), cpus)

    def resident(self) -> float:
        """Megabytes resident."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))) / 1024


@contextmanager
def apart(*servers: Server) -> Iterator[None]:
    """Keeps the client to one CPU and servers to the others, as if they were on machines of their own.

    Where they share one, what the client has just written is still in its cache: a request costs the server a third less, and the bare
    one feels it most. Which of both it is changes by the minute, and with it the ratio.
    """
    cpus = os.sched_getaffinity(0)
    client = {min(cpus)}
    os.sched_setaffinity(0, client)
    for server in servers:
        server.keep_to(cpus - client or cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)
        for server in servers:
            server.keep_to(cpus)
