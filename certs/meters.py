"""What the provisioner counts, and its metrics as Prometheus reads them. The values that follow from facts alone are report.py's."""

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
