"""The checkpoint that a component asks for, and its Job: it starts a worker, waits until it is warm, and has its snapshot taken."""

import copy
from typing import Any, Final

from ....api.decode import decoder
from ....api.kinds import api_version
from ....api.line import Line
from ....api.paths import Path
from ....api.quantity import is_quantity, is_zero
from ....conversion.lens.protocol import Fields
from ....policies.components import DEVICE_CLASS, list_containers
from ..errors import RenderError
from ..gms import count_container_gpus, make_claim_spec, wire
from ..graph import Graph, Member, read_experimental, spans_pods
from ..merge import merge_override, object_items, string_map
from ..names import (
    ARTIFACT_VERSION,
    CHECKPOINT_ID,
    CHECKPOINT_SOURCE,
    COMPONENT,
    MAIN,
    RESTORE_TARGET,
    STORAGE_PATH,
    STORAGE_TYPE,
    TARGET_CONTAINERS,
)
from ..objects import make_child, make_co_owner
from ..pod.assemble import add_shared_memory, make_plain_pod_spec
from ..pod.container import overlay_container
from ..settings import CheckpointSettings, Settings
from ..split import make_component
from ..workload import plan_member
from . import storage
from .identity import FIRST_VERSION, check_version, hash_identity, job_name, read_artifact_version, read_identity_hash
from .restore import CONTROL_PATH, add_control, add_podinfo, add_storage, set_seccomp_profile
from .storage import Storage

FINISHED_JOB_SECONDS: Final = 300  # for which a Job is kept once the checkpoint has recorded its end
_JOB_TIMEOUT_SECONDS: Final = 3600
_POD: Final[Path] = ("spec", "job", "podTemplateSpec", "spec")


def make_job(checkpoint: Fields, settings: CheckpointSettings) -> Fields:
    """The Job of a checkpoint. Raises: RenderError naming what of the checkpoint, or of the configuration, makes no Job.

    It has no `ttlSecondsAfterFinished`: that is set when its end has been noted, so that no end is missed.
    """
    wrong = decoder("DynamoCheckpoint", "v1alpha1")(checkpoint)
    if wrong:
        raise RenderError(wrong[0].path, wrong[0].message)
    check_version(checkpoint)
    job = (checkpoint.get("spec") or {}).get("job") or {}
    snapshot_storage = storage.find_configured_storage(settings)
    template: Fields = copy.deepcopy(job.get("podTemplateSpec") or {})
    target = str(job.get("targetContainerName") or MAIN)
    pod = {
        "metadata": _mark_target(template.get("metadata") or {}, checkpoint, target, snapshot_storage),
        "spec": _prepare(template.get("spec") or {}, checkpoint, target, settings, snapshot_storage),
    }
    spec = {"activeDeadlineSeconds": job.get("activeDeadlineSeconds") or _JOB_TIMEOUT_SECONDS, "backoffLimit": 0, "template": pod}
    labels = {CHECKPOINT_ID: read_identity_hash(checkpoint)}
    return make_child("batch/v1", "Job", job_name(checkpoint), labels=labels, owner=checkpoint, spec=spec)


def make_job_objects(checkpoint: Fields, settings: CheckpointSettings) -> list[Fields]:
    """The objects of a checkpoint: its claim, where that is created, and its Job. Raises: RenderError as `make_job`."""
    namespace = str((checkpoint.get("metadata") or {}).get("namespace") or "default")
    return [*storage.make_claims(settings, namespace), make_job(checkpoint, settings)]


def image_of(job: Fields) -> str:
    """The image of the container whose snapshot a Job takes."""
    template = (job.get("spec") or {}).get("template") or {}
    return _image(template, string_map((template.get("metadata") or {}).get("annotations")).get(TARGET_CONTAINERS, MAIN))


def find_target_image(checkpoint: Fields) -> str:
    """The image of the container whose snapshot a checkpoint asks for."""
    job = (checkpoint.get("spec") or {}).get("job") or {}
    return _image(job.get("podTemplateSpec") or {}, str(job.get("targetContainerName") or MAIN))


def _image(template: Fields, target: str) -> str:
    containers = object_items((template.get("spec") or {}).get("containers"))
    return next((str(container.get("image") or "") for container in containers if container.get("name") == target), "")


def _mark_target(head: Fields, checkpoint: Fields, target: str, snapshot_storage: Storage | None) -> Fields:
    labels = {key: value for key, value in string_map(head.get("labels")).items() if key != RESTORE_TARGET}
    labels |= {CHECKPOINT_ID: read_identity_hash(checkpoint), CHECKPOINT_SOURCE: "true"}
    annotations = {**string_map(head.get("annotations")), ARTIFACT_VERSION: read_artifact_version(checkpoint), TARGET_CONTAINERS: target}
    if snapshot_storage is not None:
        annotations |= {STORAGE_TYPE: "pvc", STORAGE_PATH: snapshot_storage.path}
    return {"labels": labels, "annotations": annotations}


