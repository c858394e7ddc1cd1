"""From which snapshot a component's pods are restored: what of that must be asked of the cluster. What follows from it is pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.operator.settings import OFF
from dynamo_webhooks.kube.errors import ForbiddenError
from dynamo_webhooks.kube.resources import Resource
from dynamo_webhooks.reconciler.checkpoint import storage
from dynamo_webhooks.reconciler.checkpoint.failures import given_up, is_given_up
from dynamo_webhooks.reconciler.checkpoint.restore import Restore
from dynamo_webhooks.reconciler.checkpoint.standing import (
    ANY_IMAGE,
    CALM,
    COLD,
    RESTORE,
    RESTORED,
    WAITING,
    Standing,
    hindrance,
    identity_of,
    is_restored,
    takes,
    waiting,
)
from dynamo_webhooks.reconciler.loop.keys import Key, controller, key_of
from dynamo_webhooks.reconciler.loop.kinds import CHECKPOINT, COMPONENT, GRAPH
from dynamo_webhooks.reconciler.loop.likeness import digest, says
from dynamo_webhooks.reconciler.loop.prerequisites import lacking_storage
from dynamo_webhooks.reconciler.loop.status import Condition, found, with_condition
from dynamo_webhooks.reconciler.loop.switched import row_of
from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.graph import experimental, says_which
from dynamo_webhooks.reconciler.render.merge import texts
from dynamo_webhooks.reconciler.render.names import ARTIFACT_VERSION, PART

if TYPE_CHECKING:
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.settings import Settings

UNLISTED: Final = 1.0  # seconds between two looks whether checkpoints have been listed
TURN: Final = 5.0  # seconds between two looks whether another component's pods have been replaced
UNDER_WAY: Final = frozenset({"CheckpointNotReady", "CheckpointFailed"})  # an earlier version may serve meanwhile
_AGENTS: Final = Resource("apps", "v1", "daemonsets", "DaemonSet")


class Choice(NamedTuple):
    """What a component's pods are restored from, and what is said of that; both are None without a checkpoint."""

    restore: Restore | None = None
    standing: Standing | None = None
    waits: bool = False  # whether it has no pods until its checkpoint is ready
    checkpoint: str = ""  # the name of the DynamoCheckpoint that pods are restored from
    after: float = 0.0  # seconds after which to look again although nothing changed


class Pods(NamedTuple):
    """Pod templates of one component."""

    cold: Node  # as rendered without a snapshot
    live: Node | None = None  # as it is
    mark: str | None = None  # digest of the cold one that was noted beside the live one
    begun: bool = False  # whether any pods were asked for, which are not taken away again


def pods_of(work: Work, deployment: Node) -> Pods:
    """The pods of a Deployment, which is given as it is without a snapshot."""
    live = work.cache.get(key_of(deployment))
    if live is None:
        return Pods(deployment["spec"]["template"])
    mark = texts(live["metadata"].get("annotations")).get(COLD)
    spec = live.get("spec") or {}
    return Pods(deployment["spec"]["template"], spec.get("template") or {}, mark, begun=spec.get("replicas") != 0)


def wanted_by(component: Node) -> Node | None:
    """What a component says of its checkpoint."""
    return experimental(component.get("spec") or {}, "checkpoint")


def is_unlisted(work: Work) -> bool:
    """Whether it is not known yet which checkpoints there are; where they can't be read, it is known that there are none for us."""
    return not work.cache.knows(CHECKPOINT) and CHECKPOINT not in work.cache.lacking()


async def choice_for(work: Work, obj: Node, pods: Pods | None, settings: Settings) -> Choice:
    """For one component's object, or what a graph on Grove says of it. Costs at most one read of the cluster.

    Raises: ApiError, StandDownError; RenderError where component, checkpoint and configuration contradict each other.
    """
    wanted = wanted_by(obj)
    if wanted is None:
        return Choice()
    if not says_which(wanted, ("spec", "experimental", "checkpoint"), settings.line):
        return Choice(standing=Standing("CheckpointMissing", "neither checkpointRef nor identity says which checkpoint; pods start cold"))
    namespace, asked = key_of(obj).namespace, settings.checkpoints
    checkpoint = work.checkpoints.found(work.cache, namespace, wanted)
    hindered = hindrance(checkpoint, obj["spec"], asked, any_image=_any_image(work, obj))
    if (waits := _waiting(work, obj["spec"], pods, hindered, settings)) is not None:
        return Choice(standing=waits, waits=True)
    if checkpoint is None or pods is None:
        return Choice(standing=hindered)
    roll = work.settings.checkpoint.roll
    held = "" if roll else _held(pods)
    if hindered is not None and not (held and hindered.reason in UNDER_WAY):
        return Choice(standing=hindered)
    kept = await _storage(work, namespace, settings)
    if isinstance(kept, Standing):
        return Choice(standing=kept)
    if roll and pods.begun and pods.live is not None and says(pods.live, pods.cold) and _another_rolls(work, obj):
        text = f"DynamoCheckpoint {checkpoint['metadata']['name']} is Ready; pods are replaced once those of another component have been"
        return Choice(standing=Standing(WAITING, text), after=TURN)
    restore = Restore(*identity_of(checkpoint), kept, asked.seccomp_profile)
    name = str(checkpoint["metadata"]["name"])
    made = _decided(pods, restore, name, held, ready=hindered is None, roll=roll)
    tried = made.restore or restore
    if work.settings.checkpoint.fallback and is_given_up(obj, tried):
        return Choice(standing=given_up(obj, tried, name))
    return made._replace(checkpoint=name)


