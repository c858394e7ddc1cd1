"""The real command in a process of its own: started, asked, signalled; every wait has a deadline."""

from __future__ import annotations

import http.client
import json
import os
import selectors
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

DEADLINE: Final = 90.0
ROOT: Final = Path(__file__).parents[2]


class Command:
    """`dynamo-webhooks serve` on free ports of loopback."""

    def __init__(
        self,
        directory: Path,
        *flags: str,
        facts: dict[str, Any] | None = None,
        own: bool = True,
        cluster: tuple[str, ...] = ("--no-cluster",),
        named: bool = True,
        program: tuple[str, ...] = ("-m", "dynamo_webhooks.cli.main", "serve"),
        where: Path = ROOT,
    ) -> None:
        """Starts it; `ready` waits for it. `own`: it makes its certificates itself, else `directory`/certs must hold a pair.

        Unless they are `named`, no flag says where certificates are: the configuration does. The interpreter runs `program`
        in the folder `where`.
        """
        self.directory = directory / "certs"
        listen = [word for flag in ("--listen", "--probe-listen", "--metrics-listen") for word in (flag, "127.0.0.1:0")]
        given = []
        if facts is not None:
            (directory / "facts.yaml").write_text(json.dumps(facts))
            given = ["--facts", str(directory / "facts.yaml")]
        certificates = [*(["--self-signed"] if own else []), *(["--cert-dir", str(self.directory)] if named else [])]
        words = [sys.executable, *program, *listen, *cluster, *certificates, *given, *flags]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=where, start_new_session=True)
        self.lines: list[str] = []
        self._rest = b""

    def __enter__(self) -> Self:
        """Nothing more to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it, whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def ready(self) -> Command:
        """Waits until it says so."""
        self.line("ready ")
        return self

    def line(self, start: str) -> str:
        """Waits for a line of stderr that starts so, and returns what follows."""
        return self._awaited(lambda line: line.startswith(start), start)[len(start) :].strip()

    def holding(self, word: str) -> str:
        """Waits for a line that holds a word, and returns it."""
        return self._awaited(lambda line: word in line, word)

    def log(self, word: str) -> dict[str, Any]:
        """Waits for a log line whose message holds a word."""
        entry: dict[str, Any] = json.loads(self._awaited(lambda line: line.startswith("{") and word in json.loads(line)["msg"], word))
        return entry

    def _awaited(self, wanted: Callable[[str], bool], words: str) -> str:
        end = time.monotonic() + DEADLINE
        while not (matches := [line for line in self.lines if wanted(line)]):
            if not self._read(end):
                raise AssertionError(f"nothing about {words!r} in {self.lines}")
        return matches[0]

    def told(self, word: str, seconds: float = 0.2) -> bool:
        """Whether a line holds a word by now, or in a moment."""
        end = time.monotonic() + seconds
        while not any(word in line for line in self.lines):
            try:
                if not self._read(end):
                    return False
            except AssertionError:
                return False
        return True

    def wait(self) -> int:
        """Waits for its end; all its lines are there then."""
        end = time.monotonic() + DEADLINE
        while self._read(end):
            pass
        return self.process.wait(DEADLINE)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def connect(self) -> http.client.HTTPSConnection:
        """A connection that is verified with the authority it made."""
        port = int(self.line("ready ").rpartition(":")[2])
        context = ssl.create_default_context(cafile=str(self.directory / "ca.crt"))
        return http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=DEADLINE)

    def get(self, what: str, path: str) -> tuple[int, str]:
        """Reads a plain listener: `probes` or `metrics`."""
        connection = http.client.HTTPConnection("127.0.0.1", int(self.line(f"{what} ").rpartition(":")[2]), timeout=DEADLINE)
        connection.request("GET", path)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def metric(self, start: str) -> float:
        """The sum of the samples that start so."""
        _, text = self.get("metrics", "/metrics")
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(start))

    def children(self) -> list[int]:
        """The child processes: one that forks for long requests, and one that watches the cluster."""
        return self.below(self.process.pid)

    @staticmethod
    def below(pid: int) -> list[int]:
        """The children of a process."""
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def _read(self, end: float) -> bool:
        """Reads some more of stderr; False at its end. Fails at the deadline."""
        assert self.process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stderr, selectors.EVENT_READ)
            if not selector.select(max(0.0, end - time.monotonic())):
                raise AssertionError(f"nothing more came within {DEADLINE:g} s after {self.lines}")
        data = os.read(self.process.stderr.fileno(), 65536)
        *whole, self._rest = (self._rest + data).split(b"\n")
        self.lines += [line.decode() for line in whole]
        return bool(data)


def ask(connection: http.client.HTTPSConnection, path: str, body: bytes) -> dict[str, Any]:
    """Posts a review and returns the response in it."""
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response: dict[str, Any] = json.loads(connection.getresponse().read())["response"]
    return response
