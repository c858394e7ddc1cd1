"""Snapshots of warm workers: a component's checkpoint, and the job that takes it. Restoring isn't implemented."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.framework import framework_of
from dynamo_webhooks.reconciler.render.graph import experimental
from dynamo_webhooks.reconciler.render.merge import filled, items, texts
from dynamo_webhooks.reconciler.render.names import (
    APP,
    ARTIFACT_VERSION,
    CHECKPOINT_ID,
    CHECKPOINT_SOURCE,
    COMPONENT,
    COMPONENT_TYPE,
    GRAPH_NAME,
    MAIN,
    MANAGED_BY,
    NAMESPACE,
    OPERATOR,
    PART,
    STORAGE_PATH,
    STORAGE_TYPE,
    TARGET_CONTAINERS,
    WORKER_HASH,
    digest,
)
from dynamo_webhooks.reconciler.render.objects import child
from dynamo_webhooks.reconciler.render.overlay import overlaid_pod, overlay_of
from dynamo_webhooks.reconciler.render.pod.assemble import plain_pod_spec
from dynamo_webhooks.reconciler.render.pod.plan import PodPlan
from dynamo_webhooks.reconciler.render.pod.volumes import add_shared_memory
from dynamo_webhooks.reconciler.render.split import component_object

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.render.graph import Graph, Member
    from dynamo_webhooks.reconciler.render.settings import Checkpoints, Settings

FIRST_VERSION: Final = "1"
CONTROL: Final = "snapshot-control"
CONTROL_PATH: Final = "/snapshot-control"
STORAGE: Final = "checkpoint-storage"
_POD_FACTS: Final = {
    "pod_name": "metadata.name",
    "pod_uid": "metadata.uid",
    "pod_namespace": "metadata.namespace",
    "dyn_namespace": f"metadata.labels['{NAMESPACE}']",
    "dyn_namespace_worker_suffix": f"metadata.labels['{WORKER_HASH}']",
    "dyn_component": f"metadata.labels['{COMPONENT_TYPE}']",
    "dyn_parent_dgd_k8s_name": f"metadata.labels['{GRAPH_NAME}']",
    "dyn_parent_dgd_k8s_namespace": "metadata.namespace",
}
# in the order of the digest's text
_IDENTITY: Final = (
    ("model", ""),
    ("backendFramework", ""),
    ("dynamoVersion", None),
    ("tensorParallelSize", 1),
    ("pipelineParallelSize", 1),
    ("dtype", None),
    ("maxModelLen", None),
    ("extraParameters", None),
)


def identity_hash(identity: Fields) -> str:
    """The identity of a snapshot: sixteen digits over everything that a warm worker depends on."""
    told: dict[str, Any] = {}
    for name, fallback in _IDENTITY:
        value = identity.get(name) or fallback
        if value is not None:
            told[name] = dict(sorted(value.items())) if isinstance(value, dict) else value
    text = json.dumps(told, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":  # as Go writes these; the digest must be equal
        text = text.replace(character, f"\\u{ord(character):04x}")
    return digest(text, 16)


def checkpoints(graph: Graph, member: Member, settings: Settings) -> list[Fields]:
    """The checkpoint of a component, with its job, if it is to be created. It has no owner, because other graphs may use it.

    Raises: RenderError if the checkpoint has no identity.
    """
    wanted = experimental(member.fields, "checkpoint")
    if wanted is None:
        return []
    storage = _storage(graph.namespace, settings.checkpoints)
    if wanted.get("checkpointRef"):
        return storage
    path = (*member.path, "experimental", "checkpoint")
    identity = wanted.get("identity")
    if not identity:
        raise RenderError((*path, "identity"), "must be given where checkpointRef names no checkpoint")
    if wanted.get("mode") == "Manual":
        return storage
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
    target = wanted.get("targetContainerName") or MAIN
    template = _template(graph, member, wanted, str(target), settings)
    out["spec"] = {"identity": identity, "job": {"targetContainerName": target, "podTemplateSpec": template}}
    return [*storage, out, *jobs(out, settings)]


def _storage(namespace: str, asked: Checkpoints) -> list[Fields]:
    """The claim for a namespace's checkpoints, if the operator is to create it; it outlives graphs."""
    if not asked.claim or not asked.claim_create:
        return []
    labels = {APP: "dynamo", PART: STORAGE, MANAGED_BY: OPERATOR}
    out = child("v1", "PersistentVolumeClaim", asked.claim, namespace, labels=labels)
    out["spec"] = {
        "accessModes": [asked.claim_mode],
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": asked.claim_size}},
        **({"storageClassName": asked.claim_class} if asked.claim_class else {}),
    }
    return [out]


