"""The checkpoint that a component of a graph asks for. Its Job is made by the checkpoint's own pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.checkpoint import storage
from dynamo_webhooks.reconciler.checkpoint.identity import FIRST_VERSION, identity_hash
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.framework import framework_of
from dynamo_webhooks.reconciler.render.graph import experimental
from dynamo_webhooks.reconciler.render.merge import filled, items, texts
from dynamo_webhooks.reconciler.render.names import ARTIFACT_VERSION, CHECKPOINT_ID, COMPONENT, MAIN
from dynamo_webhooks.reconciler.render.objects import child, co_owner
from dynamo_webhooks.reconciler.render.overlay import overlaid_pod, overlay_of
from dynamo_webhooks.reconciler.render.pod.assemble import plain_pod_spec
from dynamo_webhooks.reconciler.render.pod.plan import PodPlan
from dynamo_webhooks.reconciler.render.split import component_object

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph, Member
    from dynamo_webhooks.reconciler.render.observed import Observed
    from dynamo_webhooks.reconciler.render.settings import Settings

DELETE: Final = "Delete"  # deletionPolicy: the checkpoint goes with the last graph that it was made for
RETAIN: Final = "Retain"


def checkpoints(graph: Graph, member: Member, settings: Settings, observed: Observed) -> list[Fields]:
    """The checkpoint of a component, if it is to be created. Other graphs may use it: it has no owner, or each of them is one.

    Raises: RenderError if the checkpoint has no identity, or the configuration names no usable storage.
    """
    wanted = experimental(member.fields, "checkpoint")
    if wanted is None or not settings.checkpoints.made:
        return []
    claims = storage.claims(settings.checkpoints, graph.namespace)
    if wanted.get("checkpointRef"):
        return claims
    path = (*member.path, "experimental", "checkpoint")
    identity = wanted.get("identity")
    if not identity:
        raise RenderError((*path, "identity"), "must be given where checkpointRef names no checkpoint")
    shared = settings.checkpoints.gate and experimental(member.fields, "gpuMemoryService") is not None
    if wanted.get("mode") == "Manual" or member.name in observed.checkpoints or shared:  # what keeps shared GPU memory is made by hand
        return claims
    identity = {**identity, **{size: identity.get(size) or 1 for size in ("tensorParallelSize", "pipelineParallelSize")}}
    name = identity_hash(identity)
    out = child(
        "nvidia.com/v1alpha1",
        "DynamoCheckpoint",
        f"checkpoint-{name}",
        graph.namespace,
        labels={CHECKPOINT_ID: name},
        annotations={ARTIFACT_VERSION: FIRST_VERSION},
    )
    if wanted.get("deletionPolicy") == DELETE:
        out["metadata"]["ownerReferences"] = [co_owner(graph.object)]
    target = wanted.get("targetContainerName") or MAIN
    template = _template(graph, member, wanted, str(target), settings)
    out["spec"] = {"identity": identity, "job": {"targetContainerName": target, "podTemplateSpec": template}}
    return [*claims, out]


def _template(graph: Graph, member: Member, wanted: Fields, target: str, settings: Settings) -> Fields:
    """The pod of the checkpoint: the component's, with only the target container, and the user's overlay."""
    made = component_object(graph, member, "", "")["spec"]
    alone = {name: value for name, value in made.items() if name not in ("experimental", "frontendSidecar", "multinode")}
    plan = PodPlan(
        component=alone,
        name=member.name,
        type=member.type,
        parent=graph.name,
        namespace=graph.namespace,
        dynamo_namespace=member.dynamo_namespace,
        framework=framework_of(made, str(graph.spec.get("backendFramework") or ""), (*member.path, "podTemplate")),
        worker_hash="",
        annotations=texts(((made.get("podTemplate") or {}).get("metadata") or {}).get("annotations")),
        hints={},  # it runs on one node
        path=member.path,
    )
    spec = plain_pod_spec(plan, settings)
    spec["containers"] = [one for one in items(spec.get("containers")) if one.get("name") == target]
    if not spec["containers"]:
        path = (*member.path, "experimental", "checkpoint", "targetContainerName")
        raise RenderError(path, f"must be the name of a container of the pod template, got {target[:80]!r}")
    spec["restartPolicy"] = "Never"
    overlay = overlay_of(wanted, (*member.path, "experimental", "checkpoint"))
    head = overlay.get("metadata") or {}
    metadata: Fields = {"labels": filled(texts(head.get("labels")), {COMPONENT: member.name})}
    if head.get("annotations"):
        metadata["annotations"] = texts(head["annotations"])
    return {"metadata": metadata, "spec": overlaid_pod(spec, overlay.get("spec") or {})}
