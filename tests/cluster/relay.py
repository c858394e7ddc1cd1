"""Connections that go through the tests: to several servers in turn, as a load balancer has it, and held back for a while."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from itertools import cycle

_CHUNK = 65_536
_BEGIN = 3  # pieces from a client that are the begin of TLS and, at most, its first request


class Relay:
    """A port of 127.0.0.1 whose connections lead to each of some ports in turn."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.held = threading.Event()  # what a client has sent is held back
        self._armed, self._flowing = threading.Semaphore(0), threading.Event()
        self._ports = cycle(ports)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hold_next(self) -> None:
        """Holds the next request on a connection in use, until `release`; all others flow. A server drops new ones that say nothing."""
        self.held.clear()
        self._flowing.clear()
        self._armed.acquire(blocking=False)
        self._armed.release()

    def release(self) -> None:
        """Lets the connection that is held go on."""
        self._flowing.set()

    def close(self) -> None:
        """Ends all connections."""
        self.release()
        self._listener.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", next(self._ports)))
                self._open += [near, far]
                threading.Thread(target=self._pass_on, args=(near, far, True), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(far, near, False), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, near: bool) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while chunk := source.recv(_CHUNK):
                passed += 1
                if near and passed > _BEGIN and self._armed.acquire(blocking=False):
                    self.held.set()
                    self._flowing.wait()
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def relayed(*ports: int) -> Iterator[Relay]:
    """A relay until the end of the block."""
    relay = Relay(ports)
    try:
        yield relay
    finally:
        relay.close()
