"""Offers snapshots to new pods of components that run cold, by annotations of their DynamoCheckpoints. The webhook of pods reads them."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Final

from ...admission.new_pods import OFFER
from ...kube.errors import ForbiddenError
from ...kube.protocol import Node
from ..common.keys import Key, key_of, uid_of
from ..common.resources import CHECKPOINT
from ..engine.work import Work
from ..render.checkpoint.restore import read_owner

MOST: Final = 300  # offers of one checkpoint: half of what its annotations may hold


async def publish_offers(work: Work, namespace: str, offers: Mapping[str, tuple[str, str]]) -> None:
    """Make the offers to some components so. `offers`: value of the pods' label -> name of the checkpoint, and the offer; "" for none.

    Reads only the cache, and writes nothing where nothing changes. Raises: ApiError, StandDownError.
    """
    for checkpoint in work.cache.all(CHECKPOINT, namespace):
        name = key_of(checkpoint).name
        wanted = {OFFER + label: text if name == of else "" for label, (of, text) in offers.items()}
        change = decide_offers(checkpoint, wanted, lambda kind, named: work.cache.get(Key(kind, namespace, named)) is not None)
        if change:
            with contextlib.suppress(ForbiddenError):  # then new pods start cold, as the others do
                await work.patch_metadata(checkpoint, {"uid": uid_of(checkpoint), "annotations": change})


def decide_offers(checkpoint: Node, wanted: Mapping[str, str], exists: Callable[[str, str], bool]) -> dict[str, str | None]:
    """The changed annotations of a checkpoint; those whose owner doesn't exist any more go with the next change. Pure."""
    now = {name: text for name, text in (checkpoint["metadata"].get("annotations") or {}).items() if name.startswith(OFFER)}
    change: dict[str, str | None] = {name: text or None for name, text in wanted.items() if now.get(name, "") != text}
    if not change:
        return {}
    change |= {name: None for name, text in now.items() if name not in wanted and not _is_owned(text, exists)}
    room = MOST - len(now.keys() - change.keys()) - sum(name in now and text is not None for name, text in change.items())
    added = [name for name, text in change.items() if text is not None and name not in now]
    return {name: text for name, text in change.items() if name not in added[max(room, 0) :]}


def _is_owned(text: str, exists: Callable[[str, str], bool]) -> bool:
    try:
        return exists(*read_owner(text))
    except (ValueError, KeyError, TypeError):
        return False
