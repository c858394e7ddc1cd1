"""Metrics of a provisioner; report.py computes the gauges."""

from collections import Counter
from typing import Final

from ..kube.metrics import COUNTER, GAUGE, MetricSpec, Values, export

# by name without the prefix
DECLARED: Final = {
    each.name: each._replace(name=f"dynamo_webhooks_{each.name}")
    for each in (
        MetricSpec("provisioner_leading", GAUGE, "1 if this provisioner holds the Lease; only then it has the other gauges"),
        MetricSpec("ca_not_after_seconds", GAUGE, "End of an authority, as Unix time", ("generation",)),
        MetricSpec("leaf_not_after_seconds", GAUGE, "End of the serving certificate, as Unix time"),
        MetricSpec("rotation_phase", GAUGE, "1 for the current phase", ("phase",)),
        MetricSpec("trust_in_sync", GAUGE, "1 if a configuration object has the right bundle", ("kind", "name")),
        MetricSpec("trust_mismatch", GAUGE, "1 if a configuration object exists and has another bundle", ("kind", "name")),
        MetricSpec("endpoint_leaf_in_sync", GAUGE, "1 if an endpoint presents the newest certificate", ("address",)),
        MetricSpec("clock_skew_seconds", GAUGE, "The provisioner's clock minus the API server's"),
        MetricSpec("expected_objects_missing", GAUGE, "1 if a configuration object is missing", ("kind", "name")),
        MetricSpec("roll_stuck", GAUGE, "1 if a rotation waits too long for objects or endpoints"),
        MetricSpec("probe_unavailable", GAUGE, "1 if no endpoint can be probed"),
        MetricSpec("secret_conflicts", COUNTER, "Writes that conflicted with another"),
        MetricSpec("bundle_writes", COUNTER, "Bundles written; `reason` is bootstrap, rotation or drift", ("kind", "name", "reason")),
        MetricSpec("leaf_issued", COUNTER, "Serving certificates issued", ("reason",)),
        MetricSpec("rotations", COUNTER, "Rotations of the authority", ("reason", "result")),
    )
}


class Meters:
    """Counts of one process, and the gauges of its last look."""

    def __init__(self) -> None:
        self._counts = {name: Counter[tuple[str, ...]]() for name, each in DECLARED.items() if each.type == COUNTER}
        self._counts["secret_conflicts"][()] = 0
        self.gauges: dict[str, dict[tuple[str, ...], float]] = {}
        self.leading = False

    def count(self, name: str, *labels: str) -> None:
        """Adds one to a counter."""
        self._counts[name][labels] += 1

    def text(self) -> bytes:
        """All metrics in the Prometheus text format. A gauge that has no value now is absent, not zero."""
        values: dict[str, Values] = {**self._counts, "provisioner_leading": {(): self.leading}}
        values |= {name: each for name, each in self.gauges.items() if each and self.leading}
        return export((DECLARED[name], each) for name, each in values.items())
