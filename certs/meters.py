"""What the provisioner counts, and its metrics as Prometheus reads them. The values that follow from facts alone are report.py's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dynamo_webhooks.certs.report import Gauge

_Labels = TypeVar("_Labels", bound=tuple[str, ...])
PREFIX: Final = "dynamo_webhooks_"
# by name without the prefix: labels and help
GAUGES: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "provisioner_leading": ((), "1 when this provisioner holds the Lease; only then are the other gauges there"),
    "ca_not_after_seconds": (("generation",), "End of an authority, as Unix time"),
    "leaf_not_after_seconds": ((), "End of the serving certificate, as Unix time"),
    "rotation_phase": (("phase",), "1 for the phase that the certificates are in"),
    "trust_in_sync": (("kind", "name"), "1 when a configuration object shows the bundle that it must"),
    "trust_mismatch": (("kind", "name"), "1 when a configuration object is there and shows another bundle than it must"),
    "endpoint_leaf_in_sync": (("address",), "1 when an endpoint presents the newest certificate"),
    "clock_skew_seconds": ((), "Our clock minus the API server's"),
    "expected_objects_missing": (("kind", "name"), "1 when a configuration object that must trust us is not there"),
    "roll_stuck": ((), "1 when a rotation has waited too long for objects or endpoints"),
    "probe_unavailable": ((), "1 when no endpoint can be asked for its certificate"),
}
COUNTERS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "secret_conflicts": ((), "Writes that met somebody else's write"),
    "bundle_writes": (("kind", "name", "reason"), "Bundles written"),
    "leaf_issued": (("reason",), "Serving certificates issued"),
    "rotations": (("reason", "result"), "Rotations of the authority"),
}


@dataclass(slots=True)
class Meters:
    """Counts of one process, and the gauges of its last look."""

    conflicts: int = 0
    bundles: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # kind, name, reason
    leaves: Counter[str] = field(default_factory=Counter)  # reason
    rotations: Counter[tuple[str, str]] = field(default_factory=Counter)  # reason, result
    gauges: tuple[Gauge, ...] = ()
    leading: bool = False

    def text(self) -> bytes:
        """All metrics in the Prometheus text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Export(self))
        return generate_latest(registry)


class _Export(Collector):
    """One scrape."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters

    def collect(self) -> Iterator[Metric]:
        meters = self._meters
        yield GaugeMetricFamily(f"{PREFIX}provisioner_leading", GAUGES["provisioner_leading"][1], value=float(meters.leading))
        families: dict[str, GaugeMetricFamily] = {}
        for gauge in meters.gauges if meters.leading else ():
            labels, text = GAUGES[gauge.name]
            family = families.setdefault(gauge.name, GaugeMetricFamily(PREFIX + gauge.name, text, labels=labels))
            values = dict(gauge.labels)
            family.add_metric([values[label] for label in labels], gauge.value)
        yield from families.values()
        yield _counted("secret_conflicts", {(): meters.conflicts})
        yield _counted("bundle_writes", meters.bundles)
        yield _counted("leaf_issued", {(reason,): count for reason, count in meters.leaves.items()})
        yield _counted("rotations", meters.rotations)


def _counted(name: str, counts: Mapping[_Labels, int]) -> Metric:
    labels, text = COUNTERS[name]
    family = CounterMetricFamily(PREFIX + name, text, labels=labels)
    for values, count in counts.items():
        family.add_metric(list(values), count)
    return family
