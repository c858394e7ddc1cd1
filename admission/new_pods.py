"""Restores new pods of workers from snapshots that became ready after their template was made. Pure.

The reconciler offers a snapshot to a component by an annotation of its DynamoCheckpoint, and has the function that restores a pod.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from ..policies.edit import PatchOperation

PATH: Final = "/mutate-core-v1-pod-checkpoint-restore"  # as the Go operator has named it since 1.3
OFFER: Final = "restores.webhooks.nvidia.com/"  # of a DynamoCheckpoint's annotations; the value of the pods' label follows
SELECTOR: Final = "nvidia.com/selector"  # label of the pods of one component
# bounds of what counts, as every user who may write DynamoCheckpoints may annotate them
MAX_OFFER_CHARACTERS: Final = 4096
MAX_OFFERS: Final = 500  # in a namespace
MAX_TOTAL_CHARACTERS: Final = 4 * 1024 * 1024  # characters in all; the namespaces with the most are passed over


class NewPods(NamedTuple):
    """The known snapshots, and the function, if any, that gives a pod restored from one; None for a pod that can't be."""

    offers: Mapping[str, Mapping[str, str]] = {}  # namespace -> value of the pods' label -> the snapshot, as the reconciler describes it
    restore: Callable[[dict[str, Any], str], dict[str, Any] | None] | None = None


def read_offers(checkpoints: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The offers of DynamoCheckpoints that are ready, within bounds. Those that contradict each other don't count."""
    by_namespace: dict[str, dict[str, str]] = {}
    contested: set[tuple[str, str]] = set()
    for checkpoint in checkpoints:
        metadata = checkpoint["metadata"]
        if (checkpoint.get("status") or {}).get("phase") != "Ready" or metadata.get("deletionTimestamp"):
            continue
        offers = by_namespace.setdefault(metadata["namespace"], {})
        for key, text in (metadata.get("annotations") or {}).items():
            name = key.removeprefix(OFFER)
            if name == key or len(text) > MAX_OFFER_CHARACTERS or not (text.isascii() and text.isprintable()):
                continue
            if offers.setdefault(name, text) != text:
                contested.add((metadata["namespace"], name))
    for namespace, name in contested:
        del by_namespace[namespace][name]
    kept, room = dict[str, dict[str, str]](), MAX_TOTAL_CHARACTERS
    sizes = {namespace: sum(len(name) + len(text) for name, text in offers.items()) for namespace, offers in by_namespace.items()}
    for namespace in sorted(
        (candidate for candidate in by_namespace if 0 < len(by_namespace[candidate]) <= MAX_OFFERS),
        key=lambda candidate: (sizes[candidate], candidate),
    ):
        room -= sizes[namespace]
        if room < 0:
            break
        kept[namespace] = by_namespace[namespace]
    return kept


def patch_new_pod(pod: dict[str, Any], namespace: str, known: NewPods) -> list[PatchOperation]:
    """The patch that restores a pod, empty for one without an offer. Raises: any error, if the pod has fields of wrong types."""
    offer = known.offers.get(namespace, {}).get(pod["metadata"].get("labels", {}).get(SELECTOR, ""))
    restored = known.restore(pod, offer) if offer is not None and known.restore is not None else None
    if restored is None:
        return []
    parts = (("metadata", "labels"), ("metadata", "annotations"), *(("spec", name) for name in restored["spec"]))
    changed = ((part, name) for part, name in parts if restored[part].get(name) != pod[part].get(name))
    return [{"op": "add", "path": f"/{part}/{name}", "value": restored[part][name]} for part, name in changed]
