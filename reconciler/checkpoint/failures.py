"""Pods that could not be restored from a snapshot, as the agent marks them, and when that is enough to start cold. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.reconciler.checkpoint.standing import RESTORED, Standing
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import ARTIFACT_VERSION, CHECKPOINT_ID, RESTORE_STATUS, RESTORE_TARGET, low

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.conversion.lens.protocol import Fields
    from dynamo_webhooks.reconciler.checkpoint.restore import Restore

FAILED: Final = "RestoreFailed"  # the reason
MARK: Final = "webhooks.nvidia.com/restore-failed"  # annotation: the snapshot from which pods are not restored any more
ENOUGH: Final = 3  # pods
_NAMED: Final = 3  # pods in a message
_GRAPH: Final = "DynamoGraphDeployment"


class Failure(NamedTuple):
    """One pod."""

    pod: str
    container: str


def failures(pods: Iterable[Fields], restore: Restore) -> list[Failure]:
    """The pods whose agent says that they can't be restored from this snapshot, by name. Such a pod waits for ever."""
    found = []
    for pod in pods:
        metadata = pod["metadata"]
        labels, annotations = texts(metadata.get("labels")), texts(metadata.get("annotations"))
        theirs = labels.get(RESTORE_TARGET), labels.get(CHECKPOINT_ID), annotations.get(ARTIFACT_VERSION)
        if metadata.get("deletionTimestamp") or theirs != ("true", restore.hash, restore.version):
            continue
        said = (key.partition(f"{RESTORE_STATUS}.")[2] for key, value in sorted(annotations.items()) if value == "failed")
        container = next((name for name in said if name), "")
        if container:
            found.append(Failure(str(metadata["name"]), container))
    return sorted(found)


def are_enough(failed: int, replicas: int) -> bool:
    """Whether so many failures show that it is the snapshot: three pods, or all that there are to be."""
    return failed >= min(ENOUGH, max(replicas, 1))


def mark_of(obj: Fields) -> str:
    """The annotation of a component's object, or of a graph on Grove for one of its components."""
    return f"{MARK}.{low(str(obj['spec'].get('name') or ''))[:40].rstrip('-.')}" if obj.get("kind") == _GRAPH else MARK


def named(restore: Restore) -> str:
    """The snapshot, in the annotation."""
    return f"{restore.hash}/{restore.version}"


def is_given_up(obj: Fields, restore: Restore) -> bool:
    """Whether an object's pods are not restored from this snapshot any more."""
    return texts(obj["metadata"].get("annotations")).get(mark_of(obj)) == named(restore)


def given_up(obj: Fields, restore: Restore, checkpoint: str) -> Standing:
    """What is said of such an object."""
    text = f"pods could not be restored from version {restore.version} of DynamoCheckpoint {checkpoint}, and start cold"
    return Standing(FAILED, f"{text}; take another version, or remove annotation {mark_of(obj)} to try again")


def told(standing: Standing | None, failed: list[Failure], *, falls_back: bool) -> str:
    """What is said of pods that fail; empty where none does."""
    if not failed:
        return ""
    names = ", ".join(f"{one.pod} (container {one.container})" for one in failed[:_NAMED])
    more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
    begun = standing.message if standing is not None and standing.reason == RESTORED else "pods are restored"
    end = f"with {ENOUGH} such pods, or as many as there are replicas, they start cold" if falls_back else "checkpoint.fallback is false"
    return f"{begun}, but the agent could not restore {names}{more}, which wait for ever; {end}"[:1000]
