"""Snapshots that new pods of a running component are restored from: as the reconciler writes them, and the webhook of pods reads them."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence

from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..merge import object_items
from ..names import CHECKPOINT_SOURCE, RESTORE_TARGET
from ..settings import Checkpoints
from .identity import format_job_name, is_job_name
from .restore import Restore, restore_pod_metadata, restore_pod_spec
from .storage import Storage, find_configured_storage


def format_offer(restore: Restore, targets: Sequence[str], image: str, owner: tuple[str, str]) -> str:
    """The offer of a snapshot to new pods, whose `targets` must run `image`; any image if that is empty.

    `owner` is the kind and name of the object that the pods belong to.
    """
    return json.dumps({"of": owner, "restore": restore, "targets": targets, "image": image}, separators=(",", ":"))


def read_owner(offer: str) -> tuple[str, str]:
    """The kind and name of the object that an offer is for. Raises: ValueError, KeyError, TypeError for what we didn't write."""
    kind, name = json.loads(offer)["of"]
    return str(kind), str(name)


def restore_pod(pod: Fields, offer: str, asked: Checkpoints) -> Fields | None:
    """A copy of a cold pod that is restored from the offered snapshot.

    Anybody who may annotate a checkpoint can write an offer: where snapshots are kept and the seccomp profile are those of the
    configuration, and an offer of others counts as damaged; a claim that an agent mounts isn't configured, and is taken as it is named.
    None for a pod that is restored already, takes a snapshot, lacks a container, or has another image.
    Raises: ValueError, KeyError, TypeError, AttributeError for a damaged pod or offer.
    """
    said = json.loads(offer)
    (identity, version, storage, seccomp), targets = said["restore"], said["targets"]
    _check_offer(said, asked)
    labels = pod["metadata"].get("labels") or {}
    if RESTORE_TARGET in labels or CHECKPOINT_SOURCE in labels:
        return None
    images = {one.get("name"): one.get("image") for one in object_items(pod["spec"].get("containers"))}
    if said["image"] and any(images.get(name) != said["image"] for name in targets):
        return None
    made, restore = copy.deepcopy(pod), Restore(identity, version, Storage(*storage), seccomp)
    try:
        restore_pod_spec(made["spec"], targets, restore, ("spec",))
    except RenderError:
        return None
    made["metadata"] = restore_pod_metadata(made["metadata"], targets, restore)
    return made


def _check_offer(said: Fields, asked: Checkpoints) -> None:
    """Raises: ValueError for an offer that no reconciler of this configuration writes, or that makes a pod which the API server refuses."""
    (identity, version, (claim, path, configured), seccomp), targets = said["restore"], said["targets"]
    if not all(isinstance(one, str) for one in (identity, version, claim, path, *targets)) or not 0 < len(targets) == len({*targets}):
        raise ValueError("must have texts, and containers")
    if not (is_job_name(format_job_name(identity, version)) and path.startswith("/") and ":" not in path):
        raise ValueError("must have names and a path that pods can have")
    wanted = find_configured_storage(asked) or Storage(claim, path, configured=False)
    if seccomp != asked.seccomp_profile or configured is not wanted.configured or (claim, path) != wanted[:2]:
        raise ValueError("must have the storage and the seccomp profile of the configuration")
