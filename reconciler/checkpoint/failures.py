"""Pods that could not be restored from a snapshot, as the agent marks them, and when that is enough to start cold. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ...conversion.lens.protocol import Fields
from ..common.keys import controller_reference, uid_of
from ..render.checkpoint.restore import Restore
from ..render.merge import string_map
from ..render.names import ARTIFACT_VERSION, CHECKPOINT_ID, RESTORE_STATUS, RESTORE_TARGET, lower_name
from .restore_condition import RESTORED, RestoreState

FAILED: Final = "RestoreFailed"  # the reason
MARK: Final = "webhooks.nvidia.com/restore-failed"  # annotation: the snapshot from which pods are not restored any more
ENOUGH: Final = 3  # pods
_NAMED: Final = 3  # pods in a message
_GRAPH: Final = "DynamoGraphDeployment"


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


def are_enough(failed: int, replicas: int) -> bool:
    """Whether so many failures show that it is the snapshot: three pods, or all that there are to be."""
    return failed >= min(ENOUGH, max(replicas, 1))


def mark_of(obj: Fields) -> str:
    """The annotation of a component's object, or of a graph on Grove for one of its components."""
    return f"{MARK}.{lower_name(str(obj['spec'].get('name') or ''))[:40].rstrip('-.')}" if obj.get("kind") == _GRAPH else MARK


def format_snapshot(restore: Restore) -> str:
    """The snapshot, in the annotation."""
    return f"{restore.hash}/{restore.version}"


def is_given_up(obj: Fields, restore: Restore) -> bool:
    """Whether an object's pods are not restored from this snapshot any more."""
    return string_map(obj["metadata"].get("annotations")).get(mark_of(obj)) == format_snapshot(restore)


def describe_given_up(obj: Fields, restore: Restore, checkpoint: str) -> RestoreState:
    """What is said of such an object."""
    text = f"pods could not be restored from version {restore.version} of DynamoCheckpoint {checkpoint}, and start cold"
    return RestoreState(FAILED, f"{text}; take another version, or remove annotation {mark_of(obj)} to try again")


def describe_failures(standing: RestoreState | None, failed: list[Failure], *, falls_back: bool) -> str:
    """What is said of pods that fail; empty where none does."""
    if not failed:
        return ""
    names = ", ".join(f"{one.pod} (container {one.container})" for one in failed[:_NAMED])
    more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
    begun = standing.message if standing is not None and standing.reason == RESTORED else "pods are restored"
    end = f"with {ENOUGH} such pods, or as many as there are replicas, they start cold" if falls_back else "checkpoint.fallback is false"
    return f"{begun}, but the agent could not restore {names}{more}, which wait for ever; {end}"[:1000]
