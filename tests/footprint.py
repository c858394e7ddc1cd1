"""What a server and all processes below it cost: memory and CPU time, as the kernel accounts for them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType

_TICK = os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process and all below it."""
    pids = [pid]
    for each in pids:
        try:
            pids += [int(word) for task in Path(f"/proc/{each}/task").iterdir() for word in (task / "children").read_text().split()]
        except OSError:  # it has just ended
            continue
    return pids


def footprint(pid: int) -> int:
    """Bytes that a process and all below it use together: what each has written of its own, its share of files, and anonymous files.

    Bodies and answers lie in anonymous files, which count once, whoever has them open or mapped.
    """
    total, files = 0, {}
    for each in family(pid):
        try:
            sizes = dict(line.split()[:2] for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()[1:])
            total += 1024 * (int(sizes["Pss_Anon:"]) + int(sizes["Pss_File:"]))
            for number in Path(f"/proc/{each}/fd").iterdir():
                status = number.stat()
                if status.st_nlink == 0 and status.st_size and "memfd:" in os.readlink(number):  # noqa: PTH115 - not a path of a file
                    files[status.st_ino] = status.st_blocks * 512
        except OSError:
            continue
    return total + sum(files.values())


def spent(pid: int) -> float:
    """Seconds of CPU that a process and those below it that have ended have used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / _TICK


class Watch:
    """Looks at the footprint again and again; use as a context manager. `most` is the most that was seen, in bytes."""

    def __init__(self, pid: int, seconds: float = 0.02) -> None:
        """`seconds`: between two looks."""
        self.most = footprint(pid)
        self._pid, self._seconds = pid, seconds
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        """Begins."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Ends."""
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(self._seconds):
            self.most = max(self.most, footprint(self._pid))
