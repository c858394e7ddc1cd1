"""The process that forks one process for each long request, and what that one does: bounds itself, answers, writes the answer, ends.

The first is forked from the server before that serves anything, so that a request's process inherits little, and no connection. The kernel
holds the bounds of the other, so that they hold for code that is unexpectedly slow: a timer of CPU time raises in the middle of it, and
what doesn't notice that is ended a little later. The process ends with the request, and its memory with it.
"""

import contextlib
import fcntl
import gc
import logging
import math
import os
import pickle
import resource
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import orjson

from ...admission.pipeline import Settings
from ...admission.registration import Purpose
from .. import convert
from ..admission import answer
from ..envelope import Answer, ConversionStatistics, Verdict, reject_http
from ..limits import MEMORY, Bound, BudgetError
from ..logs import JsonHandler
from ..routes import ROUTES
from ..spool import Spool

FRAME_BYTES: Final = 512  # of every order, filled up with spaces
FRAME_FILES: Final = 4  # body, answer, settings, and the end of a pipe for the outcome
NICENESS: Final = 5  # short requests and everything else go first
NO_PROCESS: Final = "no process can be started for a long request now, try again"
FIRST_TO_GO: Final = "1000"  # when memory runs out
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
AGAIN_SECONDS: Final = 0.25  # of CPU, after which the timer raises once more: what ran first may have swallowed it
GRACE_SECONDS: Final = 2  # of CPU beyond the bound, after which the kernel ends the process
MAX_REQUEST_SECONDS: Final = 120  # in all, however little CPU the process gets
MAX_LOG_LINES: Final = 64  # of one request
MAX_DESCRIPTORS: Final = 65_536  # numbers are given out from below: a server never has so many


class Order(NamedTuple):
    """An order, as sent: names and numbers."""

    path: str
    size: int  # of the body, in bytes
    cpu: float  # seconds that it may take
    memory: int  # bytes that it may have beside body and answer
    level: int  # from which on is logged


class JobResult(NamedTuple):
    """The process's report on its response, which is in a spool."""

    status: int
    size: int  # of the answer, in bytes
    seconds: float  # of CPU that it took
    verdict: Verdict
    lines: tuple[bytes, ...] = ()  # for the log


