"""The restore condition: whether a component's pods are restored from its checkpoint, which could not be, and the messages. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from ...conversion.lens.protocol import Fields
from ...policies.components import list_containers
from ..common.conditions import Condition, condition_of, set_condition
from ..common.keys import controller_reference, uid_of
from ..common.resources import CHECKPOINT, COMPONENT, GRAPH
from ..render.checkpoint import storage
from ..render.checkpoint.identity import hash_identity, read_artifact_version, read_identity_hash
from ..render.checkpoint.job import find_target_image
from ..render.checkpoint.restore import Restore, list_targets
from ..render.checkpoint.storage import Storage
from ..render.children import render_direct
from ..render.errors import RenderError
from ..render.gms import GATE, shares_gpus
from ..render.graph import (
    NEW,
    WAIT,
    convert_for_render,
    count_nodes,
    names_checkpoint,
    read_experimental,
    read_graph,
    spans_pods,
    waits_for_checkpoint,
)
from ..render.merge import object_items, string_map
from ..render.names import ARTIFACT_VERSION, CHECKPOINT_ID, MAIN, PART, RESTORE_STATUS, RESTORE_TARGET, lower_name
from ..render.object_index import ObjectIndex
from ..render.observed import NOTHING, ObservedState
from ..render.settings import CheckpointSettings, Settings
from ..render.workload import read_graph_label
from .phases import IMAGE, READY

RESTORE: Final = "Restore"  # the condition, of components and of graphs
RESTORED: Final = "Restored"
WAITING: Final = "RestoreAvailable"
FAILED: Final = "RestoreFailed"
MISSING: Final = "CheckpointMissing"
MIN_FAILED_PODS: Final = 3  # that could not be restored show that it is the snapshot
FAILURE_KEY: Final = "webhooks.nvidia.com/restore-failed"  # annotation: the snapshot from which pods are not restored any more
ANY_IMAGE: Final = "webhooks.nvidia.com/restore-any-image"
COLD_DIGEST: Final = "webhooks.nvidia.com/cold-template"  # annotation of a Deployment: digest of the pods that it has without a snapshot
_AWAITED: Final = frozenset({"CheckpointNotReady", "CheckpointFailed", MISSING})  # reasons that a checkpoint may end
_COLD_START: Final = "pods start cold"
# the worst first: what a graph says of several components
_ALARMING: Final = ("Forbidden", "ControllerOff", MISSING, "CheckpointFailed", FAILED, "RestoreUnavailable", "ImageDiffers")
NORMAL_REASONS: Final = ("RestoreOff", "CheckpointNotReady", WAITING, RESTORED)  # reasons that are no warning
_ORDER: Final = (*_ALARMING, *NORMAL_REASONS)


class RestoreState(NamedTuple):
    """Reason and message of a component's restore condition."""

    reason: str
    message: str


def find_restore_obstacle(
    checkpoint: Fields | None, component: Fields, checkpoints: CheckpointSettings, *, any_image: bool
) -> RestoreState | None:
    """Find why a component's pods can't be restored from its checkpoint, if so. Raises: RenderError where the two contradict each other."""
    if spans_pods(component):
        why = "is on several nodes" if count_nodes(component) > 1 else "shares GPUs between pods"
        return RestoreState("RestoreUnavailable", f"a component that {why} is not restored; {_COLD_START}")
    named = str((read_experimental(component, "checkpoint") or {}).get("checkpointRef") or "")
    if checkpoint is None:
        what = f"DynamoCheckpoint {named} is not there" if named else "there is no DynamoCheckpoint of this identity"
        return RestoreState(MISSING if named else "CheckpointNotReady", f"{what}; {_COLD_START}")
    name, status = checkpoint["metadata"]["name"], checkpoint.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    if phase != READY:
        why = f": {status['message']}" if status.get("message") else ""
        reason = "CheckpointFailed" if phase == "Failed" else "CheckpointNotReady"
        return RestoreState(reason, f"DynamoCheckpoint {name} is {phase}{why[:800]}; {_COLD_START}")
    if not checkpoints.enabled:
        return RestoreState("RestoreOff", f"DynamoCheckpoint {name} is Ready, but checkpoint.enabled is false in the configuration")
    _check_gpus(checkpoint, component, gate=checkpoints.gate)
    image, ours = image_of(checkpoint), _image(component)
    if image and ours != image and not any_image:
        text = f"DynamoCheckpoint {name} was taken of image {image}, the component has {ours}; pods start cold"
        return RestoreState("ImageDiffers", f'{text}; set annotation {ANY_IMAGE}: "true" to restore them anyway'[:1000])
    return None


