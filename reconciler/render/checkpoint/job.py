"""The Job that starts a worker, waits until it is warm, and has its snapshot taken."""

import copy
from typing import Any, Final

from ....api.decode import decoder
from ....api.paths import Path
from ....api.quantity import is_quantity, is_zero
from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..merge import object_items, string_map
from ..names import ARTIFACT_VERSION, CHECKPOINT_ID, CHECKPOINT_SOURCE, MAIN, RESTORE_TARGET, STORAGE_PATH, STORAGE_TYPE, TARGET_CONTAINERS
from ..objects import make_child
from ..pod.assemble import add_shared_memory
from ..settings import Checkpoints
from . import storage as stored
from .identity import check_version, job_name, read_artifact_version, read_identity_hash
from .restore import CONTROL_PATH, add_control, add_podinfo, add_storage, set_seccomp_profile
from .storage import Storage

KEPT_FOR: Final = 300  # seconds that a finished Job is kept for once the checkpoint has taken note of its end
_DEADLINE: Final = 3600  # seconds
_POD: Final[Path] = ("spec", "job", "podTemplateSpec", "spec")


def job_of(checkpoint: Fields, settings: Checkpoints) -> Fields:
    """The Job of a checkpoint. Raises: RenderError naming what of the checkpoint, or of the configuration, makes no Job.

    It has no `ttlSecondsAfterFinished`: that is set when its end has been noted, so that no end is missed.
    """
    wrong = decoder("DynamoCheckpoint", "v1alpha1")(checkpoint)
    if wrong:
        raise RenderError(wrong[0].path, wrong[0].message)
    check_version(checkpoint)
    asked = (checkpoint.get("spec") or {}).get("job") or {}
    found = stored.find_configured_storage(settings)
    template: Fields = copy.deepcopy(asked.get("podTemplateSpec") or {})
    target = str(asked.get("targetContainerName") or MAIN)
    pod = {
        "metadata": _marked(template.get("metadata") or {}, checkpoint, target, found),
        "spec": _prepared(template.get("spec") or {}, checkpoint, target, settings, found),
    }
    spec = {"activeDeadlineSeconds": asked.get("activeDeadlineSeconds") or _DEADLINE, "backoffLimit": 0, "template": pod}
    labels = {CHECKPOINT_ID: read_identity_hash(checkpoint)}
    return make_child("batch/v1", "Job", job_name(checkpoint), labels=labels, owner=checkpoint, spec=spec)


def jobs(checkpoint: Fields, settings: Checkpoints) -> list[Fields]:
    """The objects of a checkpoint: its claim, where that is created, and its Job. Raises: RenderError as `job_of`."""
    namespace = str((checkpoint.get("metadata") or {}).get("namespace") or "default")
    return [*stored.claims(settings, namespace), job_of(checkpoint, settings)]


def image_of(job: Fields) -> str:
    """The image of the container whose snapshot a Job takes."""
    template = (job.get("spec") or {}).get("template") or {}
    return _image(template, string_map((template.get("metadata") or {}).get("annotations")).get(TARGET_CONTAINERS, MAIN))


def target_image(checkpoint: Fields) -> str:
    """The image of the container whose snapshot a checkpoint asks for."""
    asked = (checkpoint.get("spec") or {}).get("job") or {}
    return _image(asked.get("podTemplateSpec") or {}, str(asked.get("targetContainerName") or MAIN))


def _image(template: Fields, target: str) -> str:
    containers = object_items((template.get("spec") or {}).get("containers"))
    return next((str(one.get("image") or "") for one in containers if one.get("name") == target), "")


def _marked(head: Fields, checkpoint: Fields, target: str, found: Storage | None) -> Fields:
    labels = {key: value for key, value in string_map(head.get("labels")).items() if key != RESTORE_TARGET}
    labels |= {CHECKPOINT_ID: read_identity_hash(checkpoint), CHECKPOINT_SOURCE: "true"}
    annotations = {**string_map(head.get("annotations")), ARTIFACT_VERSION: read_artifact_version(checkpoint), TARGET_CONTAINERS: target}
    if found is not None:
        annotations |= {STORAGE_TYPE: "pvc", STORAGE_PATH: found.path}
    return {"labels": labels, "annotations": annotations}


def _prepared(pod: Fields, checkpoint: Fields, target: str, settings: Checkpoints, found: Storage | None) -> Fields:
    """A worker's pod, changed into one whose snapshot is taken when it is warm."""
    spec, containers = checkpoint.get("spec") or {}, object_items(pod.get("containers"))
    if not containers:
        raise RenderError((*_POD, "containers"), "checkpoint job requires at least one container")
    main = next((one for one in containers if one.get("name") == target), None)
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
        # the job's own size: a worker with less shared memory, or none, isn't what is checkpointed
        size: Any = shared.get("size")
        add_shared_memory(pod, main, None if size is not None and is_quantity(size) and is_zero(size) else size)
    if found is not None:
        add_storage(pod, main, found, at)
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
