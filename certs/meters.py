"""The provisioner's counters, and its metrics in Prometheus format. report.py computes the gauges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.certs.report import Gauge

PREFIX: Final = "dynamo_webhooks_"
# by name without the prefix: labels and help
GAUGES: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "provisioner_leading": ((), "1 if this provisioner holds the Lease; only then it has the other gauges"),
    "ca_not_after_seconds": (("generation",), "End of an authority, as Unix time"),
    "leaf_not_after_seconds": ((), "End of the serving certificate, as Unix time"),
    "rotation_phase": (("phase",), "1 for the current phase"),
    "trust_in_sync": (("kind", "name"), "1 if a configuration object has the right bundle"),
    "trust_mismatch": (("kind", "name"), "1 if a configuration object exists and has another bundle"),
    "endpoint_leaf_in_sync": (("address",), "1 if an endpoint presents the newest certificate"),
    "clock_skew_seconds": ((), "The provisioner's clock minus the API server's"),
    "expected_objects_missing": (("kind", "name"), "1 if a configuration object is missing"),
    "roll_stuck": ((), "1 if a rotation waits too long for objects or endpoints"),
    "probe_unavailable": ((), "1 if no endpoint can be probed"),
}
COUNTERS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "secret_conflicts": ((), "Writes that conflicted with another"),
    "bundle_writes": (("kind", "name", "reason"), "Bundles written; `reason` is bootstrap, rotation or drift"),
    "leaf_issued": (("reason",), "Serving certificates issued"),
    "rotations": (("reason", "result"), "Rotations of the authority"),
}


disable_created_metrics()  # type: ignore[no-untyped-call]  # times at which counters began are not documented, and not printed


class Meters(Collector):
    """Counts of one process, and the gauges of its last look."""

    def __init__(self) -> None:
        """Everything is zero."""
        self._registry = CollectorRegistry(auto_describe=False)
        self.conflicts, self.bundles, self.leaves, self.rotations = (
            Counter(PREFIX + name, text, labels, registry=self._registry) for name, (labels, text) in COUNTERS.items()
        )
        self._registry.register(self)
        self.gauges: tuple[Gauge, ...] = ()
        self.leading = False

    def text(self) -> bytes:
        """All metrics in the Prometheus text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The gauges, made anew for each scrape: one that has no value now must be absent, not zero."""
        yield GaugeMetricFamily(f"{PREFIX}provisioner_leading", GAUGES["provisioner_leading"][1], value=float(self.leading))
        families: dict[str, GaugeMetricFamily] = {}
        for gauge in self.gauges if self.leading else ():
            labels, text = GAUGES[gauge.name]
            family = families.setdefault(gauge.name, GaugeMetricFamily(PREFIX + gauge.name, text, labels=labels))
            values = dict(gauge.labels)
            family.add_metric([values[label] for label in labels], gauge.value)
        yield from families.values()