def _prepare(pod: Fields, checkpoint: Fields, target: str, settings: CheckpointSettings, snapshot_storage: Storage | None) -> Fields:
    """A worker's pod, changed into one whose snapshot is taken when it is warm."""
    spec, containers = checkpoint.get("spec") or {}, object_items(pod.get("containers"))
    if not containers:
        raise RenderError((*_POD, "containers"), "checkpoint job requires at least one container")
    main = next((container for container in containers if container.get("name") == target), None)
    if main is None:
        text = f'checkpoint job pod template: pod spec has no container named "{target[:80]}"'
        raise RenderError((*_POD, "containers"), text)
    at: Path = (*_POD, "containers", containers.index(main))
    pod["restartPolicy"] = "Never"
    set_seccomp_profile(pod, settings.seccomp_profile)
    identity, shared = spec.get("identity") or {}, (spec.get("job") or {}).get("sharedMemory") or {}
    processes = int(identity.get("tensorParallelSize") or 1) * int(identity.get("pipelineParallelSize") or 1)
    _wait_for_snapshot(main, processes, at)
    add_podinfo(pod, main, at)
    if not shared.get("disabled"):
        # the job's own size: a worker with less shared memory, or none, isn't the checkpointed one
        size: Any = shared.get("size")
        add_shared_memory(pod, main, None if size is not None and is_quantity(size) and is_zero(size) else size)
    if snapshot_storage is not None:
        add_storage(pod, main, snapshot_storage, at)
    add_control(pod, main, at)
    return pod


def _wait_for_snapshot(container: Fields, count: int, path: Path) -> None:
    for kind in ("livenessProbe", "startupProbe"):
        container.pop(kind, None)
    container["readinessProbe"] = {"exec": {"command": ["cat", f"{CONTROL_PATH}/ready-for-checkpoint"]}, "periodSeconds": 1}
    if count <= 1:
        return
    if not container.get("command"):
        text = "checkpoint job requires container.command when cuda-checkpoint launch-job wrapping is enabled"
        raise RenderError((*path, "command"), text)
    words = [*container["command"], *(container.get("args") or ())]
    container["command"], container["args"] = ["cuda-checkpoint"], ["--launch-job", *words]


DELETE: Final = "Delete"  # deletionPolicy: the checkpoint goes with the last graph that it was made for
RETAIN: Final = "Retain"
_TYPED: Final = ("spec", "job", "podTemplateSpec")  # path of a checkpoint's typed template


def make_checkpoints(graph: Graph, member: Member, settings: Settings, *, is_there: bool) -> list[Fields]:
    """The checkpoint of a component, if it is to be created. Other graphs may use it: it has no owner, or each of them is one.

    Raises: RenderError if the checkpoint has no identity, or the configuration names no usable storage.
    """
    wanted = read_experimental(member.fields, "checkpoint")
    if wanted is None or not settings.checkpoints.create_missing or settings.pod_snapshots:
        return []
    claims = storage.make_claims(settings.checkpoints, graph.namespace)
    if wanted.get("checkpointRef"):
        return claims
    path = (*member.path, "experimental", "checkpoint")
    identity = wanted.get("identity")
    if not identity:
        if settings.line >= Line.V1_4:
            return claims  # that line admits it; without_effect reports it
        raise RenderError((*path, "identity"), "must be given where checkpointRef names no checkpoint")
    if wanted.get("mode") == "Manual" or spans_pods(member.fields):  # a checkpoint that is not restored is not made either
        return claims
    identity = {**identity, **{size: identity.get(size) or 1 for size in ("tensorParallelSize", "pipelineParallelSize")}}
    name, marks = f"checkpoint-{hash_identity(identity)}", {CHECKPOINT_ID: hash_identity(identity)}
    annotations = {ARTIFACT_VERSION: FIRST_VERSION}
    out = make_child("nvidia.com/v1alpha1", "DynamoCheckpoint", name, graph.namespace, labels=marks, annotations=annotations)
    target = str(wanted.get("targetContainerName") or MAIN)
    gms = read_experimental(member.fields, "gpuMemoryService") if settings.checkpoints.gate else None
    shared = [_claim_template(member, target, gms, out)] if gms is not None else []
    if is_there:
        return [*claims, *shared]
    if wanted.get("deletionPolicy") == DELETE:
        out["metadata"]["ownerReferences"] = [make_co_owner(graph.object)]
    out["spec"] = {"identity": identity, "job": {"targetContainerName": target}}
    out["spec"]["job"]["podTemplateSpec"] = _template(graph, member, wanted, target, settings)
    if gms is not None:
        _share_gpus(out, gms, [str(client) for client in (wanted.get("job") or {}).get("gmsClientContainers") or ()])
    return [*claims, *shared, out]


