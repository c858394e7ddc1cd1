"""Work on a long list in as many processes as there are CPUs: each has a share, and what one does not deliver is done here."""

import os
import pickle
import select
import threading
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")


_WAIT_SECONDS: Final = 0.2


def run_in_processes(work: Callable[[int, Sequence[T]], R], items: Sequence[T], least: int, tick: Callable[[], None]) -> list[R]:
    """Run `work` on consecutive shares of the items, each with its place and at least `least` items, and return the results.

    The first share is worked on here, each other in a forked process, which must not depend on what the others do. `tick` is called now
    and then while the first waits for others.
    """
    safe = hasattr(os, "sched_getaffinity") and threading.active_count() == 1  # a fork is on Linux, where no other thread holds a lock
    processors = len(os.sched_getaffinity(0)) if safe else 1
    count = max(1, min(processors, len(items) // least))
    size = -(-len(items) // count)
    shares = [(start, items[start : start + size]) for start in range(0, len(items), size)]
    children = [_fork(work, *share) for share in shares[1:]]
    try:
        results = [work(0, items[:size])]
        for share, child in zip(shares[1:], children, strict=True):
            sent = b""
            if child is not None:
                while not select.select([child[1]], [], [], _WAIT_SECONDS)[0]:
                    tick()
                with os.fdopen(child[1], "rb", closefd=False) as pipe:
                    sent = pipe.read()
            try:
                results.append(pickle.loads(sent))  # noqa: S301 - what our own process has written
            except (EOFError, pickle.UnpicklingError):  # nothing, or a part: it has failed, or was killed
                results.append(work(*share))
    finally:
        for number, reader in filter(None, children):
            os.close(reader)
            os.waitpid(number, 0)
    return results


def _fork(work: Callable[[int, Sequence[T]], R], start: int, share: Sequence[T]) -> tuple[int, int] | None:
    """Begins in a process of its own: its number, and where its result comes from; nothing comes from one that fails.

    None if the system allows no more processes or files.
    """
    try:
        reader, writer = os.pipe()
    except OSError:
        return None
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return None
    if child:
        os.close(writer)
        return child, reader
    try:
        os.close(reader)
        sent = pickle.dumps(work(start, share), protocol=pickle.HIGHEST_PROTOCOL)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(sent)
    finally:
        os._exit(0)  # whatever happened: what runs at the end of a program is the parent's
