"""What the reconciler counts, under the names that the Go operator's dashboards read, and its gauges. Reads no object itself."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    _Series = Iterable[tuple[tuple[str, ...], float]]

_Label = TypeVar("_Label", bound=tuple[str, ...])
_Declared: TypeAlias = tuple[str, tuple[str, ...], str]  # name, labels, help
_REFERENCE: Final = "dynamo_operator_"
_FRAMEWORK: Final = "controller_runtime_reconcile"
_OURS: Final = "dynamo_webhooks_reconciler_"
NAMESPACE: Final = "namespace"
# name -> (labels, help); a namespace is the last label where the configuration says so: a cluster with many pays for it with every scrape
DURATION: Final[_Declared] = (f"{_REFERENCE}reconcile_duration_seconds", ("resource_type", "result"), "Time of one pass over an object")
COUNTERS: Final = {
    f"{_REFERENCE}reconcile": (("resource_type", "result"), "Passes over objects; `requeue` looks again although nothing changed"),
    f"{_REFERENCE}reconcile_errors": (("resource_type", "error_type"), "Passes that ended in an error, by its class"),
    f"{_OURS}stood_down": ((), "Passes given up because we may not write there any more"),
}
# what the Go operator's framework counts beside it, of the same passes; a controller is called after its kind, in lower case
PASSES: Final[_Declared] = (_FRAMEWORK, ("controller", "result"), "The same passes; `requeue_after` looks again although nothing changed")
FAILURES: Final[_Declared] = (f"{_FRAMEWORK}_errors", ("controller",), "Those of them that ended in an error")
TIMES: Final[_Declared] = (f"{_FRAMEWORK}_time_seconds", ("controller",), "Time of one of them")
DEPTH: Final[_Declared] = ("workqueue_depth", ("name", "controller"), "Objects that wait to be passed over")
RESULTS: Final = {"requeue": "requeue_after"}  # our word -> the framework's, where they differ
GAUGES: Final = {
    f"{_REFERENCE}resources_total": (("resource_type", "status"), "Objects by their state"),
    f"{_OURS}leading": ((), "1 when this reconciler holds the Lease"),
    f"{_OURS}queue_depth": ((), "Objects that wait to be passed over"),
    f"{_OURS}excluded_namespaces": ((), "Namespaces that another operator has claimed"),
    f"{_OURS}unreadable_kinds": ((), "Kinds that may not be read, and definitions of ours that are missing"),
}
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds


class Label(NamedTuple):
    """What series are told apart by."""

    kind: str
    result: str  # success, error or requeue; of errors the class; of objects their state
    namespace: str = ""  # empty unless it is a label, so that series don't grow with namespaces


class Standing(NamedTuple):
    """The gauges of a scrape."""

    leading: bool
    queued: Mapping[str, int]  # by kind
    excluded_namespaces: int
    unreadable_kinds: int


@dataclass(slots=True)
class Meters:
    """Counts of one process."""

    namespaces: bool = False  # whether a namespace is a label
    passes: dict[Label, list[float]] = field(default_factory=dict)  # seconds, then one count a bucket
    errors: Counter[Label] = field(default_factory=Counter)
    stood_down: int = 0

    def label(self, kind: str, result: str, namespace: str) -> Label:
        """What an object's series are told apart by."""
        return Label(kind, result, namespace if self.namespaces else "")

    def passed(self, label: Label, seconds: float) -> None:
        """Counts one pass."""
        series = self.passes.setdefault(label, [0.0] * (len(BUCKETS) + 2))
        series[0] += seconds
        series[1 + bisect_left(BUCKETS, seconds)] += 1

    def text(self, objects: Mapping[Label, int], standing: Standing) -> bytes:
        """All metrics in the Prometheus text format, with how many objects there are."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Export(self, objects, standing))
        return generate_latest(registry)


class _Export(Collector):
    """One scrape."""

    def __init__(self, meters: Meters, objects: Mapping[Label, int], standing: Standing) -> None:
        self._meters, self._objects, self._standing = meters, objects, standing

    def collect(self) -> Iterator[Metric]:
        passes, standing = self._meters.passes, self._standing
        totals = {label: sum(series[1:]) for label, series in passes.items()}
        name, names, text = DURATION
        yield _spread((name, self._told(names), text), passes)
        counted: list[_Series] = [totals.items(), self._meters.errors.items(), [((), self._meters.stood_down)]]
        for (called, (names, text)), values in zip(COUNTERS.items(), counted, strict=True):
            yield _filled(CounterMetricFamily(called, text, labels=self._told(names)), self._told(names), values)
        depth = sum(standing.queued.values())
        bare = (standing.leading, depth, standing.excluded_namespaces, standing.unreadable_kinds)
        measured: list[_Series] = [self._objects.items(), *([((), float(value))] for value in bare)]
        for (called, (names, text)), values in zip(GAUGES.items(), measured, strict=True):
            yield _filled(GaugeMetricFamily(called, text, labels=self._told(names)), self._told(names), values)
        yield from self._framework(totals)

    def _told(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The labels of a metric about objects of some namespace, of others as they are."""
        return (*names, NAMESPACE) if names and self._meters.namespaces else names

    def _framework(self, totals: Mapping[Label, float]) -> Iterator[Metric]:
        """The same once more, as the Go operator's framework tells it."""
        results: Counter[tuple[str, ...]] = Counter()
        failed: Counter[tuple[str, ...]] = Counter()
        for label, total in totals.items():
            results[label.kind.lower(), RESULTS.get(label.result, label.result)] += int(total)
            if label.result == "error":
                failed[label.kind.lower(),] += int(total)
        for (called, names, text), counts in ((PASSES, results), (FAILURES, failed)):
            yield _filled(CounterMetricFamily(called, text, labels=names), names, counts.items())
        times: dict[tuple[str], list[float]] = {}
        for label, series in self._meters.passes.items():
            known = times.setdefault((label.kind.lower(),), [0.0] * len(series))
            known[:] = [a + b for a, b in zip(known, series, strict=True)]
        yield _spread(TIMES, times)
        called, names, text = DEPTH
        queued = [((kind.lower(), kind.lower()), float(count)) for kind, count in self._standing.queued.items()]
        yield _filled(GaugeMetricFamily(called, text, labels=names), names, queued)


def _filled(family: CounterMetricFamily | GaugeMetricFamily, names: tuple[str, ...], values: _Series) -> Metric:
    for told, value in values:
        family.add_metric([*told][: len(names)], value)
    return family


def _spread(declared: _Declared, groups: Mapping[_Label, list[float]]) -> Metric:
    """A histogram of series that hold the sum, then one count a bucket."""
    name, labels, text = declared
    family = HistogramMetricFamily(name, text, labels=labels)
    bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
    for label, series in groups.items():
        family.add_metric([*label][: len(labels)], list(zip(bounds, accumulate(series[1:]), strict=True)), series[0])
    return family
