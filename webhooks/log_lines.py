"""Buffers log lines, and writes them to stderr without ever waiting for the reader."""

import asyncio
import os
import queue
import threading
from typing import Final

from .log_text import readable

ATOMIC_BYTES: Final = 4096  # what a pipe takes in one piece
FLUSH_SECONDS: Final = 0.05
FLUSH_BYTES: Final = 64 * 1024
MAX_PENDING_BYTES: Final = 8 * 1024 * 1024  # lines waiting for a reader that doesn't read; later ones are dropped and counted
CLOSE_SECONDS: Final = 1.0


class Lines:
    """A buffered writer of log lines; a thread of its own writes, so that a full pipe never stops the loop."""

    def __init__(self, descriptor: int = 2, *, shared: bool = False) -> None:
        """Writes to a file descriptor: line by line at first, buffered once `start` has been called, which must be after any fork.

        `shared`: other processes write there too, so that a pipe must be given whole lines in pieces that it doesn't split.
        """
        self._piece = ATOMIC_BYTES if shared else MAX_PENDING_BYTES
        self.console = False  # whether people read the lines, who are shown text
        # each counter is written by only one thread, so none needs a lock
        self._refused = self._lost = 0
        self._queued_bytes = self._written_bytes = 0
        self._descriptor = descriptor
        self._lines: list[bytes] = []
        self._size = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="log", daemon=True)

    @property
    def dropped(self) -> int:
        """The number of dropped lines."""
        return self._refused + self._lost

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to write."""
        self._loop = loop
        self._writer.start()

    def add(self, line: bytes) -> None:
        """Takes one line, with its newline; written a moment later."""
        if self.console:
            line = readable(line)
        if self._loop is None:
            self._put(line)
            return
        self._lines.append(line)
        self._size += len(line)
        if self._size >= FLUSH_BYTES:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(FLUSH_SECONDS, self.flush)

    def flush(self) -> None:
        """Hands the buffered lines to the writing thread, or drops them when it holds too many."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lines, size = self._lines, self._size
        self._lines, self._size = [], 0
        if self._queued_bytes - self._written_bytes + size > MAX_PENDING_BYTES:
            self._refused += len(lines)
        elif lines:
            self._queued_bytes += size
            self._chunks.put(b"".join(lines))

    def close(self) -> None:
        """Writes buffered lines; gives up after `CLOSE_SECONDS` if the reader doesn't read."""
        self.flush()
        self._chunks.put(b"")
        if self._writer.is_alive():
            self._writer.join(CLOSE_SECONDS)

    def _write(self) -> None:
        while chunk := self._chunks.get():
            self._put(chunk)
            self._written_bytes += len(chunk)

    def _put(self, chunk: bytes) -> None:
        """Writes whole lines, in pieces that don't mix with those of other processes; a longer line may be torn."""
        start = 0
        try:
            while start < len(chunk):
                end = len(chunk)
                if end - start > self._piece:
                    end = (chunk.rfind(b"\n", start, start + self._piece) + 1) or (chunk.find(b"\n", start) + 1) or end
                start += os.write(self._descriptor, chunk[start:end])
        except OSError:
            self._lost += chunk.count(b"\n", start)
