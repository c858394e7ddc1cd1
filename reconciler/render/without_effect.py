"""Fields that users may write and nothing here acts on: told, so that none is dropped in silence. Cost: a look at each component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.paths import MISSING, Key, lookup, render
from dynamo_webhooks.reconciler.render.graph import experimental
from dynamo_webhooks.reconciler.render.kv_transfer import asked_topology
from dynamo_webhooks.reconciler.render.names import ENABLE_GROVE, WORKLOAD_PROVIDER, provided_by_grove

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph

_OFF_GROVE: Final = "has no effect: only Grove acts on it, and the graph does not run on Grove"
_ALONE: Final = "has no effect: only Grove acts on it, which runs no standalone component"
_VERSION: Final = "has no effect: nothing that is rendered depends on the version of the runtime"
# places below a component that only Grove acts on
_OF_GROVE: Final[tuple[Path, ...]] = (
    ("minAvailable",),
    ("providerOverride",),
    ("topologyConstraint",),
    ("multinode", "leader", "providerOverride"),
    ("multinode", "worker", "providerOverride"),
    ("experimental", "grove", "forceScalingGroup"),
)


class Note(NamedTuple):
    """One field without effect; `path` is in the v1beta1 object."""

    path: Path
    reason: str

    def __str__(self) -> str:
        """The note as a sentence about the field."""
        return f"{render(self.path)}: {self.reason}"


def of_graph(graph: Graph, *, grove: bool) -> list[Note]:
    """The fields of a graph without effect; `grove` is whether it runs there."""
    return [*_of_whole(graph, grove=grove), *(note for one in graph.members for note in _of(one.fields, one.path, _OFF_GROVE, grove=grove))]


def of_component(spec: Fields) -> list[Note]:
    """The fields of a standalone component without effect."""
    notes = [*_of(spec, ("spec",), _ALONE, grove=False)]
    wanted = experimental(spec, "checkpoint") or {}
    if wanted.get("identity") and wanted.get("deletionPolicy") == "Delete":
        reason = "has no effect: a standalone component makes no checkpoint, so that none goes with it"
        notes.append(Note(("spec", "experimental", "checkpoint", "deletionPolicy"), reason))
    return notes


def _of_whole(graph: Graph, *, grove: bool) -> Iterator[Note]:
    said = graph.annotations.get(ENABLE_GROVE, "").lower()
    remembered = provided_by_grove(graph.annotations)
    if remembered is not None and said in ("true", "false") and remembered is not (said == "true"):
        yield Note(("metadata", "annotations", Key(ENABLE_GROVE)), f"has no effect: {WORKLOAD_PROVIDER} decides")
    for name in () if grove else ("providerOverride", "topologyConstraint"):
        if graph.spec.get(name) is not None:
            yield Note(("spec", name), _OFF_GROVE)
    name, domain = asked_topology(graph.object)
    if name:
        unknown = f'has no effect: no ClusterTopologyBinding "{name[:80]}" with the domain "{domain[:80]}" is known'
        yield Note(("spec", "experimental", "kvTransferPolicy", "clusterTopologyName"), unknown if grove else _OFF_GROVE)


def _of(fields: Fields, path: Path, why: str, *, grove: bool) -> Iterator[Note]:
    if fields.get("runtimeVersionOverride"):
        yield Note((*path, "runtimeVersionOverride"), _VERSION)
    wanted = experimental(fields, "checkpoint")
    if wanted is not None and not wanted.get("checkpointRef") and not wanted.get("identity"):
        reason = "has no effect: neither checkpointRef nor identity says which checkpoint"
        yield Note((*path, "experimental", "checkpoint"), reason)
    for steps in () if grove else _OF_GROVE:
        if lookup(fields, steps) not in (MISSING, None, False):
            yield Note((*path, *steps), why)
