"""Series of one metric: observed values in buckets, and their Prometheus form."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from prometheus_client.core import HistogramMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

    Series = Iterable[tuple[tuple[str, ...], float]]

_Label = TypeVar("_Label", bound=tuple[str, ...])
Declared: TypeAlias = tuple[str, tuple[str, ...], str]  # name, labels, help
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds


class Label(NamedTuple):
    """The labels of a series."""

    kind: str
    result: str  # success, error or requeue; class of an error; state of an object
    namespace: str = ""  # empty unless it is a label


def observe(groups: dict[_Label, list[float]], label: _Label, seconds: float) -> None:
    """Count one value: a series is the sum, then one count for each bucket and one beyond."""
    series = groups.setdefault(label, [0.0] * (len(BUCKETS) + 2))
    series[0] += seconds
    series[1 + bisect_left(BUCKETS, seconds)] += 1


def filled(family: CounterMetricFamily | GaugeMetricFamily, names: tuple[str, ...], values: Series) -> Metric:
    """One value for each label, shortened to the parts in `names`."""
    for told, value in values:
        family.add_metric([*told][: len(names)], value)
    return family


def spread(declared: Declared, groups: Mapping[_Label, list[float]]) -> Metric:
    """A histogram of observed values."""
    name, labels, text = declared
    family = HistogramMetricFamily(name, text, labels=labels)
    bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
    for label, series in groups.items():
        family.add_metric([*label][: len(labels)], list(zip(bounds, accumulate(series[1:]), strict=True)), series[0])
    return family
