"""The metrics of the Go operator's framework, with its labels: passes by controller, and the queue.

A controller and its queue have the kind's name in lower case. There is one queue for all kinds.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ...kube.metrics import COUNTER, GAUGE, HISTOGRAM, MetricSpec, Values, add_series, count_of, observe
from ..common.keys import Key

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
_RUNTIME: Final = "controller_runtime_"
_CONTROLLER: Final = ("controller",)
_QUEUE: Final = ("name", "controller")
PASSES: Final = MetricSpec(f"{_RUNTIME}reconcile", COUNTER, "Passes; `requeue_after` without a change", (*_CONTROLLER, "result"))
FAILURES: Final = MetricSpec(f"{_RUNTIME}reconcile_errors", COUNTER, "Failed passes", _CONTROLLER)
TERMINAL: Final = MetricSpec(f"{_RUNTIME}terminal_reconcile_errors", COUNTER, "Permanently failed passes", _CONTROLLER)
PANICS: Final = MetricSpec(f"{_RUNTIME}reconcile_panics", COUNTER, "Passes that ended in an internal error", _CONTROLLER)
TIMES: Final = MetricSpec(f"{_RUNTIME}reconcile_time_seconds", HISTOGRAM, "Time of a pass", _CONTROLLER, BUCKETS)
ACTIVE: Final = MetricSpec(f"{_RUNTIME}active_workers", GAUGE, "Running passes", _CONTROLLER)
MAX_CONCURRENT_PASSES: Final = MetricSpec(f"{_RUNTIME}max_concurrent_reconciles", GAUGE, "Maximum of running passes, in total", _CONTROLLER)
DEPTH: Final = MetricSpec("workqueue_depth", GAUGE, "Waiting objects", _QUEUE)
ADDED: Final = MetricSpec("workqueue_adds", COUNTER, "Additions to the queue; waiting objects aren't added again", _QUEUE)
REPEATED: Final = MetricSpec("workqueue_retries", COUNTER, "Delayed objects, after an error or for another look", _QUEUE)
WAIT_SECONDS: Final = MetricSpec("workqueue_queue_duration_seconds", HISTOGRAM, "Time that objects waited", _QUEUE, BUCKETS)
WORK_SECONDS: Final = MetricSpec("workqueue_work_duration_seconds", HISTOGRAM, "Time of passes", _QUEUE, BUCKETS)
UNFINISHED: Final = MetricSpec("workqueue_unfinished_work_seconds", GAUGE, "Seconds of all running passes", _QUEUE)
LONGEST_PASS_SECONDS: Final = MetricSpec(
    "workqueue_longest_running_processor_seconds", GAUGE, "Seconds of the longest running pass", _QUEUE
)
DECLARED: Final = (
    *(PASSES, FAILURES, TERMINAL, PANICS, ADDED, REPEATED),
    *(ACTIVE, MAX_CONCURRENT_PASSES, DEPTH, UNFINISHED, LONGEST_PASS_SECONDS),
    *(TIMES, WAIT_SECONDS, WORK_SECONDS),
)
RESULTS: Final = {"requeue": "requeue_after"}  # result of this project -> the framework's, if they differ


class QueueStatistics:
    """The statistics of a queue. A waiting key that is added again isn't counted."""

    __slots__ = ("_added_at", "_clock", "_started_at", "added", "repeated", "waited", "worked")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._added_at: dict[Key, float] = {}
        self._started_at: dict[Key, float] = {}
        self.added: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()  # delayed, after an error or for another look
        self.waited: dict[str, list[float]] = {}
        self.worked: dict[str, list[float]] = {}

    def on_added(self, key: Key) -> None:
        """Record an added key."""
        if key not in self._added_at:
            self._added_at[key] = self._clock()
            self.added[key.kind] += 1

    def on_started(self, key: Key) -> None:
        """Record the begin of a pass."""
        now = self._started_at[key] = self._clock()
        observe(self.waited, key.kind, BUCKETS, now - self._added_at.pop(key, now))

    def on_ended(self, key: Key) -> None:
        """Record the end of a pass."""
        began = self._started_at.pop(key, None)
        if began is not None:
            observe(self.worked, key.kind, BUCKETS, self._clock() - began)

    def running(self) -> dict[str, list[float]]:
        """The seconds of each running pass, by kind."""
        now = self._clock()
        durations: dict[str, list[float]] = {}
        for key, began in self._started_at.items():
            durations.setdefault(key.kind, []).append(now - began)
        return durations

    def clear(self) -> None:
        """Forget waiting and running keys; keep the counts."""
        self._added_at.clear()
        self._started_at.clear()


def export_passes(
    passes: Mapping[tuple[str, ...], list[float]], terminal: Counter[str], panics: Counter[str], queued: Mapping[str, int]
) -> Iterator[tuple[MetricSpec, Values]]:
    """The `controller_runtime_` metrics of passes, without namespaces; `queued` has every kind."""
    results: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str]] = Counter()
    times: dict[tuple[str], list[float]] = {}
    for (kind, result, *_), series in passes.items():
        controller, total = kind.lower(), count_of(series)
        results[controller, RESULTS.get(result, result)] += total
        if result == "error":
            failed[controller,] += total
        add_series(times, (controller,), series)
    yield PASSES, results
    yield FAILURES, failed
    for declared, counts in ((TERMINAL, terminal), (PANICS, panics)):  # start at zero, so that the first one is an increase
        yield declared, {(kind.lower(),): counts[kind] for kind in queued}
    yield TIMES, times


def export_queue(queued: Mapping[str, int], turns: QueueStatistics, workers: int) -> Iterator[tuple[MetricSpec, Values]]:
    """The metrics of the queue; `queued` has every kind."""
    running = turns.running()
    seconds = {kind: running.get(kind, []) for kind in queued}
    by_kind: tuple[tuple[MetricSpec, Mapping[str, float | list[float]]], ...] = (
        (ACTIVE, {kind: len(each) for kind, each in seconds.items()}),
        (MAX_CONCURRENT_PASSES, dict.fromkeys(queued, workers)),
        (DEPTH, queued),
        (UNFINISHED, {kind: sum(each) for kind, each in seconds.items()}),
        (LONGEST_PASS_SECONDS, {kind: max(each, default=0.0) for kind, each in seconds.items()}),
        (ADDED, {kind: turns.added[kind] for kind in queued}),
        (REPEATED, {kind: turns.repeated[kind] for kind in queued}),
        (WAIT_SECONDS, turns.waited),
        (WORK_SECONDS, turns.worked),
    )
    for declared, values in by_kind:
        yield declared, {(kind.lower(),) * len(declared.labels): value for kind, value in values.items()}
