"""The choice of the snapshot that a component's pods are restored from: the part that reads the cluster. The rest is pure."""

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...admission.new_pods import OFFER
from ...api.line import Line
from ...kube.errors import ConflictError, ForbiddenError, NotServedError
from ...kube.protocol import Node
from ...kube.resources import PODS, Resource
from ..common.applied_diff import contains, digest
from ..common.conditions import condition_of
from ..common.keys import Key, controller_reference, key_of, uid_of
from ..common.problems import SLOW_RETRY_SECONDS
from ..common.resources import CHECKPOINT, COMPONENT, GRAPH
from ..engine.context import Context
from ..engine.reads import READ_SECONDS
from ..engine.switch import Switch
from ..render.checkpoint import storage
from ..render.checkpoint.restore import Restore, format_offer, list_images, list_targets, read_owner, read_restore
from ..render.errors import RenderError
from ..render.graph import names_checkpoint, read_experimental
from ..render.merge import string_map
from ..render.names import ARTIFACT_VERSION, PART, RESTORE_TARGET
from ..render.settings import CheckpointSettings, Settings
from ..render.without_effect import explain_cold_start
from ..workload.prerequisites import check_storage
from .index import find_checkpoint
from .restore_condition import (
    ANY_IMAGE,
    COLD_DIGEST,
    FAILED,
    MIN_FAILED_PODS,
    MISSING,
    NORMAL_REASONS,
    RESTORE,
    RESTORED,
    WAITING,
    FailedPod,
    RestoreState,
    annotation_of,
    describe_failures,
    describe_fallback,
    describe_waiting,
    find_failed_pods,
    find_restore_obstacle,
    format_snapshot,
    image_of,
    is_restored,
    make_restore,
)

TURN_SECONDS: Final = 5.0  # seconds between two looks whether another component's pods have been replaced
IN_PROGRESS: Final = frozenset({"CheckpointNotReady", "CheckpointFailed"})  # an earlier version may serve meanwhile
SWITCH: Final = Switch(
    "checkpoints",
    Line.V1_5,
    "operator 1.5 and later have no DynamoCheckpoints: nothing acts on it, and no pod is restored from it; delete it",
)
_AGENTS: Final = Resource("apps", "v1", "daemonsets", "DaemonSet")


class RestoreChoice(NamedTuple):
    """The snapshot that a component's pods are restored from, and its restore condition; both are None without a checkpoint."""

    restore: Restore | None = None
    state: RestoreState | None = None
    is_waiting: bool = False  # whether it has no pods until its checkpoint is ready
    checkpoint: str = ""  # the name of the DynamoCheckpoint that pods are restored from
    requeue_after: float = 0.0  # seconds after which to look again although nothing changed
    claims: Sequence[Any] = ()  # to make before pods
    annotations: Mapping[str, str] = {}  # to set on the object: snapshots from which pods are not restored any more
    tried_restore: Restore | None = None  # what some of its pods may be restored from
    offer: str = ""  # to new pods, while those that run stay cold
    failed_pods: Sequence[FailedPod] = ()  # pods that could not be restored, to be replaced by cold ones


class PodTemplates(NamedTuple):
    """Pod templates of one component."""

    cold: Node  # as rendered without a snapshot
    live: Node | None = None  # as it is
    cold_digest: str | None = None  # digest of the cold one that was noted beside the live one
    has_pods: bool = False  # whether any pods were asked for, which are not taken away again


def find_pod_templates(context: Context, deployment: Node) -> PodTemplates:
    """Find the pod templates of a Deployment; `deployment` is as rendered without a snapshot."""
    live = context.cache.get(key_of(deployment))
    if live is None:
        return PodTemplates(deployment["spec"]["template"])
    mark = string_map(live["metadata"].get("annotations")).get(COLD_DIGEST)
    spec = live.get("spec") or {}
    return PodTemplates(deployment["spec"]["template"], spec.get("template") or {}, mark, has_pods=spec.get("replicas") != 0)


