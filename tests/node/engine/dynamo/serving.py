"""Answers the operator's probes, as an engine or a frontend that is up does."""

import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

_PORTS: Final = (8000, 9090)  # of a frontend, and of a worker's system status
_ILL: Final = Path("/dev/shm/ill")  # noqa: S108 - a file of the pod; while it is there, the process isn't ready


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503 if self.path == "/health" and _ILL.exists() else 200)
        self.end_headers()


def serve() -> None:
    """Serves until it is told to end."""
    # the first process of a container ends by no signal that it doesn't handle
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    servers = [ThreadingHTTPServer(("", port), _Answer) for port in _PORTS]
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    serve()
