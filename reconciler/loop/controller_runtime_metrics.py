"""The metrics of the Go operator's framework, with its labels: passes by controller, and the queue.

A controller and its queue have the kind's name in lower case. There is one queue for all kinds.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from dynamo_webhooks.reconciler.loop.series import Declared, filled, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prometheus_client.core import Metric

    from dynamo_webhooks.reconciler.loop.queue_statistics import QueueStatistics
    from dynamo_webhooks.reconciler.loop.series import Label

_RUNTIME: Final = "controller_runtime_"
_CONTROLLER: Final = ("controller",)
_QUEUE: Final = ("name", "controller")
PASSES: Final[Declared] = (
    f"{_RUNTIME}reconcile",
    (*_CONTROLLER, "result"),
    "Passes; `requeue_after` without a change",
)
FAILURES: Final[Declared] = (f"{_RUNTIME}reconcile_errors", _CONTROLLER, "Failed passes")
TERMINAL: Final[Declared] = (f"{_RUNTIME}terminal_reconcile_errors", _CONTROLLER, "Permanently failed passes")
PANICS: Final[Declared] = (f"{_RUNTIME}reconcile_panics", _CONTROLLER, "Passes that ended in an internal error")
TIMES: Final[Declared] = (f"{_RUNTIME}reconcile_time_seconds", _CONTROLLER, "Time of a pass")
ACTIVE: Final[Declared] = (f"{_RUNTIME}active_workers", _CONTROLLER, "Running passes")
MOST: Final[Declared] = (f"{_RUNTIME}max_concurrent_reconciles", _CONTROLLER, "Maximum of running passes, in total")
DEPTH: Final[Declared] = ("workqueue_depth", _QUEUE, "Waiting objects")
ADDED: Final[Declared] = ("workqueue_adds", _QUEUE, "Additions to the queue; waiting objects aren't added again")
REPEATED: Final[Declared] = ("workqueue_retries", _QUEUE, "Delayed objects, after an error or for another look")
WAITED: Final[Declared] = ("workqueue_queue_duration_seconds", _QUEUE, "Time that objects waited")
WORKED: Final[Declared] = ("workqueue_work_duration_seconds", _QUEUE, "Time of passes")
UNFINISHED: Final[Declared] = ("workqueue_unfinished_work_seconds", _QUEUE, "Seconds of all running passes")
LONGEST: Final[Declared] = ("workqueue_longest_running_processor_seconds", _QUEUE, "Seconds of the longest running pass")
COUNTERS: Final = (PASSES, FAILURES, TERMINAL, PANICS, ADDED, REPEATED)
GAUGES: Final = (ACTIVE, MOST, DEPTH, UNFINISHED, LONGEST)
HISTOGRAMS: Final = (TIMES, WAITED, WORKED)
RESULTS: Final = {"requeue": "requeue_after"}  # our result -> the framework's, if they differ


def passes(made: Mapping[Label, list[float]], terminal: Counter[str], panics: Counter[str], kinds: Iterable[str]) -> Iterator[Metric]:
    """The `controller_runtime_` metrics of passes, without namespaces."""
    results: Counter[tuple[str, ...]] = Counter()
    failed: Counter[tuple[str, ...]] = Counter()
    times: dict[tuple[str], list[float]] = {}
    for label, series in made.items():
        controller, total = label.kind.lower(), int(sum(series[1:]))
        results[controller, RESULTS.get(label.result, label.result)] += total
        if label.result == "error":
            failed[controller,] += total
        known = times.setdefault((controller,), [0.0] * len(series))
        known[:] = [a + b for a, b in zip(known, series, strict=True)]
    # errors start at zero, so that the first one is an increase
    lasting, faults = ({(kind.lower(),): counts[kind] for kind in kinds} for counts in (terminal, panics))
    for (name, labels, text), totals in ((PASSES, results), (FAILURES, failed), (TERMINAL, lasting), (PANICS, faults)):
        yield filled(CounterMetricFamily(name, text, labels=labels), labels, totals.items())
    yield spread(TIMES, times)


def queue(queued: Mapping[str, int], turns: QueueStatistics, workers: int) -> Iterator[Metric]:
    """The metrics of the queue; `queued` has every kind."""
    running = turns.running()
    seconds = {kind: running.get(kind, []) for kind in queued}
    gauges: tuple[tuple[Declared, dict[str, float]], ...] = (
        (ACTIVE, {kind: len(each) for kind, each in seconds.items()}),
        (MOST, dict.fromkeys(queued, workers)),
        (DEPTH, {**queued}),
        (UNFINISHED, {kind: sum(each) for kind, each in seconds.items()}),
        (LONGEST, {kind: max(each, default=0.0) for kind, each in seconds.items()}),
    )
    for (name, labels, text), values in gauges:
        yield filled(GaugeMetricFamily(name, text, labels=labels), labels, [(_both(kind), value) for kind, value in values.items()])
    for (name, labels, text), counts in ((ADDED, turns.added), (REPEATED, turns.repeated)):
        yield filled(CounterMetricFamily(name, text, labels=labels), labels, [(_both(kind), counts[kind,]) for kind in queued])
    for declared, series in ((WAITED, turns.waited), (WORKED, turns.worked)):
        yield spread(declared, {_both(kind): each for (kind,), each in series.items()})


def _both(kind: str) -> tuple[str, str]:
    return kind.lower(), kind.lower()
