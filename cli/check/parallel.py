"""Checks many files in several processes where that pays; the result is the same, in the same order, as one process gives.

Processes are forked, so each starts with all that is loaded. Where a system can't fork safely (macOS) there is one process. What a child
finds travels to the parent by a pipe; a child that dies costs its files, each of which is then named as not checked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from dynamo_webhooks.cli.yaml.errors import InputError
from dynamo_webhooks.cli.yaml.load import Source

if TYPE_CHECKING:
    from dynamo_webhooks.cli.check.run import Gathered

Item: TypeAlias = "str | Source | InputError"
Slice: TypeAlias = Sequence[Item]
Work: TypeAlias = "Callable[[Item], None]"

WORTH: Final = 128 * 1024  # bytes of text that take longer to check than a process takes to start
MOST: Final = 8
TICK: Final = b"."  # one file is done
AT_ONCE: Final = 16  # files that are said to be done at once
RESULT: Final = b"="  # what follows is the result


def slices(files: Sequence[Item]) -> list[Slice]:
    """Divides files by size, in their order, for as many processes as pay and may run; one slice where one process is as quick."""
    sizes = [_size(file) for file in files]
    count = max(1, min(_usable(), len(files), sum(sizes) // WORTH))
    share, begin, taken = sum(sizes) / count, 0, 0
    found: list[Slice] = []
    for index, size in enumerate(sizes):
        taken += size
        if taken >= share * (len(found) + 1) and len(found) < count - 1:
            found.append(files[begin : index + 1])
            begin = index + 1
    return [part for part in (*found, files[begin:]) if part] or [files]


def _size(file: Item) -> int:
    if isinstance(file, Source):
        return len(file.text)
    try:
        return 0 if isinstance(file, InputError) else os.stat(file).st_size  # noqa: PTH116 - pathlib takes longer to import
    except (OSError, ValueError):
        return 0


def _usable() -> int:
    """How many processes may run at once; one where forking is not safe."""
    threads = sys.modules.get("threading")
    if not hasattr(os, "fork") or sys.platform == "darwin" or (threads is not None and threads.active_count() > 1):
        return 1
    return min(MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


class _Child(NamedTuple):
    pid: int
    pipe: int  # the end to read from
    work: Slice
    received: bytearray


def through(
    parts: Sequence[Slice],
    work: Work,
    gathered: Callable[[], Gathered],
    take: Callable[[Gathered], None],
    lost: Callable[[list[InputError]], Gathered],
) -> Iterator[None]:
    """Works through slices in a process each and yields once for every file that is done; results are taken in the order of the slices.

    `work` checks one file in the child, `gathered` gives what the child has found, `take` adds that to the parent's;
    `lost` makes a result of files that could not be checked.
    """
    import signal

    children: list[_Child] = []
    left: list[Item] = []
    try:
        # an interrupt waits until all are known that are to be ended
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for part in parts:
                try:
                    children.append(_started(part, work, gathered))
                except OSError:  # where no more processes may run, such as in a small container
                    left += part
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for file in left:
            work(file)
            yield
        yield from _drained(children)
        for child in children:
            _, status = os.waitpid(child.pid, 0)
            os.close(child.pipe)
            children = [other for other in children if other.pid != child.pid]
            if os.WIFEXITED(status) and os.WEXITSTATUS(status):
                for file in child.work:  # once more here, where an error is told the usual way
                    work(file)
            else:
                take(_result(child, status, lost))
    finally:
        _end(children)


def _started(part: Slice, work: Work, gathered: Callable[[], Gathered]) -> _Child:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        pid = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if pid:
        os.close(writing)
        return _Child(pid, reading, part, bytearray())
    code = 1
    try:  # in the child, which must never come back into the parent's code
        os.close(reading)
        _work(part, work, gathered, writing)
        code = 0
    finally:
        os._exit(code)


def _work(part: Slice, work: Work, gathered: Callable[[], Gathered], pipe: int) -> None:
    import pickle
    import signal

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # such as in the background of a script: who ignores one goes on here, too
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupted child says nothing; the parent does
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for number, file in enumerate(part, start=1):
        work(file)
        if number % AT_ONCE == 0 or number == len(part):  # the parent wakes for each write
            os.write(pipe, TICK * ((number - 1) % AT_ONCE + 1))
    rest = memoryview(RESULT + pickle.dumps(gathered(), pickle.HIGHEST_PROTOCOL))
    while rest:
        rest = rest[os.write(pipe, rest) :]


def _drained(children: Sequence[_Child]) -> Iterator[None]:
    """Reads all pipes to their ends, and yields for each file."""
    import select

    open_pipes = {child.pipe: child.received for child in children}
    while open_pipes:
        for pipe in select.select(list(open_pipes), [], [])[0]:
            data, received = os.read(pipe, 1 << 20), open_pipes[pipe]
            if not data:
                del open_pipes[pipe]
            elif received:
                received += data
            else:
                ticks, mark, rest = data.partition(RESULT)
                received += mark + rest
                yield from (None for _ in ticks)


def _result(child: _Child, status: int, lost: Callable[[list[InputError]], Gathered]) -> Gathered:
    """What a child has found, or each of its files as not checked."""
    if not os.WIFSIGNALED(status):
        import pickle

        # bytes of our own child, by a pipe that nobody else can write to
        found: Gathered = pickle.loads(memoryview(child.received)[len(RESULT) :])  # noqa: S301
        return found
    text = f"was not checked: the process that was to do it was killed by signal {os.WTERMSIG(status)}; check fewer files at once"
    return lost([InputError(text, _name(file)) for file in child.work])


def _name(file: Item) -> str:
    return file if isinstance(file, str) else file.name


def _end(children: Sequence[_Child]) -> None:
    """Ends processes that nobody waits for any longer."""
    import contextlib
    import signal

    for child in children:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):  # one that has just been waited for
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
        with contextlib.suppress(OSError):
            os.close(child.pipe)
