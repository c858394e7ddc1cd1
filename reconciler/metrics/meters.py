"""The reconciler's metrics, with the names of the Go operator's dashboards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from ...kube.metrics import COUNTER, GAUGE, HISTOGRAM, Declared, Values, count_of, export, observe
from . import controller_runtime
from .queue import BUCKETS, QueueStatistics

_REFERENCE: Final = "dynamo_operator_"
_OURS: Final = "dynamo_webhooks_reconciler_"
NAMESPACE: Final = "namespace"
# The namespace is the last label of each metric with labels if configured, because it multiplies series.
DURATION: Final = Declared(f"{_REFERENCE}reconcile_duration_seconds", HISTOGRAM, "Time of a pass", ("resource_type", "result"), BUCKETS)
PASSES: Final = Declared(f"{_REFERENCE}reconcile", COUNTER, "Passes; `requeue` without a change", ("resource_type", "result"))
ERRORS: Final = Declared(f"{_REFERENCE}reconcile_errors", COUNTER, "Failed passes, by class of the error", ("resource_type", "error_type"))
STOOD_DOWN: Final = Declared(f"{_OURS}stood_down", COUNTER, "Passes given up after leadership or the namespace was lost")
OBJECTS: Final = Declared(f"{_REFERENCE}resources_total", GAUGE, "Objects by state", ("resource_type", "status"))
LEADING: Final = Declared(f"{_OURS}leading", GAUGE, "1 if this reconciler holds the Lease")
DEPTH: Final = Declared(f"{_OURS}queue_depth", GAUGE, "Waiting objects")
EXCLUDED: Final = Declared(f"{_OURS}excluded_namespaces", GAUGE, "Namespaces that other operators have claimed")
UNREADABLE: Final = Declared(f"{_OURS}unreadable_kinds", GAUGE, "Kinds that may not be read, and missing definitions")
DECLARED: Final = (DURATION, PASSES, ERRORS, STOOD_DOWN, OBJECTS, LEADING, DEPTH, EXCLUDED, UNREADABLE)
# kind; result of a pass, class of an error or state of an object; the namespace if that is a label
Label: TypeAlias = tuple[str, ...]


class Gauges(NamedTuple):
    """The gauges of a scrape."""

    leading: bool
    queued: Mapping[str, int]  # by kind, all kinds
    turns: QueueStatistics  # of the queue
    workers: int
    excluded_namespaces: int
    unreadable_kinds: int


@dataclass(slots=True)
class Meters:
    """Counts of one process."""

    namespaces: bool = False  # whether a namespace is a label
    passes: dict[Label, list[float]] = field(default_factory=dict)
    errors: Counter[Label] = field(default_factory=Counter)
    stood_down: int = 0
    terminal: Counter[str] = field(default_factory=Counter)  # by kind: passes that ended in a permanent error
    panics: Counter[str] = field(default_factory=Counter)  # by kind: passes that ended in an internal error

    def label(self, kind: str, result: str, namespace: str) -> Label:
        """The labels of an object's series."""
        return (kind, result, namespace) if self.namespaces else (kind, result)

    def passed(self, label: Label, seconds: float) -> None:
        """Counts one pass."""
        observe(self.passes, label, BUCKETS, seconds)

    def text(self, objects: Mapping[Label, int], standing: Gauges) -> bytes:
        """All metrics in Prometheus text format, with counts of objects."""
        return export(
            chain(
                self._own(objects, standing),
                controller_runtime.passes(self.passes, self.terminal, self.panics, standing.queued),
                controller_runtime.queue(standing.queued, standing.turns, standing.workers),
            )
        )

    def _own(self, objects: Mapping[Label, int], standing: Gauges) -> Iterator[tuple[Declared, Values]]:
        own: tuple[tuple[Declared, Values], ...] = (
            (DURATION, self.passes),
            (PASSES, {label: count_of(series) for label, series in self.passes.items()}),
            (ERRORS, self.errors),
            (STOOD_DOWN, {(): self.stood_down}),
            (OBJECTS, objects),
            (LEADING, {(): standing.leading}),
            (DEPTH, {(): sum(standing.queued.values())}),
            (EXCLUDED, {(): standing.excluded_namespaces}),
            (UNREADABLE, {(): standing.unreadable_kinds}),
        )
        for declared, values in own:
            names = declared.labels
            yield declared._replace(labels=(*names, NAMESPACE)) if names and self.namespaces else declared, values
