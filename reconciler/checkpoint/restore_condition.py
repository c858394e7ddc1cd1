"""Whether a component's pods are restored from its checkpoint, which of them could not be, and what is said of that. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from ...conversion.lens.protocol import Fields
from ...policies.domain import list_containers
from ..common.conditions import Condition, condition_of, set_condition
from ..common.keys import controller_reference, uid_of
from ..common.resources import GRAPH
from ..render.checkpoint.identity import read_artifact_version, read_identity_hash
from ..render.checkpoint.job import target_image
from ..render.checkpoint.restore import Restore, targets_of
from ..render.checkpoint.storage import Storage
from ..render.errors import RenderError
from ..render.gms import GATE, shares_gpus
from ..render.graph import experimental, nodes, spans_pods, waits_for_checkpoint
from ..render.merge import string_map
from ..render.names import ARTIFACT_VERSION, CHECKPOINT_ID, MAIN, RESTORE_STATUS, RESTORE_TARGET, lower_name
from ..render.settings import Checkpoints
from .phases import IMAGE, READY

RESTORE: Final = "Restore"  # the condition, of components and of graphs
RESTORED: Final = "Restored"
WAITING: Final = "RestoreAvailable"
FAILED: Final = "RestoreFailed"
MISSING: Final = "CheckpointMissing"
ENOUGH: Final = 3  # pods that could not be restored show that it is the snapshot
MARK: Final = "webhooks.nvidia.com/restore-failed"  # annotation: the snapshot from which pods are not restored any more
ANY_IMAGE: Final = "webhooks.nvidia.com/restore-any-image"
COLD: Final = "webhooks.nvidia.com/cold-template"  # annotation of a Deployment: digest of the pods that it has without a snapshot
_AWAITED: Final = frozenset({"CheckpointNotReady", "CheckpointFailed", MISSING})  # reasons that a checkpoint may end
_COLD_START: Final = "pods start cold"
# the worst first: what a graph says of several components
_ALARMING: Final = ("Forbidden", "ControllerOff", MISSING, "CheckpointFailed", FAILED, "RestoreUnavailable", "ImageDiffers")
CALM: Final = ("RestoreOff", "CheckpointNotReady", WAITING, RESTORED)  # reasons that are no warning
_ORDER: Final = (*_ALARMING, *CALM)


class RestoreState(NamedTuple):
    """What is said of one component."""

    reason: str
    message: str


def find_hindrance(checkpoint: Fields | None, component: Fields, asked: Checkpoints, *, any_image: bool) -> RestoreState | None:
    """Why a component's pods can't be restored from its checkpoint, if so. Raises: RenderError where the two contradict each other."""
    if spans_pods(component):
        why = "is on several nodes" if nodes(component) > 1 else "shares GPUs between pods"
        return RestoreState("RestoreUnavailable", f"a component that {why} is not restored; {_COLD_START}")
    named = str((experimental(component, "checkpoint") or {}).get("checkpointRef") or "")
    if checkpoint is None:
        what = f"DynamoCheckpoint {named} is not there" if named else "there is no DynamoCheckpoint of this identity"
        return RestoreState(MISSING if named else "CheckpointNotReady", f"{what}; {_COLD_START}")
    name, status = checkpoint["metadata"]["name"], checkpoint.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    if phase != READY:
        why = f": {status['message']}" if status.get("message") else ""
        reason = "CheckpointFailed" if phase == "Failed" else "CheckpointNotReady"
        return RestoreState(reason, f"DynamoCheckpoint {name} is {phase}{why[:800]}; {_COLD_START}")
    if not asked.enabled:
        return RestoreState("RestoreOff", f"DynamoCheckpoint {name} is Ready, but checkpoint.enabled is false in the configuration")
    _check_gpus(checkpoint, component, gate=asked.gate)
    image, ours = image_of(checkpoint), _image(component)
    if image and ours != image and not any_image:
        text = f"DynamoCheckpoint {name} was taken of image {image}, the component has {ours}; pods start cold"
        return RestoreState("ImageDiffers", f'{text}; set annotation {ANY_IMAGE}: "true" to restore them anyway'[:1000])
    return None


def describe_waiting(standing: RestoreState | None, component: Fields) -> RestoreState | None:
    """The same of a component that has no pods until then, None for one that doesn't wait or needn't."""
    if standing is None or standing.reason not in _AWAITED or not waits_for_checkpoint(component):
        return None
    return standing._replace(message=standing.message.removesuffix(_COLD_START) + "pods wait for it, as startupPolicy says")


def image_of(checkpoint: Fields) -> str:
    """The image of the container whose snapshot was taken."""
    noted = string_map(checkpoint["metadata"].get("annotations")).get(IMAGE)
    return noted or target_image(checkpoint)


def is_restored(template: Fields) -> bool:
    """Whether pods of a template are restored ones."""
    return string_map((template.get("metadata") or {}).get("labels")).get(RESTORE_TARGET) == "true"


def sum_up(standings: Mapping[str, RestoreState]) -> RestoreState | None:
    """What a graph says of its components, of which the worst decides; None where none has a checkpoint."""
    if not standings:
        return None
    worst = min((one.reason for one in standings.values()), key=lambda reason: _ORDER.index(reason) if reason in _ORDER else -1)
    text = "; ".join(f"{name}: {one.message}" for name, one in sorted(standings.items()) if one.reason == worst)
    return RestoreState(worst, text[:1000])


def make_restore(checkpoint: Fields, kept: Storage, asked: Checkpoints) -> Restore:
    """What pods are restored from."""
    return Restore(read_identity_hash(checkpoint), read_artifact_version(checkpoint), kept, asked.seccomp_profile)


def _check_gpus(checkpoint: Fields, component: Fields, *, gate: bool) -> None:
    path = ("spec", "experimental", "gpuMemoryService")
    wants = isinstance((component.get("experimental") or {}).get("gpuMemoryService"), dict)
    if shares_gpus(checkpoint):
        if not gate:
            raise RenderError(("spec", "experimental", "checkpoint"), f"checkpoint.gpuMemoryService: {GATE}")
        if not wants:
            text = f"must be set, as for DynamoCheckpoint {checkpoint['metadata']['name']}: what it keeps lies in shared GPU memory"
            raise RenderError(path, text)
    elif wants:
        text = f'gpuMemoryService restore requires resolved checkpoint "{checkpoint["metadata"]["name"]}" to enable gpuMemoryService'
        raise RenderError(path, text)


def _image(component: Fields) -> str:
    """The image of a component's container that is restored."""
    target = targets_of(component)[0]
    containers = {one.get("name"): one for one in list_containers(component)}
    return str((containers.get(target) or containers.get(MAIN) or {}).get("image") or "")