def read_checkpoint_block(component: Node) -> Node | None:
    """Read the part of a component's spec about its checkpoint."""
    return read_experimental(component.get("spec") or {}, "checkpoint")


def is_unlisted(context: Context, settings: Settings) -> bool:
    """Return whether the checkpoints are not listed yet. If they can't be read, this process has none, and need not wait."""
    return not settings.pod_snapshots and not context.cache.knows(CHECKPOINT) and CHECKPOINT not in context.cache.unavailable()


async def choose_restore(context: Context, obj: Node, pods: PodTemplates | None, settings: Settings) -> RestoreChoice:
    """For one component's object, or what a graph on Grove says of it. Costs at most one read of the cluster.

    Raises: ApiError, StandDownError; RenderError where component, checkpoint and configuration contradict each other.
    """
    wanted = read_checkpoint_block(obj)
    if wanted is None:
        return RestoreChoice()
    if settings.pod_snapshots:
        state = await read_pod_snapshot(context, obj, wanted, enabled=settings.checkpoints.enabled)
        return RestoreChoice(state=state, requeue_after=SLOW_RETRY_SECONDS if state.reason == MISSING else 0.0)
    if not names_checkpoint(wanted, ("spec", "experimental", "checkpoint"), settings.line):
        return RestoreChoice(state=RestoreState(MISSING, "neither checkpointRef nor identity says which checkpoint; pods start cold"))
    namespace, checkpoints = key_of(obj).namespace, settings.checkpoints
    checkpoint = find_checkpoint(context.cache, namespace, wanted)
    any_image = _any_image(context, obj)
    hindered = find_restore_obstacle(checkpoint, obj["spec"], checkpoints, any_image=any_image)
    if (waits := _find_wait(context, obj["spec"], pods, hindered, settings)) is not None:
        return RestoreChoice(state=waits, is_waiting=True)
    if checkpoint is None or pods is None:
        return _keep_restored(context, pods, checkpoints) or RestoreChoice(state=hindered)
    roll = context.settings.checkpoint.roll
    held_version = "" if roll else _read_running_version(pods)
    if hindered is not None and not (held_version and hindered.reason in IN_PROGRESS):
        return RestoreChoice(state=hindered)
    kept = await _find_storage(context, namespace, settings)
    if isinstance(kept, RestoreState):
        return RestoreChoice(state=kept)
    claims = storage.make_claims(checkpoints, namespace)
    if roll and pods.has_pods and pods.live is not None and contains(pods.live, pods.cold) and _another_rolls(context, obj):
        text = f"DynamoCheckpoint {checkpoint['metadata']['name']} is Ready; pods are replaced once those of another component have been"
        return RestoreChoice(state=RestoreState(WAITING, text), requeue_after=TURN_SECONDS)
    restore = make_restore(checkpoint, kept, checkpoints)
    name = str(checkpoint["metadata"]["name"])
    made = _choose(pods, restore, name, held_version, ready=hindered is None, roll=roll)
    tried = made.restore or restore
    if context.settings.checkpoint.fallback and string_map(obj["metadata"].get("annotations")).get(annotation_of(obj)) == format_snapshot(
        tried
    ):
        return RestoreChoice(state=describe_fallback(obj, tried, name), tried_restore=tried)
    made = made._replace(checkpoint=name, claims=claims, tried_restore=tried)
    if made.restore is not None:
        return made
    image, owner = "" if any_image else image_of(checkpoint), (str(obj["kind"]), key_of(obj).name)
    return made._replace(offer=format_offer(restore, list_targets(obj["spec"]), image, owner))


def _find_wait(
    context: Context, component: Node, pods: PodTemplates | None, hindered: RestoreState | None, settings: Settings
) -> RestoreState | None:
    """Return the state of a component that has no pods until its checkpoint is ready; None if it has pods or nothing would end the wait."""
    others = bool((read_experimental(component, "checkpoint") or {}).get("checkpointRef")) and SWITCH.is_off(context.settings)
    awaited = CHECKPOINT not in context.cache.unavailable() and (others or SWITCH.is_on(context.settings, context.detector.known))
    if pods is None or pods.has_pods or not (settings.checkpoints.enabled and awaited):
        return None
    return describe_waiting(hindered, component)


