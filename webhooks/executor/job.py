"""What the process of one long request does: bounds itself, answers, writes the answer and its verdict, ends.

The kernel holds the bounds, so that they hold for code that is unexpectedly slow: a timer of CPU time raises in the middle of it, and
what doesn't notice that is ended a little later. The process ends with the request, and its memory with it.
"""

import logging
import math
import os
import resource
import signal
import time
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import orjson

from ...admission.pipeline import Settings
from ...admission.registration import Purpose
from .. import convert
from ..admission import answer
from ..conversion_statistics import ConversionStatistics
from ..envelope import Answer, Verdict, reject_http
from ..limits import MEMORY, Bound, BudgetError
from ..routes import ROUTES
from .spool import Spool

AGAIN_SECONDS: Final = 0.25  # of CPU, after which the timer raises once more: what ran first may have swallowed it
GRACE_SECONDS: Final = 2  # of CPU beyond the bound, after which the kernel ends the process
PATIENCE_SECONDS: Final = 120  # in all, however little CPU the process gets


class Order(NamedTuple):
    """An order, as sent: names and numbers."""

    path: str
    size: int  # of the body, in bytes
    cpu: float  # seconds that it may take
    memory: int  # bytes that it may have beside body and answer
    level: int  # from which on is logged


class Kept:
    """A limited number of log lines of this process, which the server writes, so that it never waits for readers."""

    MOST: Final = 64

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def add(self, line: bytes) -> None:
        """Takes a line."""
        if len(self.lines) < self.MOST:
            self.lines.append(line)


class JobResult(NamedTuple):
    """The process's report on its response, which is in a spool."""

    status: int
    size: int  # of the answer, in bytes
    seconds: float  # of CPU that it took
    verdict: Verdict
    lines: tuple[bytes, ...] = ()  # for the log


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
        raise BudgetError(f"the request needs more than {order.cpu:g} s of CPU time, which is all that one may have; make it smaller")

    logging.getLogger().setLevel(order.level)
    signal.signal(signal.SIGPROF, spent)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(PATIENCE_SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(order.cpu) + GRACE_SECONDS, resource.RLIM_INFINITY))
    data = _data()
    if data:
        resource.setrlimit(resource.RLIMIT_DATA, (data + order.memory, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, order.cpu, AGAIN_SECONDS)


def _data() -> int:
    """The private writable memory of this process in bytes; 0 if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def encode_outcome(outcome: JobResult) -> bytes:
    """An outcome as a line of JSON."""
    verdict = outcome.verdict
    tally = verdict.tally
    counts = None if tally is None else [[*key, *values] for key, values in tally.counts.items()]
    plain = list(verdict._replace(tally=None, bound=str(verdict.bound)))
    lines = [line.decode() for line in outcome.lines]
    damaged = tally.damaged if tally is not None else 0
    return orjson.dumps([*outcome[:3], plain, counts, damaged, lines], option=orjson.OPT_APPEND_NEWLINE)


def decode_outcome(line: bytes) -> JobResult:
    """The outcome that `written` wrote."""
    status, size, seconds, plain, counts, damaged, lines = orjson.loads(line)
    fields: dict[str, Any] = dict(zip(Verdict._fields, plain, strict=True))
    fields["rules"] = tuple(fields["rules"])
    if counts is not None:
        fields["tally"] = tally = ConversionStatistics()
        tally.damaged = damaged
        tally.counts = {(kind, source, version, outcome): [count, spent] for kind, source, version, outcome, count, spent in counts}
    return JobResult(status, size, seconds, Verdict(**fields), tuple(text.encode() for text in lines))