def set_restore_condition(status: Fields, standing: RestoreState | None, generation: int | None, moment: datetime) -> Fields:
    """A status with the condition, or without it where there is no checkpoint."""
    if standing is None:
        return set_condition(status, RESTORE, None, moment)
    word = "True" if standing.reason == RESTORED else "False"
    return set_condition(status, RESTORE, Condition(RESTORE, word, standing.reason, standing.message, generation), moment)


def read_restore_condition(status: Fields) -> RestoreState | None:
    """What a component's status says of its checkpoint."""
    told = condition_of(status, RESTORE)
    return RestoreState(str(told["reason"]), str(told["message"])) if told else None


class Failure(NamedTuple):
    """One pod."""

    pod: str
    container: str
    uid: str  # of the pod, as another one of this name may come


def failures(pods: Iterable[Fields], restore: Restore) -> list[Failure]:
    """The pods whose agent says that they can't be restored from this snapshot, by name. Such a pod waits for ever.

    Pods that nothing controls don't count: anybody may label them so, and nothing makes them anew.
    """
    found = []
    for pod in pods:
        metadata = pod["metadata"]
        labels, annotations = string_map(metadata.get("labels")), string_map(metadata.get("annotations"))
        theirs = labels.get(RESTORE_TARGET), labels.get(CHECKPOINT_ID), annotations.get(ARTIFACT_VERSION)
        if metadata.get("deletionTimestamp") or controller_reference(pod) is None or theirs != ("true", restore.hash, restore.version):
            continue
        said = (key.partition(f"{RESTORE_STATUS}.")[2] for key, value in sorted(annotations.items()) if value == "failed")
        container = next((name for name in said if name), "")
        if container:
            found.append(Failure(str(metadata["name"]), container, uid_of(pod)))
    return sorted(found)


def mark_of(obj: Fields) -> str:
    """The annotation of a component's object, or of a graph on Grove for one of its components."""
    return f"{MARK}.{lower_name(str(obj['spec'].get('name') or ''))[:40].rstrip('-.')}" if obj.get("kind") == GRAPH else MARK


def format_snapshot(restore: Restore) -> str:
    """The snapshot, in the annotation."""
    return f"{restore.hash}/{restore.version}"


def describe_given_up(obj: Fields, restore: Restore, checkpoint: str) -> RestoreState:
    """What is said of such an object."""
    text = f"pods could not be restored from version {restore.version} of DynamoCheckpoint {checkpoint}, and start cold"
    return RestoreState(FAILED, f"{text}; take another version, or remove annotation {mark_of(obj)} to try again")


def describe_failures(standing: RestoreState | None, failed: list[Failure], *, falls_back: bool) -> str:
    """What is said of pods that fail; empty where none does."""
    if not failed:
        return ""
    names = ", ".join(f"{one.pod} (container {one.container})" for one in failed[:3])
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    begun = standing.message if standing is not None and standing.reason == RESTORED else "pods are restored"
    end = f"with {ENOUGH} such pods, or as many as there are replicas, they start cold" if falls_back else "checkpoint.fallback is false"
    return f"{begun}, but the agent could not restore {names}{more}, which wait for ever; {end}"[:1000]
