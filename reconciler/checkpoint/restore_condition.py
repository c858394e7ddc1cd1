"""Whether a component's pods are restored from its checkpoint, and what is said of that. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from ...conversion.lens.protocol import Fields
from ...policies.domain import list_containers
from ..common.conditions import Condition, condition_of, set_condition
from ..render.checkpoint.identity import read_artifact_version, read_identity_hash
from ..render.checkpoint.job import target_image
from ..render.checkpoint.restore import targets_of
from ..render.errors import RenderError
from ..render.gms import GATE, shares_gpus
from ..render.graph import experimental, nodes, spans_pods, waits_for_checkpoint
from ..render.merge import string_map
from ..render.names import MAIN, RESTORE_TARGET
from ..render.settings import Checkpoints
from .phases import IMAGE, READY

RESTORE: Final = "Restore"  # the condition, of components and of graphs
RESTORED: Final = "Restored"
WAITING: Final = "RestoreAvailable"
MISSING: Final = "CheckpointMissing"
ANY_IMAGE: Final = "webhooks.nvidia.com/restore-any-image"
COLD: Final = "webhooks.nvidia.com/cold-template"  # annotation of a Deployment: digest of the pods that it has without a snapshot
_AWAITED: Final = frozenset({"CheckpointNotReady", "CheckpointFailed", MISSING})  # reasons that a checkpoint may end
_COLD_START: Final = "pods start cold"
# the worst first: what a graph says of several components
_ORDER: Final = (
    "Forbidden",
    "ControllerOff",
    MISSING,
    "CheckpointFailed",
    "RestoreFailed",
    "RestoreUnavailable",
    "ImageDiffers",
    "RestoreOff",
    "CheckpointNotReady",
    WAITING,
    RESTORED,
)
CALM: Final = frozenset({"CheckpointNotReady", WAITING, RESTORED, "RestoreOff"})  # reasons that are no warning


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


def takes(live: Fields | None, *, same: bool, roll: bool) -> bool:
    """Whether pods take the restored shape now: `live` is their template, `same` whether nothing else of it changes.

    Workers that run well are not replaced for it, unless `roll` is configured: the shape is taken with their next change.
    """
    return live is None or roll or not same or is_restored(live)


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


def identity_of(checkpoint: Fields) -> tuple[str, str]:
    """The hash and the version that pods are marked with."""
    return read_identity_hash(checkpoint), read_artifact_version(checkpoint)


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
