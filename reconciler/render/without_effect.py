"""Lists fields that users may write and nothing here acts on, so that they can be reported. Cost: a look at each component."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ...api.line import Line
from ...api.paths import MISSING, Key, Path, format_path, lookup
from ...conversion.lens.protocol import Fields
from ...policies.engines import list_templates
from ...policies.no_effect import list_ignored, list_ignored_of, list_ignored_of_service
from .graph import Graph, Member, read_experimental
from .grove.member import list_unused_schedulers
from .kv_transfer import read_topology
from .names import ENABLE_GROVE, LEADER, WORKER, WORKERS, WORKLOAD_PROVIDER, is_provided_by_grove
from .settings import Settings
from .template import select_role

_OFF_GROVE: Final = "has no effect: only Grove acts on it, and the graph does not run on Grove"
_ALONE: Final = "has no effect: only Grove acts on it, which runs no standalone component"
_VERSION: Final = "has no effect: only workers use it, since operator 1.5"
_CAPTURE: Final = "has no effect: only the Go operator takes snapshots by SnapshotJobs, whose fields are not known here; pods start cold"
_RESTORED: Final = "has no effect: only the Go operator restores pods from PodSnapshots, whose status is not known here; pods start cold"
_ROLES: Final = "has no effect: nothing that is rendered depends on roles without templates, but for their providerOverride, on Grove"
# places below a component that only Grove acts on
_OF_GROVE: Final[tuple[Path, ...]] = (
    *((name,) for name in ("minAvailable", "providerOverride", "topologyConstraint")),
    ("experimental", "grove", "forceScalingGroup"),
)


def explain_cold_start(wanted: Fields) -> str:
    """Explain why nothing comes of a checkpoint since line 1.5."""
    return _RESTORED if wanted.get("checkpointRef") else _CAPTURE


class Note(NamedTuple):
    """One field without effect; `path` is in the v1beta1 object."""

    path: Path
    reason: str

    def __str__(self) -> str:
        """The note as a sentence about the field."""
        return f"{format_path(self.path)}: {self.reason}"


def list_graph_notes(graph: Graph, *, grove: bool, settings: Settings) -> list[Note]:
    """The fields of a graph without effect; `grove` is whether it runs there."""
    notes = [
        *_of_whole(graph, settings, grove=grove),
        *(note for member in graph.members for note in _of(member.fields, member.path, _OFF_GROVE, settings, grove=grove)),
    ]
    notes += [Note(member.path, "is not run: only the Go operator 1.6 runs components of type lpx") for member in graph.idle]
    spec = {**graph.spec, "components": [member.fields for member in graph.members]}
    notes += [Note(*field) for field in list_ignored({**graph.object, "spec": spec}, graph.line, grove=grove)]
    if grove:
        pods = [select_role(member.fields, role) for member in graph.members for role in (LEADER, WORKER)]
        unused = list_unused_schedulers(graph.annotations, pods, settings)
        notes += [Note(("metadata", "annotations", Key(name)), why) for name, why in unused]
    return [*notes, *(note for member in graph.members for note in _of_alpha(member, grove=grove))]


def list_component_notes(spec: Fields, alpha: Fields, settings: Settings) -> list[Note]:
    """The fields of a standalone component without effect; `alpha` is its spec in v1alpha1."""
    path: Path = ("spec",)
    ignored = (*list_ignored_of(spec, path, grove=False), *list_ignored_of_service(alpha, path, grove=False, alone=True))
    notes = [*_of(spec, path, _ALONE, settings, grove=False), *(Note(*field) for field in ignored)]
    wanted = read_experimental(spec, "checkpoint") or {}
    unmade = [name for name in ("job", "deletionPolicy") if wanted.get("identity") and wanted.get(name) not in (None, {}, "Retain")]
    notes += [
        Note((*path, "experimental", "checkpoint", name), "has no effect: a standalone component makes no checkpoint") for name in unmade
    ]
    if spec.get("scalingAdapter") is not None:
        notes.append(Note((*path, "scalingAdapter"), "has no effect: only components of graphs have scaling adapters"))
    if (block := read_experimental(spec, "gpuMemoryService")) is not None and block.get("deviceClassName"):
        why = "has no effect: you must create the ResourceClaimTemplate of a standalone component's pods yourself"
        notes.append(Note((*path, "experimental", "gpuMemoryService", "deviceClassName"), why))
    return notes


def _of_alpha(member: Member, *, grove: bool) -> Iterator[Note]:
    """Yield the notes on fields without effect that only v1alpha1 has, by their paths there."""
    path: Path = ("spec", "services", Key(member.name))
    if member.alpha.get("autoscaling") is not None:
        yield Note((*path, "autoscaling"), "has no effect: use scalingAdapter")
    if grove and member.alpha.get("dynamoNamespace"):
        yield Note((*path, "dynamoNamespace"), "has no effect: the namespace follows from the graph")
    yield from (Note(*field) for field in list_ignored_of_service(member.alpha, path, grove=grove))


def _of_whole(graph: Graph, settings: Settings, *, grove: bool) -> Iterator[Note]:
    switch = graph.annotations.get(ENABLE_GROVE, "").lower()
    remembered = is_provided_by_grove(graph.annotations)
    if remembered is not None and switch in ("true", "false") and remembered is not (switch == "true"):
        yield Note(("metadata", "annotations", Key(ENABLE_GROVE)), f"has no effect: {WORKLOAD_PROVIDER} decides")
    if grove and not settings.packs_by_name and (graph.spec.get("topologyConstraint") or {}).get("clusterTopologyName"):
        why = "has no effect on placement: Grove packs by the topology that it is configured with; the name is checked at creation only"
        yield Note(("spec", "topologyConstraint", "clusterTopologyName"), why)
    for name in () if grove else ("providerOverride", "topologyConstraint"):
        if graph.spec.get(name) is not None:
            yield Note(("spec", name), _OFF_GROVE)
    name, domain = read_topology(graph.object)
    if name:
        unknown = f'has no effect: no ClusterTopologyBinding "{name[:80]}" with the domain "{domain[:80]}" is known'
        yield Note(("spec", "experimental", "kvTransferPolicy", "clusterTopologyName"), unknown if grove else _OFF_GROVE)


def _of(fields: Fields, path: Path, why: str, settings: Settings, *, grove: bool) -> Iterator[Note]:
    if fields.get("runtimeVersionOverride") and not (settings.line >= Line.V1_5 and fields.get("type") in WORKERS):
        yield Note((*path, "runtimeVersionOverride"), _VERSION)
    roles = fields.get("roles")
    if roles and not list_templates(fields) and not (grove and any((role or {}).get("providerOverride") is not None for role in roles)):
        yield Note((*path, "roles"), _ROLES)
    wanted = read_experimental(fields, "checkpoint")
    if wanted is not None and settings.pod_snapshots:
        yield Note((*path, "experimental", "checkpoint"), explain_cold_start(wanted))
    elif wanted is not None and not wanted.get("checkpointRef") and not wanted.get("identity"):
        reason = "has no effect: neither checkpointRef nor identity says which checkpoint"
        yield Note((*path, "experimental", "checkpoint"), reason)
    for steps in () if grove else _OF_GROVE:
        if lookup(fields, steps) not in (MISSING, None, False):
            yield Note((*path, *steps), why)