def jobs(checkpoint: Fields, settings: Settings) -> list[Fields]:
    """The job that starts a worker, waits until it is warm, and takes its checkpoint."""
    metadata, spec = checkpoint["metadata"], checkpoint.get("spec") or {}
    asked = spec.get("job") or {}
    name = texts(metadata.get("labels")).get(CHECKPOINT_ID) or identity_hash(spec.get("identity") or {})
    version = texts(metadata.get("annotations")).get(ARTIFACT_VERSION) or FIRST_VERSION
    out = child(
        "batch/v1",
        "Job",
        f"checkpoint-job-{name}-{version}",
        metadata.get("namespace") or "default",
        labels={CHECKPOINT_ID: name},
        owner=checkpoint,
    )
    target = str(asked.get("targetContainerName") or MAIN)
    template = copy.deepcopy(asked.get("podTemplateSpec") or {})
    head = template.get("metadata") or {}
    storage = settings.checkpoints
    marks = {ARTIFACT_VERSION: version, TARGET_CONTAINERS: target}
    if storage.claim:
        marks |= {STORAGE_TYPE: "pvc", STORAGE_PATH: storage.base_path}
    labels = {**texts(head.get("labels")), CHECKPOINT_ID: name, CHECKPOINT_SOURCE: "true"}
    pod: Fields = template.get("spec") or {}
    memory = asked.get("sharedMemory") or {}
    _prepare(pod, target, _processes(spec.get("identity") or {}), "0" if memory.get("disabled") else memory.get("size"), storage)
    out["spec"] = {
        "activeDeadlineSeconds": asked.get("activeDeadlineSeconds") or 3600,
        "backoffLimit": 0,
        "ttlSecondsAfterFinished": 300,
        "template": {"metadata": {"labels": labels, "annotations": {**texts(head.get("annotations")), **marks}}, "spec": pod},
    }
    return [out]


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


def _processes(identity: Fields) -> int:
    return int(identity.get("tensorParallelSize") or 1) * int(identity.get("pipelineParallelSize") or 1)


def _prepare(pod: Fields, target: str, processes: int, memory: Any, storage: Checkpoints) -> None:
    """Change a worker's pod into one that is checkpointed when it is warm."""
    pod["restartPolicy"] = "Never"
    if storage.seccomp_profile:
        profile = {"type": "Localhost", "localhostProfile": storage.seccomp_profile}
        pod["securityContext"] = {**(pod.get("securityContext") or {}), "seccompProfile": profile}
    facts = [{"path": path, "fieldRef": {"fieldPath": field}} for path, field in _POD_FACTS.items()]
    added: list[Fields] = [{"name": "podinfo", "downwardAPI": {"items": facts}}]
    main: Fields = next((one for one in items(pod.get("containers")) if one.get("name") == target), {})
    _append(pod, "volumes", added, "name")
    _append(main, "volumeMounts", [{"name": "podinfo", "mountPath": "/etc/podinfo", "readOnly": True}], "mountPath")
    # the job's own size: a worker with less shared memory, or none, isn't what is checkpointed
    add_shared_memory(pod, main, memory)
    _append(pod, "volumes", [{"name": CONTROL, "emptyDir": {}}], "name")
    _append(main, "volumeMounts", [{"name": CONTROL, "mountPath": CONTROL_PATH, "subPath": target}], "mountPath")
    if storage.claim:
        _append(pod, "volumes", [{"name": STORAGE, "persistentVolumeClaim": {"claimName": storage.claim}}], "name")
        _append(main, "volumeMounts", [{"name": STORAGE, "mountPath": storage.base_path}], "mountPath")
    _watch(main, processes)


def _append(holder: Fields, member: str, added: list[Fields], key: str) -> None:
    """Append entries to a list, replacing those with the same key."""
    taken = {one[key] for one in added}
    holder[member] = [one for one in items(holder.get(member)) if one.get(key) not in taken] + added


def _watch(container: Fields, processes: int) -> None:
    for kind in ("livenessProbe", "startupProbe"):
        container.pop(kind, None)
    container["readinessProbe"] = {"exec": {"command": ["cat", f"{CONTROL_PATH}/ready-for-checkpoint"]}, "periodSeconds": 1}
    if processes > 1:
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        container["command"], container["args"] = ["cuda-checkpoint"], ["--launch-job", *words]
    _append(container, "env", [{"name": "DYN_SNAPSHOT_CONTROL_DIR", "value": CONTROL_PATH}], "name")