def _choose(pods: PodTemplates, wanted: Restore, name: str, held_version: str, *, ready: bool, roll: bool) -> RestoreChoice:
    """Choose the snapshot that pods are restored from: of the version that is wanted, or of the one that running pods hold. Pure."""
    if held_version and not (ready and held_version == wanted.version):
        text = f"pods are restored from version {held_version} of DynamoCheckpoint {name}"
        rest = "is Ready, and the next change of their template restores from it" if ready else "is not ready"
        now = RestoreState(WAITING if ready else RESTORED, f"{text}; version {wanted.version} {rest}")
        return RestoreChoice(wanted._replace(version=held_version), now)
    live = pods.live if pods.has_pods else None
    same = contains(live, pods.cold) if pods.cold_digest is None else pods.cold_digest == digest(pods.cold)
    # workers that run well are not replaced for it, unless that is configured: the shape is taken with their next change
    if live is not None and same and not roll and not is_restored(live):
        text = f"DynamoCheckpoint {name} is Ready; running pods stay, new ones are restored by the webhook of pods, if it is installed"
        return RestoreChoice(state=RestoreState(WAITING, text))
    return RestoreChoice(wanted, RestoreState(RESTORED, f"pods are restored from version {wanted.version} of DynamoCheckpoint {name}"))


def _keep_restored(context: Context, pods: PodTemplates | None, checkpoints: CheckpointSettings) -> RestoreChoice | None:
    """Keep the snapshot of running pods with the same images while the checkpoints can't be read; None in any other case."""
    lacking = context.cache.unavailable().get(CHECKPOINT)
    if lacking is None or pods is None or pods.live is None or not checkpoints.enabled:
        return None
    if not is_restored(pods.live) or list_images(pods.live) != list_images(pods.cold):
        return None
    text = f"pods stay restored, and {CHECKPOINT} can't be read: {lacking}"
    return RestoreChoice(read_restore(pods.live, checkpoints), RestoreState(RESTORED, text))


def _read_running_version(pods: PodTemplates) -> str:
    """The version that running pods are restored from, if nothing else of them changes; empty otherwise."""
    if pods.live is None or not is_restored(pods.live) or pods.cold_digest != digest(pods.cold):
        return ""
    return string_map((pods.live.get("metadata") or {}).get("annotations")).get(ARTIFACT_VERSION, "")


async def write_choices(context: Context, obj: Node, choices: Collection[RestoreChoice]) -> None:
    """Make the claims, record snapshots that were given up, and delete pods that wait for them. Raises: ApiError, StandDownError."""
    for claim in next((choice.claims for choice in choices if choice.claims), ()):  # the same for all
        await context.writer.put(claim, None)
    if given_up := {name: text for choice in choices for name, text in choice.annotations.items()}:
        await context.writer.patch_metadata(obj, {"uid": uid_of(obj), "annotations": given_up})
    for name, _, uid in [failure for choice in choices for failure in choice.failed_pods]:
        context.writer.check_may_write(obj)
        try:
            await context.cluster.delete(PODS, name, key_of(obj).namespace, uid=uid)
        except ConflictError:
            continue  # another pod has the name now
        except ForbiddenError as error:
            await context.record_event(
                obj, "Warning", "Forbidden", f"Pod {name} could not be restored, and must be deleted by hand: {error.message}"
            )
            continue
        await context.record_event(
            obj, "Normal", "PodReplaced", f"Pod {name} could not be restored, and is replaced by one that starts cold"
        )