def describe_waiting(state: RestoreState | None, component: Fields) -> RestoreState | None:
    """State of a component whose pods wait for the checkpoint; None if it doesn't wait."""
    if state is None or state.reason not in _AWAITED or not waits_for_checkpoint(component):
        return None
    return state._replace(message=state.message.removesuffix(_COLD_START) + "pods wait for it, as startupPolicy says")


def image_of(checkpoint: Fields) -> str:
    """The image of the container whose snapshot was taken."""
    noted = string_map(checkpoint["metadata"].get("annotations")).get(IMAGE)
    return noted or find_target_image(checkpoint)


def is_restored(template: Fields) -> bool:
    """Whether pods of a template are restored ones."""
    return string_map((template.get("metadata") or {}).get("labels")).get(RESTORE_TARGET) == "true"


def summarize_states(states: Mapping[str, RestoreState]) -> RestoreState | None:
    """The state of a graph, which is that of its worst components; None where none has a checkpoint."""
    if not states:
        return None
    worst = min((state.reason for state in states.values()), key=lambda reason: _ORDER.index(reason) if reason in _ORDER else -1)
    text = "; ".join(f"{name}: {state.message}" for name, state in sorted(states.items()) if state.reason == worst)
    return RestoreState(worst, text[:1000])


def make_restore(checkpoint: Fields, volume: Storage, checkpoints: CheckpointSettings) -> Restore:
    """Describe the snapshot that pods are restored from."""
    return Restore(read_identity_hash(checkpoint), read_artifact_version(checkpoint), volume, checkpoints.seccomp_profile)


def _check_gpus(checkpoint: Fields, component: Fields, *, gate: bool) -> None:
    path = ("spec", "experimental", "gpuMemoryService")
    wants = isinstance((component.get("experimental") or {}).get("gpuMemoryService"), dict)
    if shares_gpus(checkpoint):
        if not gate:
            raise RenderError(("spec", "experimental", "checkpoint"), f"checkpoint.gpuMemoryService: {GATE}")
        if not wants:
            text = f"must be set, as for DynamoCheckpoint {checkpoint['metadata']['name']}: its state is in shared GPU memory"
            raise RenderError(path, text)
    elif wants:
        text = f'gpuMemoryService restore requires resolved checkpoint "{checkpoint["metadata"]["name"]}" to enable gpuMemoryService'
        raise RenderError(path, text)


def _image(component: Fields) -> str:
    """The image of a component's container that is restored."""
    target = list_targets(component)[0]
    containers = {container.get("name"): container for container in list_containers(component)}
    return str((containers.get(target) or containers.get(MAIN) or {}).get("image") or "")


def set_restore_condition(status: Fields, state: RestoreState | None, generation: int | None, moment: datetime) -> Fields:
    """A status with the condition, or without it where there is no checkpoint."""
    if state is None:
        return set_condition(status, RESTORE, None, moment)
    word = "True" if state.reason == RESTORED else "False"
    return set_condition(status, RESTORE, Condition(RESTORE, word, state.reason, state.message, generation), moment)


def read_restore_condition(status: Fields) -> RestoreState | None:
    """Read the condition about the checkpoint from a component's status."""
    condition = condition_of(status, RESTORE)
    return RestoreState(str(condition["reason"]), str(condition["message"])) if condition else None


class FailedPod(NamedTuple):
    """A pod that could not be restored."""

    pod: str
    container: str
    uid: str  # of the pod, as another one of this name may come


