"""From which snapshots pods are restored, and which checkpoints are not made, by what is held beside an object. Pure; for `render`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.checkpoint import storage
from dynamo_webhooks.reconciler.checkpoint.identity import hash_of, identity_hash
from dynamo_webhooks.reconciler.checkpoint.restore import Restore
from dynamo_webhooks.reconciler.checkpoint.standing import ANY_IMAGE, hindrance, identity_of
from dynamo_webhooks.reconciler.render.children import CHECKPOINT, COMPONENT, GRAPH, direct_children
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.graph import NEW, converted, experimental, read_graph
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import PART
from dynamo_webhooks.reconciler.render.observed import NOTHING, Observed

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.held import Held
    from dynamo_webhooks.reconciler.render.settings import Settings


def observed_in(obj: Fields, held: Held, settings: Settings) -> Observed:
    """What a graph or component would find, which has no pods yet. Costs one more render of a graph where checkpoints are held.

    Raises: RenderError where component, checkpoint and configuration contradict each other, or a part can't be rendered.
    """
    namespace = str(obj["metadata"]["namespace"])
    if obj.get("kind") == COMPONENT:
        found = restore_of(converted(obj, NEW), held, settings)
        return NOTHING._replace(restores={str(obj["metadata"]["name"]): found}) if found is not None else NOTHING
    if obj.get("kind") != GRAPH or not held.all(CHECKPOINT, namespace):
        return NOTHING
    graph = read_graph(obj)
    known = {one.name for one in graph.members if (wanted := experimental(one.fields, "checkpoint")) and _found(wanted, held, namespace)}
    observed = NOTHING._replace(checkpoints=frozenset(known))
    objects = {one["metadata"]["name"]: one for one in direct_children(obj, settings, observed).children if one["kind"] == COMPONENT}
    objects = objects or {one.name: {**obj, "spec": {**one.fields, "name": one.name}} for one in graph.members}
    marks, paths = texts(obj["metadata"].get("annotations")), {one.name: one.path for one in graph.members}
    restores = {}
    for name, one in objects.items():
        try:
            found = restore_of(one, held, settings, marks)
        except RenderError as error:
            raise RenderError((*paths[one["spec"]["name"]], *error.path[1:]), error.reason) from None
        if found is not None:
            restores[name] = found
    return observed._replace(restores=restores)


def restore_of(component: Fields, held: Held, settings: Settings, marks: dict[str, str] | None = None) -> Restore | None:
    """The snapshot that the pods of a component begin with; None where they start cold. Raises: RenderError."""
    wanted = experimental(component.get("spec") or {}, "checkpoint")
    if wanted is None:
        return None
    if not wanted.get("checkpointRef") and not wanted.get("identity"):
        raise RenderError(("spec", "experimental", "checkpoint"), "checkpoint enabled but no checkpointRef or identity provided")
    namespace, asked = str(component["metadata"]["namespace"]), settings.checkpoints
    checkpoint = _found(wanted, held, namespace)
    annotations = {**(marks or {}), **texts(component["metadata"].get("annotations"))}
    if hindrance(checkpoint, component["spec"], asked, any_image=annotations.get(ANY_IMAGE) == "true") or checkpoint is None:
        return None
    kept = storage.configured(asked) or _at_agents(held, namespace)
    return Restore(*identity_of(checkpoint), kept, asked.seccomp_profile) if kept is not None else None


def _found(wanted: Fields, held: Held, namespace: str) -> Fields | None:
    """The checkpoint that is asked for; of several of one identity the oldest."""
    if name := str(wanted.get("checkpointRef") or ""):
        return held.get(CHECKPOINT, namespace, name)
    identity = wanted.get("identity")
    if not isinstance(identity, dict) or not identity:
        return None
    same = [one for one in held.all(CHECKPOINT, namespace) if hash_of(one) == identity_hash(identity)]
    return min(same, key=lambda one: (str(one["metadata"].get("creationTimestamp") or ""), str(one["metadata"]["name"])), default=None)


def _at_agents(held: Held, namespace: str) -> storage.Storage | None:
    """Where an agent of the input keeps snapshots; None where none does, or what stands there is no DaemonSet's shape."""
    try:
        agents = [one for one in held.all("DaemonSet", namespace) if texts(one["metadata"].get("labels")).get(PART) == storage.AGENT]
        return storage.found_at_agents(agents, namespace)
    except (RenderError, AttributeError, TypeError):
        return None