async def follow_failures(context: Context, obj: Node, choice: RestoreChoice, labels: str, replicas: int, *, ready: bool) -> RestoreChoice:
    """Return `choice`, or a cold start where pods keep failing; `labels` select the component's pods.

    Pods are read at most once a minute for one component, and only while it isn't ready. Raises: ApiError, StandDownError.
    """
    if choice.tried_restore is None or ready or not replicas:
        return choice
    again, place = choice._replace(requeue_after=READ_SECONDS), f"{uid_of(obj)}/{annotation_of(obj)}"
    if context.reads.may(place, key_of(obj).namespace):
        try:
            pods = await context.cluster.list(PODS, key_of(obj).namespace, labels=f"{labels},{RESTORE_TARGET}=true")
        except ForbiddenError:
            return again  # the graph's message says that pods can't be read
        failed, falls_back = find_failed_pods(pods.items, choice.tried_restore), context.settings.checkpoint.fallback
        broken = failed if falls_back else []
        if choice.restore is None and not choice.offer:  # given up before
            return again._replace(failed_pods=broken)
        # of pods that are added to cold ones, the first that fails shows it
        if falls_back and len(failed) >= (min(MIN_FAILED_PODS, replicas) if choice.restore is not None else 1):
            state = describe_fallback(obj, choice.tried_restore, choice.checkpoint)
            return RestoreChoice(
                state=state,
                annotations={annotation_of(obj): format_snapshot(choice.tried_restore)},
                failed_pods=broken,
                requeue_after=READ_SECONDS,
            )
        context.reads.texts[place] = describe_failures(choice.state, failed, falls_back=falls_back)
    text = context.reads.texts.get(place)
    return again._replace(state=RestoreState(FAILED, text)) if text else again


async def record_restore_event(context: Context, obj: Node, before: Node, now: Node) -> None:
    """An Event when the reason of the condition has changed."""
    condition = condition_of(now, RESTORE)
    if condition and condition["reason"] != condition_of(before, RESTORE).get("reason"):
        await context.record_event(
            obj, "Normal" if condition["reason"] in NORMAL_REASONS else "Warning", condition["reason"], condition["message"]
        )


async def _find_storage(context: Context, namespace: str, settings: Settings) -> storage.Storage | RestoreState:
    """The claim that holds the snapshot, or why there is none. Raises: ApiError, RenderError."""
    kept = storage.find_configured_storage(settings.checkpoints)
    if kept is not None:
        if lacking := await check_storage(context, settings.checkpoints, namespace):
            raise RenderError((), lacking)
        return kept
    try:
        agents = await context.cluster.list(_AGENTS, namespace, labels=f"{PART}={storage.AGENT}")
        return storage.find_agent_storage(agents.items, namespace)
    except ForbiddenError as error:
        return RestoreState("RestoreUnavailable", f"the reconciler lacks a permission: {error.message}; pods start cold")
    except RenderError as error:
        return RestoreState("RestoreUnavailable", f"{error}; pods start cold")


def _any_image(context: Context, obj: Node) -> bool:
    """Whether an object, or the graph that made it, lets its pods be restored from another image's snapshot."""
    owner = controller_reference(obj) or {}
    graph = context.cache.get(Key(GRAPH, key_of(obj).namespace, str(owner.get("name")))) if owner.get("kind") == GRAPH else None
    return any(string_map(holder["metadata"].get("annotations")).get(ANY_IMAGE) == "true" for holder in (obj, graph) if holder is not None)


def _another_rolls(context: Context, obj: Node) -> bool:
    """Whether pods of another component of the graph are not there yet."""
    owner = context.cache.get(Key(GRAPH, key_of(obj).namespace, str((controller_reference(obj) or {}).get("name"))))
    others = [other for other in context.cache.owned(owner) if other["kind"] == COMPONENT and key_of(other) != key_of(obj)] if owner else []
    return any(condition_of(other.get("status") or {}, "Available").get("status") != "True" for other in others)


POD_SNAPSHOTS: Final = Resource("nvidia.com", "v1alpha1", "podsnapshots", "PodSnapshot")
_UNAVAILABLE: Final = "RestoreUnavailable"


