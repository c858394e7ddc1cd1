"""Looks after pods that are being restored: those that fail are told of, and too many failures end restoring from that snapshot.

Pods are read at most once a minute for one component, and only while it isn't ready.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.resources import PODS
from dynamo_webhooks.reconciler.checkpoint.failures import FAILED, are_enough, failures, given_up, mark_of, named, told
from dynamo_webhooks.reconciler.checkpoint.standing import Standing
from dynamo_webhooks.reconciler.loop.keys import key_of, uid_of
from dynamo_webhooks.reconciler.loop.kinds import resource_of
from dynamo_webhooks.reconciler.loop.pod_reasons import EVERY
from dynamo_webhooks.reconciler.loop.restoring import Choice
from dynamo_webhooks.reconciler.render.names import RESTORE_TARGET

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.checkpoint.restore import Restore
    from dynamo_webhooks.reconciler.loop.work import Work


class Restoring(NamedTuple):
    """What runs one component."""

    labels: str  # that select its pods
    replicas: int
    ready: bool


async def followed(work: Work, obj: Node, choice: Choice, runs: Restoring) -> Choice:
    """The same choice, or a cold start where pods keep failing, which is noted on the object. Raises: ApiError, StandDownError."""
    if choice.restore is None or runs.ready or not runs.replicas:
        return choice
    again, place = choice._replace(after=EVERY), f"{uid_of(obj)}/{mark_of(obj)}"
    if work.reads.may(place, key_of(obj).namespace):
        try:
            pods = await work.cluster.list(PODS, key_of(obj).namespace, labels=f"{runs.labels},{RESTORE_TARGET}=true")
        except ForbiddenError:
            return again  # the graph's message says that pods can't be read
        failed, falls_back = failures(pods.items, choice.restore), work.settings.checkpoint.fallback
        if falls_back and are_enough(len(failed), runs.replicas):
            return await _give_up(work, obj, choice.restore, choice.checkpoint)
        work.reads.texts[place] = told(choice.standing, failed, falls_back=falls_back)
    text = work.reads.texts.get(place)
    return again._replace(standing=Standing(FAILED, text)) if text else again


async def _give_up(work: Work, obj: Node, restore: Restore, checkpoint: str) -> Choice:
    change = {"metadata": {"uid": uid_of(obj), "annotations": {mark_of(obj): named(restore)}}}
    await work.merge(obj, resource_of(obj), key_of(obj).name, change)
    return Choice(standing=given_up(obj, restore, checkpoint))
