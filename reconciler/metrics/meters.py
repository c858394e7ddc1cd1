"""The reconciler's metrics, with the names of the Go operator's dashboards: passes, and objects by state."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ...kube.metrics import COUNTER, GAUGE, HISTOGRAM, MetricSpec, Values, count_of, export, observe
from ..common.conditions import is_true
from ..common.resources import ADAPTER, CHECKPOINT, COMPONENT, GRAPH, MODEL, REQUESTS
from . import controller_runtime
from .controller_runtime import BUCKETS, QueueStatistics

if TYPE_CHECKING:
    from ...kube.protocol import Node


_REFERENCE: Final = "dynamo_operator_"
_OURS: Final = "dynamo_webhooks_reconciler_"
NAMESPACE: Final = "namespace"
# The namespace is the last label of each metric with labels if configured, because it multiplies series.
DURATION: Final = MetricSpec(f"{_REFERENCE}reconcile_duration_seconds", HISTOGRAM, "Time of a pass", ("resource_type", "result"), BUCKETS)
PASSES: Final = MetricSpec(f"{_REFERENCE}reconcile", COUNTER, "Passes; `requeue` without a change", ("resource_type", "result"))
ERRORS: Final = MetricSpec(
    f"{_REFERENCE}reconcile_errors", COUNTER, "Failed passes, by class of the error", ("resource_type", "error_type")
)
STOOD_DOWN: Final = MetricSpec(f"{_OURS}stood_down", COUNTER, "Passes given up after leadership or the namespace was lost")
OBJECTS: Final = MetricSpec(f"{_REFERENCE}resources_total", GAUGE, "Objects by state", ("resource_type", "status"))
LEADING: Final = MetricSpec(f"{_OURS}leading", GAUGE, "1 if this reconciler holds the Lease")
DEPTH: Final = MetricSpec(f"{_OURS}queue_depth", GAUGE, "Waiting objects")
EXCLUDED: Final = MetricSpec(f"{_OURS}excluded_namespaces", GAUGE, "Namespaces that other operators have claimed")
UNREADABLE: Final = MetricSpec(f"{_OURS}unreadable_kinds", GAUGE, "Kinds that may not be read, and missing definitions")
DECLARED: Final = (DURATION, PASSES, ERRORS, STOOD_DOWN, OBJECTS, LEADING, DEPTH, EXCLUDED, UNREADABLE)
# kind; result of a pass, class of an error or state of an object; the namespace if that is a label
Label: TypeAlias = tuple[str, ...]
FAILED: Final = "Failed"
_PORTION_OBJECTS: Final = 1000  # that are counted without a pause, in some milliseconds
_PHASED: Final = (CHECKPOINT, REQUESTS.kind)  # whose status has a phase


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

    def count_pass(self, label: Label, seconds: float) -> None:
        """Counts one pass."""
        observe(self.passes, label, BUCKETS, seconds)

    def export_text(self, objects: Mapping[Label, int], gauges: Gauges) -> bytes:
        """All metrics in Prometheus text format, with counts of objects."""
        return export(
            chain(
                self._own(objects, gauges),
                controller_runtime.export_passes(self.passes, self.terminal, self.panics, gauges.queued),
                controller_runtime.export_queue(gauges.queued, gauges.turns, gauges.workers),
            )
        )

    def _own(self, objects: Mapping[Label, int], gauges: Gauges) -> Iterator[tuple[MetricSpec, Values]]:
        own: tuple[tuple[MetricSpec, Values], ...] = (
            (DURATION, self.passes),
            (PASSES, {label: count_of(series) for label, series in self.passes.items()}),
            (ERRORS, self.errors),
            (STOOD_DOWN, {(): self.stood_down}),
            (OBJECTS, objects),
            (LEADING, {(): gauges.leading}),
            (DEPTH, {(): sum(gauges.queued.values())}),
            (EXCLUDED, {(): gauges.excluded_namespaces}),
            (UNREADABLE, {(): gauges.unreadable_kinds}),
        )
        for declared, values in own:
            names = declared.labels
            yield declared._replace(labels=(*names, NAMESPACE)) if names and self.namespaces else declared, values


async def count_objects(list_objects: Callable[[str], Iterable[Node]], meters: Meters) -> dict[Label, int]:
    """Counts objects of the reconciled kinds by kind and state, and by namespace where that is a label. Other tasks get turns meanwhile."""
    counts: Counter[Label] = Counter()
    if not meters.namespaces:  # shown from the start: a series that begins at 1 is no increase
        counts.update({meters.label(kind, FAILED, ""): 0 for kind in _PHASED})
    for kind in (GRAPH, COMPONENT, ADAPTER, MODEL, *_PHASED):
        for number, obj in enumerate(list_objects(kind), 1):
            if number % _PORTION_OBJECTS == 0:
                await asyncio.sleep(0)
            counts[meters.label(kind, _state(kind, obj), obj["metadata"]["namespace"])] += 1
    return dict(counts)


def _state(kind: str, obj: Node) -> str:
    status = obj.get("status") or {}
    if kind == GRAPH:
        return str(status.get("state") or "initializing")
    if kind == ADAPTER:
        return "ready" if status.get("replicas") == (obj.get("spec") or {}).get("replicas") else "not_ready"
    if kind in _PHASED:
        return str(status.get("phase") or "Pending")
    return "ready" if is_true(status, "Ready" if kind == MODEL else "Available") else "not_ready"