def _waiting(work: Work, component: Node, pods: Pods | None, hindered: Standing | None, settings: Settings) -> Standing | None:
    """What is said of a component that has no pods until its checkpoint is ready; None where nothing would end the wait."""
    row, controllers = row_of(CHECKPOINT), work.settings.controllers
    others = bool((experimental(component, "checkpoint") or {}).get("checkpointRef")) and controllers.get(row.name) == OFF
    awaited = CHECKPOINT not in work.cache.lacking() and (others or row.runs(controllers, work.known()))
    if pods is None or pods.begun or not (settings.checkpoints.enabled and awaited):
        return None
    return waiting(hindered, component)


def _decided(pods: Pods, wanted: Restore, name: str, held: str, *, ready: bool, roll: bool) -> Choice:
    """What pods are restored from: of the version that is wanted, or of the one that running pods hold. Pure."""
    if held and not (ready and held == wanted.version):
        text = f"pods are restored from version {held} of DynamoCheckpoint {name}"
        now = Standing(RESTORED, f"{text}; version {wanted.version} is not ready")
        if ready:
            now = Standing(WAITING, f"{text}; version {wanted.version} is Ready, and the next change of their template restores from it")
        return Choice(wanted._replace(version=held), now)
    same = pods.live is not None and says(pods.live, pods.cold)
    if not takes(pods.live if pods.begun else None, same=same if pods.mark is None else pods.mark == digest(pods.cold), roll=roll):
        text = f"DynamoCheckpoint {name} is Ready; running pods stay, and the next change of their template restores from it"
        return Choice(standing=Standing(WAITING, text))
    return Choice(wanted, Standing(RESTORED, f"pods are restored from version {wanted.version} of DynamoCheckpoint {name}"))


def _held(pods: Pods) -> str:
    """The version that running pods are restored from, if nothing else of them changes; empty otherwise."""
    if pods.live is None or not is_restored(pods.live) or pods.mark != digest(pods.cold):
        return ""
    return texts((pods.live.get("metadata") or {}).get("annotations")).get(ARTIFACT_VERSION, "")


def noted(status: Node, standing: Standing | None, generation: int | None, work: Work) -> Node:
    """A status with the condition, or without it where there is no checkpoint."""
    told = Condition(RESTORE, standing.status, standing.reason, standing.message, generation) if standing is not None else None
    return with_condition(status, RESTORE, told, work.now())


async def say_standing(work: Work, obj: Node, before: Node, now: Node) -> None:
    """An Event when the reason of the condition has changed."""
    told = found(now, RESTORE)
    if told and told["reason"] != found(before, RESTORE).get("reason"):
        await work.say(obj, "Normal" if told["reason"] in CALM else "Warning", told["reason"], told["message"])


def standing_in(status: Node) -> Standing | None:
    """What a component's status says of its checkpoint."""
    told = found(status, RESTORE)
    return Standing(str(told["reason"]), str(told["message"])) if told else None


async def _storage(work: Work, namespace: str, settings: Settings) -> storage.Storage | Standing:
    """The claim that holds the snapshot, or why there is none. Raises: ApiError, RenderError."""
    kept = storage.configured(settings.checkpoints)
    if kept is not None:
        if lacking := await lacking_storage(work, settings.checkpoints, namespace):
            raise RenderError((), lacking)
        for claim in storage.claims(settings.checkpoints, namespace):
            await work.writer.put(claim, None)
        return kept
    try:
        agents = await work.cluster.list(_AGENTS, namespace, labels=f"{PART}={storage.AGENT}")
        return storage.found_at_agents(agents.items, namespace)
    except ForbiddenError as error:
        return Standing("RestoreUnavailable", f"the reconciler lacks a permission: {error.message}; pods start cold")
    except RenderError as error:
        return Standing("RestoreUnavailable", f"{error}; pods start cold")


def _any_image(work: Work, obj: Node) -> bool:
    """Whether an object, or the graph that made it, lets its pods be restored from another image's snapshot."""
    owner = controller(obj) or {}
    graph = work.cache.get(Key(GRAPH, key_of(obj).namespace, str(owner.get("name")))) if owner.get("kind") == GRAPH else None
    return any(texts(one["metadata"].get("annotations")).get(ANY_IMAGE) == "true" for one in (obj, graph) if one is not None)


def _another_rolls(work: Work, obj: Node) -> bool:
    """Whether pods of another component of the graph are not there yet."""
    owner = work.cache.get(Key(GRAPH, key_of(obj).namespace, str((controller(obj) or {}).get("name"))))
    others = [one for one in work.cache.owned(owner) if one["kind"] == COMPONENT and key_of(one) != key_of(obj)] if owner else []
    return any(found(one.get("status") or {}, "Available").get("status") != "True" for one in others)