def _share_gpus(checkpoint: Fields, gms: Fields, clients: list[str]) -> None:
    """Wire the pod of a checkpoint, in place, for the GPU memory service of the component."""
    spec = checkpoint["spec"]
    target = spec["job"]["targetContainerName"]
    wire(spec["job"]["podTemplateSpec"]["spec"], {target, *clients}, target, _claim_name(checkpoint))
    device = {"deviceClassName": gms.get("deviceClassName") or DEVICE_CLASS}
    extra = {"extraClientContainers": clients} if clients else {}
    spec["gpuMemoryService"] = {"enabled": True, "mode": "intraPod", **device, **extra}


def _claim_template(member: Member, target: str, gms: Fields, checkpoint: Fields) -> Fields:
    """The claim of the GPUs that the containers of a checkpoint's pod share. Raises: RenderError if the target container asks for none."""
    where = (*member.path, "podTemplate", "spec", "containers")
    named = ((index, container) for index, container in enumerate(list_containers(member.fields)) if container.get("name") == target)
    count = sum(count_container_gpus(container, (*where, index)) for index, container in named)
    if not count:
        path = (*member.path, "experimental", "checkpoint", "targetContainerName")
        raise RenderError(path, f"must be a container that asks for GPUs, which gpuMemoryService shares; {target[:80]!r} asks for none")
    name, spec = _claim_name(checkpoint), make_claim_spec("gpus", gms, count)
    return make_child("resource.k8s.io/v1", "ResourceClaimTemplate", name, owner=checkpoint, spec=spec)


def _claim_name(checkpoint: Fields) -> str:
    return f"{checkpoint['metadata']['name']}-worker-gpu"


def _template(graph: Graph, member: Member, wanted: Fields, target: str, settings: Settings) -> Fields:
    """The pod of the checkpoint: the component's, with only the target container, and the user's overlay."""
    made = make_component(graph, member, "", "")["spec"]
    alone = {name: value for name, value in made.items() if name not in ("experimental", "frontendSidecar", "multinode")}
    annotations = string_map(((made.get("podTemplate") or {}).get("metadata") or {}).get("annotations"))
    spec = make_plain_pod_spec(plan_member(graph, member, alone, annotations, hints={}), settings)  # it runs on one node
    spec["containers"] = [container for container in object_items(spec.get("containers")) if container.get("name") == target]
    if not spec["containers"]:
        path = (*member.path, "experimental", "checkpoint", "targetContainerName")
        raise RenderError(path, f"must be the name of a container of the pod template, got {target[:80]!r}")
    spec["restartPolicy"] = "Never"
    overlay = _overlay_of(wanted, (*member.path, "experimental", "checkpoint"))
    head = overlay.get("metadata") or {}
    metadata: Fields = {"labels": {COMPONENT: member.name, **string_map(head.get("labels"))}}
    if head.get("annotations"):
        metadata["annotations"] = string_map(head["annotations"])
    return {"metadata": metadata, "spec": _overlay_pod(spec, overlay.get("spec") or {})}


def _overlay_of(wanted: Fields, path: Path) -> Fields:
    """The pod template of a component's checkpoint, or an empty one. Raises: RenderError naming a field of a wrong type."""
    overlay: Fields = (wanted.get("job") or {}).get("podTemplate") or {}
    kind, version = "DynamoCheckpoint", "v1alpha1"
    typed = {"apiVersion": api_version(version), "kind": kind, "spec": {"job": {"podTemplateSpec": overlay}}}
    wrong = [error for error in decoder(kind, version)(typed) if error.path[: len(_TYPED)] == _TYPED] if overlay else []
    if wrong:
        raise RenderError((*path, "job", "podTemplate", *wrong[0].path[len(_TYPED) :]), wrong[0].message)
    return overlay


def _overlay_pod(spec: Fields, overlay: Fields) -> Fields:
    """A pod spec overridden by another: containers and volumes by name, others as in `merge`."""
    named = ("containers", "initContainers", "volumes")
    out = merge_override(spec, {name: value for name, value in overlay.items() if name not in named})
    for part in named:
        ours, theirs = object_items(spec.get(part)), {entry.get("name"): entry for entry in object_items(overlay.get(part))}
        put = overlay_container if part == "containers" else merge_override
        both = [put(entry, theirs.pop(entry.get("name"))) if entry.get("name") in theirs else entry for entry in ours]
        if both or theirs:
            out[part] = [*both, *theirs.values()]
    return out