def find_failed_pods(pods: Iterable[Fields], restore: Restore) -> list[FailedPod]:
    """List the pods whose agent reports that they can't be restored from this snapshot, sorted by name. Such a pod waits for ever.

    Pods without a controller don't count: any user may label a pod like this, and no controller would replace it.
    """
    failed = []
    for pod in pods:
        metadata = pod["metadata"]
        labels, annotations = string_map(metadata.get("labels")), string_map(metadata.get("annotations"))
        theirs = labels.get(RESTORE_TARGET), labels.get(CHECKPOINT_ID), annotations.get(ARTIFACT_VERSION)
        if metadata.get("deletionTimestamp") or controller_reference(pod) is None or theirs != ("true", restore.hash, restore.version):
            continue
        names = (key.partition(f"{RESTORE_STATUS}.")[2] for key, value in sorted(annotations.items()) if value == "failed")
        container = next((name for name in names if name), "")
        if container:
            failed.append(FailedPod(str(metadata["name"]), container, uid_of(pod)))
    return sorted(failed)


def annotation_of(obj: Fields) -> str:
    """The annotation of a component's object, or of a graph on Grove for one of its components."""
    return f"{FAILURE_KEY}.{lower_name(str(obj['spec'].get('name') or ''))[:40].rstrip('-.')}" if obj.get("kind") == GRAPH else FAILURE_KEY


def format_snapshot(restore: Restore) -> str:
    """The snapshot, in the annotation."""
    return f"{restore.hash}/{restore.version}"


def describe_fallback(obj: Fields, restore: Restore, checkpoint: str) -> RestoreState:
    """Return the state of an object whose pods start cold because they could not be restored."""
    text = f"pods could not be restored from version {restore.version} of DynamoCheckpoint {checkpoint}, and start cold"
    return RestoreState(FAILED, f"{text}; take another version, or remove annotation {annotation_of(obj)} to try again")


def describe_failures(state: RestoreState | None, failed: list[FailedPod], *, falls_back: bool) -> str:
    """Describe the pods that could not be restored; empty if there are none."""
    if not failed:
        return ""
    names = ", ".join(f"{failure.pod} (container {failure.container})" for failure in failed[:3])
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    begun = state.message if state is not None and state.reason == RESTORED else "pods are restored"
    end = (
        f"with {MIN_FAILED_PODS} such pods, or as many as there are replicas, they start cold"
        if falls_back
        else "checkpoint.fallback is false"
    )
    return f"{begun}, but the agent could not restore {names}{more}, which wait for ever; {end}"[:1000]


class PodStart(NamedTuple):
    """The way in which the pods of a component start."""

    restore: Restore | None = None  # the snapshot that they begin with; None where they start cold
    is_waiting: bool = False  # whether there are none until their checkpoint is ready


def observe_offline(obj: Fields, index: ObjectIndex, settings: Settings) -> ObservedState:
    """Return what a graph or component that has no pods yet would find. Costs one more render of a graph where checkpoints matter.

    Raises: RenderError where component, checkpoint and configuration contradict each other, or a part can't be rendered.
    """
    namespace = str(obj["metadata"]["namespace"])
    if obj.get("kind") == COMPONENT:
        name = str(obj["metadata"]["name"])
        left = frozenset({name}) if index.get(GRAPH, namespace, read_graph_label(obj)) is not None else frozenset()
        return _add_starts(
            {name: find_start(convert_for_render(obj, NEW._replace(line=settings.line)), index, settings)}, NOTHING._replace(orphans=left)
        )
    if obj.get("kind") != GRAPH or settings.pod_snapshots or not (index.all(CHECKPOINT, namespace) or _mentions_waiting(obj)):
        return NOTHING
    graph = read_graph(obj, settings.line)
    known = {
        member.name
        for member in graph.members
        if (wanted := read_experimental(member.fields, "checkpoint")) and _find_checkpoint(wanted, index, namespace)
    }
    observed = NOTHING._replace(checkpoints=frozenset(known))
    objects = {child["metadata"]["name"]: child for child in render_direct(obj, settings, observed).children if child["kind"] == COMPONENT}
    objects = objects or {member.name: {**obj, "spec": {**member.fields, "name": member.name}} for member in graph.members}
    marks, paths = string_map(obj["metadata"].get("annotations")), {member.name: member.path for member in graph.members}
    starts = {}
    for name, component in objects.items():
        try:
            starts[name] = find_start(component, index, settings, marks)
        except RenderError as error:
            raise RenderError((*paths[component["spec"]["name"]], *error.path[1:]), error.reason) from None
    return _add_starts(starts, observed)