async def read_pod_snapshot(context: Context, obj: Node, wanted: Node, *, enabled: bool) -> RestoreState:
    """Return the state of a component with a checkpoint; its pods start cold. Costs at most one read. Raises: ApiError."""
    name, why = str(wanted.get("checkpointRef") or ""), explain_cold_start(wanted)
    if not enabled:
        return RestoreState("RestoreOff", "checkpoint.enabled is false in the configuration; pods start cold")
    if not name:
        return RestoreState(_UNAVAILABLE, why)
    try:
        snapshot = await context.cluster.get(POD_SNAPSHOTS, name, key_of(obj).namespace)
    except NotServedError:
        return RestoreState(MISSING, "the cluster serves no PodSnapshots: the Snapshot operator is not installed; pods start cold")
    except ForbiddenError as error:
        text = f"the reconciler lacks a permission: {error.message}; pods start cold; {SWITCH.grant}"
        return RestoreState("Forbidden", text)
    if snapshot is None:
        return RestoreState(MISSING, f"PodSnapshot {name} is not there; pods start cold")
    return RestoreState(_UNAVAILABLE, _explain_other(snapshot, list_targets(obj["spec"])) or f"PodSnapshot {name} is there: {why}")


def _explain_other(snapshot: Node, targets: list[str]) -> str:
    """Explain why a snapshot is of another container; empty where it is of the one that would be restored, or names none."""
    reference = ((snapshot.get("spec") or {}).get("source") or {}).get("podRef") or {}
    containers = reference.get("containers")
    taken = [str(container) for container in containers] if isinstance(containers, list) else []
    if not taken or taken == targets:
        return ""
    what = f"PodSnapshot {snapshot['metadata']['name']} is of container {', '.join(taken)[:200]}"
    return f"{what}, the component restores {', '.join(targets)}; pods start cold"


MAX_OFFERS: Final = 300  # of one checkpoint: half of what its annotations may hold


async def publish_offers(context: Context, namespace: str, offers: Mapping[str, tuple[str, str]]) -> None:
    """Make the offers to some components so. `offers`: value of the pods' label -> name of the checkpoint, and the offer; "" for none.

    Reads only the cache, and writes nothing where nothing changes. Raises: ApiError, StandDownError.
    """
    for checkpoint in context.cache.all(CHECKPOINT, namespace):
        name = key_of(checkpoint).name
        wanted = {OFFER + label: text if name == of else "" for label, (of, text) in offers.items()}
        change = decide_offers(checkpoint, wanted, lambda kind, named: context.cache.get(Key(kind, namespace, named)) is not None)
        if change:
            with contextlib.suppress(ForbiddenError):  # then new pods start cold, as the others do
                await context.writer.patch_metadata(checkpoint, {"uid": uid_of(checkpoint), "annotations": change})


def decide_offers(checkpoint: Node, wanted: Mapping[str, str], exists: Callable[[str, str], bool]) -> dict[str, str | None]:
    """The changed annotations of a checkpoint; those whose owner doesn't exist any more go with the next change. Pure."""
    now = {name: text for name, text in (checkpoint["metadata"].get("annotations") or {}).items() if name.startswith(OFFER)}
    change: dict[str, str | None] = {name: text or None for name, text in wanted.items() if now.get(name, "") != text}
    if not change:
        return {}
    change |= {name: None for name, text in now.items() if name not in wanted and not _is_owned(text, exists)}
    room = MAX_OFFERS - len(now.keys() - change.keys()) - sum(name in now and text is not None for name, text in change.items())
    added = [name for name, text in change.items() if text is not None and name not in now]
    return {name: text for name, text in change.items() if name not in added[max(room, 0) :]}


def _is_owned(text: str, exists: Callable[[str, str], bool]) -> bool:
    try:
        return exists(*read_owner(text))
    except (ValueError, KeyError, TypeError):
        return False
