"""From which snapshots pods are restored, and which checkpoints are not made, by what is held beside an object. Pure; for `render`."""

from collections.abc import Mapping
from typing import NamedTuple

from ...conversion.lens.protocol import Fields
from ..render.checkpoint import storage
from ..render.checkpoint.identity import identity_hash, read_identity_hash
from ..render.checkpoint.restore import Restore
from ..render.children import CHECKPOINT, COMPONENT, GRAPH, direct_children
from ..render.errors import RenderError
from ..render.graph import NEW, WAIT, convert_for_render, experimental, read_graph, says_which
from ..render.merge import object_items, string_map
from ..render.names import PART
from ..render.observed import NOTHING, Held, Observed
from ..render.settings import Checkpoints, Settings
from ..render.workload import read_graph_label
from .restore_condition import ANY_IMAGE, describe_waiting, find_hindrance, make_restore


class Start(NamedTuple):
    """How the pods of a component start."""

    restore: Restore | None = None  # the snapshot that they begin with; None where they start cold
    waits: bool = False  # whether there are none until their checkpoint is ready


def observe_offline(obj: Fields, held: Held, settings: Settings) -> Observed:
    """What a graph or component would find, which has no pods yet. Costs one more render of a graph where checkpoints matter.

    Raises: RenderError where component, checkpoint and configuration contradict each other, or a part can't be rendered.
    """
    namespace = str(obj["metadata"]["namespace"])
    if obj.get("kind") == COMPONENT:
        name = str(obj["metadata"]["name"])
        left = frozenset({name}) if held.get(GRAPH, namespace, read_graph_label(obj)) is not None else frozenset()
        return _noted(
            {name: start_of(convert_for_render(obj, NEW._replace(line=settings.line)), held, settings)}, NOTHING._replace(left=left)
        )
    if obj.get("kind") != GRAPH or settings.pod_snapshots or not (held.all(CHECKPOINT, namespace) or _mentions_waiting(obj)):
        return NOTHING
    graph = read_graph(obj, settings.line)
    known = {one.name for one in graph.members if (wanted := experimental(one.fields, "checkpoint")) and _found(wanted, held, namespace)}
    observed = NOTHING._replace(checkpoints=frozenset(known))
    objects = {one["metadata"]["name"]: one for one in direct_children(obj, settings, observed).children if one["kind"] == COMPONENT}
    objects = objects or {one.name: {**obj, "spec": {**one.fields, "name": one.name}} for one in graph.members}
    marks, paths = string_map(obj["metadata"].get("annotations")), {one.name: one.path for one in graph.members}
    starts = {}
    for name, one in objects.items():
        try:
            starts[name] = start_of(one, held, settings, marks)
        except RenderError as error:
            raise RenderError((*paths[one["spec"]["name"]], *error.path[1:]), error.reason) from None
    return _noted(starts, observed)


def start_of(component: Fields, held: Held, settings: Settings, marks: dict[str, str] | None = None) -> Start:
    """How the pods of a component start. Raises: RenderError."""
    wanted = experimental(component.get("spec") or {}, "checkpoint")
    if wanted is None or settings.pod_snapshots or not says_which(wanted, ("spec", "experimental", "checkpoint"), settings.line):
        return Start()
    namespace, asked = str(component["metadata"]["namespace"]), settings.checkpoints
    checkpoint = _found(wanted, held, namespace)
    annotations = {**(marks or {}), **string_map(component["metadata"].get("annotations"))}
    hindered = find_hindrance(checkpoint, component["spec"], asked, any_image=annotations.get(ANY_IMAGE) == "true")
    if hindered is not None or checkpoint is None:
        return Start(waits=asked.enabled and describe_waiting(hindered, component["spec"]) is not None)
    if text := explain_missing_claim(held, asked, namespace):
        raise RenderError(("spec", "experimental", "checkpoint"), text)
    kept = storage.find_configured_storage(asked) or _at_agents(held, namespace)
    return Start(make_restore(checkpoint, kept, asked) if kept is not None else None)


def _noted(starts: Mapping[str, Start], observed: Observed = NOTHING) -> Observed:
    restores = {name: one.restore for name, one in starts.items() if one.restore is not None}
    return observed._replace(restores=restores, waits=frozenset(name for name, one in starts.items() if one.waits))


def _mentions_waiting(graph: Fields) -> bool:
    """Whether any part of a graph of either version may wait for its checkpoint; a look at each component."""
    spec = graph.get("spec") or {}
    services = spec.get("services")
    blocks = [one.get("checkpoint") for one in services.values() if isinstance(one, dict)] if isinstance(services, dict) else []
    blocks += [experimental(one, "checkpoint") for one in object_items(spec.get("components"))]
    return any(isinstance(one, dict) and one.get("startupPolicy") == WAIT for one in blocks)


def explain_missing_claim(held: Held, asked: Checkpoints, namespace: str) -> str:
    """What is said where the claim of the configuration is not held, and not to be made. Raises: RenderError as `storage.configured`."""
    kept = storage.find_configured_storage(asked)
    if kept is None or asked.pvc.create or held.get("PersistentVolumeClaim", namespace, kept.claim) is not None:
        return ""
    return f"{storage.explain_missing(kept, namespace)}; where the cluster has it, add it to the input"


def _found(wanted: Fields, held: Held, namespace: str) -> Fields | None:
    """The checkpoint that is asked for; of several of one identity the oldest."""
    if name := str(wanted.get("checkpointRef") or ""):
        return held.get(CHECKPOINT, namespace, name)
    identity = wanted.get("identity")
    if not isinstance(identity, dict) or not identity:
        return None
    same = [one for one in held.all(CHECKPOINT, namespace) if read_identity_hash(one) == identity_hash(identity)]
    return min(same, key=lambda one: (str(one["metadata"].get("creationTimestamp") or ""), str(one["metadata"]["name"])), default=None)


def _at_agents(held: Held, namespace: str) -> storage.Storage | None:
    """Where an agent of the input keeps snapshots; None where none does, or what stands there is no DaemonSet's shape."""
    try:
        agents = [one for one in held.all("DaemonSet", namespace) if string_map(one["metadata"].get("labels")).get(PART) == storage.AGENT]
        return storage.find_agent_storage(agents, namespace)
    except (RenderError, AttributeError, TypeError):
        return None