def find_start(component: Fields, index: ObjectIndex, settings: Settings, marks: dict[str, str] | None = None) -> PodStart:
    """Find how the pods of a component start. Raises: RenderError."""
    wanted = read_experimental(component.get("spec") or {}, "checkpoint")
    if wanted is None or settings.pod_snapshots or not names_checkpoint(wanted, ("spec", "experimental", "checkpoint"), settings.line):
        return PodStart()
    namespace, checkpoints = str(component["metadata"]["namespace"]), settings.checkpoints
    checkpoint = _find_checkpoint(wanted, index, namespace)
    annotations = {**(marks or {}), **string_map(component["metadata"].get("annotations"))}
    hindered = find_restore_obstacle(checkpoint, component["spec"], checkpoints, any_image=annotations.get(ANY_IMAGE) == "true")
    if hindered is not None or checkpoint is None:
        return PodStart(is_waiting=checkpoints.enabled and describe_waiting(hindered, component["spec"]) is not None)
    if text := explain_missing_claim(index, checkpoints, namespace):
        raise RenderError(("spec", "experimental", "checkpoint"), text)
    volume = storage.find_configured_storage(checkpoints) or _find_agent_storage(index, namespace)
    return PodStart(make_restore(checkpoint, volume, checkpoints) if volume is not None else None)


def _add_starts(starts: Mapping[str, PodStart], observed: ObservedState = NOTHING) -> ObservedState:
    restores = {name: start.restore for name, start in starts.items() if start.restore is not None}
    return observed._replace(restores=restores, waiting_components=frozenset(name for name, start in starts.items() if start.is_waiting))


def _mentions_waiting(graph: Fields) -> bool:
    """Whether any part of a graph of either version may wait for its checkpoint; a look at each component."""
    spec = graph.get("spec") or {}
    services = spec.get("services")
    blocks = [service.get("checkpoint") for service in services.values() if isinstance(service, dict)] if isinstance(services, dict) else []
    blocks += [read_experimental(component, "checkpoint") for component in object_items(spec.get("components"))]
    return any(isinstance(block, dict) and block.get("startupPolicy") == WAIT for block in blocks)


def explain_missing_claim(index: ObjectIndex, checkpoints: CheckpointSettings, namespace: str) -> str:
    """Explain a configured claim that is missing and not to be created; else empty. Raises: RenderError as `find_configured_storage`."""
    volume = storage.find_configured_storage(checkpoints)
    if volume is None or checkpoints.pvc.create or index.get("PersistentVolumeClaim", namespace, volume.claim) is not None:
        return ""
    return f"{storage.explain_missing(volume, namespace)}; where the cluster has it, add it to the input"


def _find_checkpoint(wanted: Fields, index: ObjectIndex, namespace: str) -> Fields | None:
    """The checkpoint that is asked for; of several of one identity the oldest."""
    if name := str(wanted.get("checkpointRef") or ""):
        return index.get(CHECKPOINT, namespace, name)
    identity = wanted.get("identity")
    if not isinstance(identity, dict) or not identity:
        return None
    same = [checkpoint for checkpoint in index.all(CHECKPOINT, namespace) if read_identity_hash(checkpoint) == hash_identity(identity)]
    return min(
        same,
        key=lambda checkpoint: (str(checkpoint["metadata"].get("creationTimestamp") or ""), str(checkpoint["metadata"]["name"])),
        default=None,
    )


def _find_agent_storage(index: ObjectIndex, namespace: str) -> storage.Storage | None:
    """Find where an agent of the input keeps snapshots; None if none does, or if an agent doesn't have the shape of a DaemonSet."""
    try:
        agents = [
            agent for agent in index.all("DaemonSet", namespace) if string_map(agent["metadata"].get("labels")).get(PART) == storage.AGENT
        ]
        return storage.find_agent_storage(agents, namespace)
    except (RenderError, AttributeError, TypeError):
        return None