def fork(child: Callable[[], NoReturn]) -> int:
    """Returns the id of a process that runs `child`, which must begin with `settle`.

    A signal in between would be caught by the child's copy of this loop, and wake this loop instead.
    Raises: OSError when there is no room for another process.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            child()
    finally:  # never reached in the child
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    return pid


def settle(keep: set[int]) -> None:
    """Makes a fresh fork a process that a signal to both leaves to its parent; it keeps standard streams and open files in `keep`."""
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    nothing, _ = os.pipe()  # there need not be a /dev/null
    # lets go of what others serve, and of connections, which would not end when the parent ends them. Their numbers stay taken, since
    # objects of the parent that die here may close them
    for descriptor in _open() - {0, 1, 2} - keep - {nothing}:
        with contextlib.suppress(OSError):  # it is none: the one with which the others were listed
            os.fstat(descriptor)
            os.dup2(nothing, descriptor, inheritable=False)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _open() -> set[int]:
    try:
        return {int(path.name) for path in Path("/dev/fd").iterdir()}
    except OSError:  # /proc isn't mounted
        return set(range(MAX_DESCRIPTORS))


def launch() -> tuple[int, socket.socket]:
    """Forks it from a process with one thread and no connection; returns its id and the socket that takes orders, whose end ends it."""
    ours, theirs = socket.socketpair()
    pid = fork(lambda: _become(theirs))
    theirs.close()
    return pid, ours


def order(channel: socket.socket, wanted: Order, files: tuple[int, int, int, int]) -> None:
    """Asks for one request to be answered. Raises: OSError when the forking process has ended."""
    socket.send_fds(channel, [orjson.dumps([*wanted]).ljust(FRAME_BYTES)], files)


def _become(channel: socket.socket) -> NoReturn:
    """Turns a fresh fork into the forking process; never returns into what the parent was doing."""
    try:
        settle({channel.fileno()})
        os.nice(NICENESS)
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO, encoding="ascii")
        gc.freeze()
        gc.disable()  # a request's process ends before cycles matter
        channel.setblocking(True)
        _take_orders(channel)
    finally:
        os._exit(0)


def _take_orders(channel: socket.socket) -> None:
    while True:
        frame, files, _, _ = socket.recv_fds(channel, FRAME_BYTES, FRAME_FILES)
        if len(frame) < FRAME_BYTES or len(files) < FRAME_FILES:  # the server has ended
            return
        try:
            pid = os.fork()
        except OSError as error:
            pid, (_, out, _, pipe) = -1, files
            refused = reject_http(503, f"{NO_PROCESS}: {error.strerror or ''}")
            with contextlib.suppress(OSError):  # the server has ended
                os.write(out, refused.body)
                os.write(pipe, encode_outcome(JobResult(refused.status, len(refused.body), 0.0, refused.verdict)))
        if pid == 0:
            channel.close()
            _answer(frame, files)
        for descriptor in files:
            os.close(descriptor)
        with contextlib.suppress(ChildProcessError):  # the last ones stay until the next order, which costs nothing
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _answer(frame: bytes, files: list[int]) -> NoReturn:
    """Answer one request and exit; a pipe that closes without a line means that the process was killed.

    The server closes the other end of the pipe when the client leaves, and the kernel ends this process then.
    """
    try:
        body, out, settings, pipe = files
        wanted = Order(*orjson.loads(frame))
        judged_by: Settings = pickle.loads(os.pread(settings, os.fstat(settings).st_size, 0))  # noqa: S301 - written by our own parent
        kept: list[bytes] = []  # the server writes them, so that this process never waits for readers

        def keep(line: bytes) -> None:
            if len(kept) < MAX_LOG_LINES:
                kept.append(line)

        logging.getLogger().handlers[:] = [JsonHandler(keep)]  # the server's own waits for a thread that is not here
        set_bounds(wanted)
        _end_with_reader(pipe, yes=True)
        outcome = perform(wanted, Spool(body), Spool(out), judged_by)
        rest = encode_outcome(outcome._replace(lines=tuple(kept)))
        _end_with_reader(pipe, yes=False)  # what the reader takes is a signal, too
        while rest:
            rest = rest[os.write(pipe, rest) :]
    finally:
        os._exit(0)


def _end_with_reader(pipe: int, *, yes: bool) -> None:
    """Asks the kernel for SIGIO, which ends this process, when something happens at the other end of a pipe."""
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(pipe, fcntl.F_GETFL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, flags | os.O_ASYNC if yes else flags & ~os.O_ASYNC)


def perform(order: Order, body: Spool, out: Spool, settings: Settings) -> JobResult:
    """Answers one request; its answer is in `out` afterwards."""
    try:
        found = _answered(order, body, out, settings)
        if found.body:
            out.clear()
            out.write(found.body)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return JobResult(found.status, out.size, time.process_time(), found.verdict)


def _answered(order: Order, body: Spool, out: Spool, settings: Settings) -> Answer:
    route = ROUTES[order.path]
    text = body.mapped(order.size)
    try:
        if route.purpose is Purpose.CONVERT:
            return convert.answer_into(text, out, settings.line)
        return answer(route, memoryview(text), settings)
    except BudgetError as error:  # before the request's uid was known
        return reject_http(413, str(error), Bound.REQUEST_CPU)
    except MemoryError:
        return reject_http(413, MEMORY, Bound.REQUEST_MEMORY)


def set_bounds(order: Order) -> None:
    """Sets the bounds of this process."""

    def spent(_number: int, _frame: object) -> NoReturn:
        raise BudgetError(f"the request needs more than {order.cpu:g} s of CPU time, the limit of one request; make it smaller")

    logging.getLogger().setLevel(order.level)
    signal.signal(signal.SIGPROF, spent)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(MAX_REQUEST_SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(order.cpu) + GRACE_SECONDS, resource.RLIM_INFINITY))
    try:
        data = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # /proc isn't mounted: how much private writable memory the process has is unknown
        data = 0
    if data:
        resource.setrlimit(resource.RLIMIT_DATA, (data + order.memory, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, order.cpu, AGAIN_SECONDS)


def encode_outcome(outcome: JobResult) -> bytes:
    """An outcome as a line of JSON."""
    verdict = outcome.verdict
    tally = verdict.tally
    counts = None if tally is None else [[*key, *values] for key, values in tally.counts.items()]
    where = (verdict.uid, verdict.operation, verdict.namespace, verdict.name)
    plain = [verdict.outcome, verdict.code, *where, verdict.rules, verdict.skipped, verdict.patched, str(verdict.bound)]
    lines = [line.decode() for line in outcome.lines]
    damaged = tally.damaged if tally is not None else 0
    return orjson.dumps([*outcome[:3], plain, counts, damaged, lines], option=orjson.OPT_APPEND_NEWLINE)


def decode_outcome(line: bytes) -> JobResult:
    """The outcome that `written` wrote."""
    status, size, seconds, plain, counts, damaged, lines = orjson.loads(line)
    outcome, code, uid, operation, namespace, name, rules, skipped, patched, bound = plain
    tally = None if counts is None else ConversionStatistics()
    if tally is not None:
        tally.damaged = damaged
        tally.counts = {(kind, source, version, outcome): [count, spent] for kind, source, version, outcome, count, spent in counts}
    verdict = Verdict(outcome, code, uid, operation, namespace, name, tuple(rules), skipped, patched, tally, bound)
    return JobResult(status, size, seconds, verdict, tuple(text.encode() for text in lines))
