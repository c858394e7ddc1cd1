"""Pods of graphs, components and Jobs, which are read only when it matters: why they wait, ended, or can't pull an image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ...kube.errors import ApiError
from ...kube.protocol import Cluster, Node
from ...kube.resources import PODS
from ...kube.times import parse_time
from ..common.conditions import READY, Say, condition_of
from ..common.keys import uid_of
from ..common.problems import LONGEST
from ..common.resources import CLIQUE, GRAPH, LWS, SET_NAME
from ..engine.reads import EVERY, PATIENCE
from ..render.discovery import account_of
from ..render.names import COMPONENT, GRAPH_NAME, SELECTOR

if TYPE_CHECKING:  # the playground renders without what a context needs
    from ..engine.context import Context

_RIGHTS: Final = frozenset({"ServiceAccount", "Role", "RoleBinding"})
_ENDED: Final = ("Succeeded", "Failed")
PAGE: Final = 100  # pods of an object that are read; anybody may label large ones
_METADATA: Final = ("name", "labels", "creationTimestamp", "deletionTimestamp")
PULLED: Final = "ImagePulled"  # the condition
PULL_FAILED: Final = "ImagePullFailed"  # its reason, and that of the Event
_REASONS: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_MOST: Final = 5  # containers that are named
_LEVELS: Final = 3  # between a graph and its PodCliques: set, group, clique
NAMED: Final = 3  # components whose oldest waiting pod is named
_CUT: Final = 300  # characters of one reason, or of a kubelet's message
_MARK: Final = ". Pods wait: "
_USUAL: Final = frozenset({"ContainerCreating", "PodInitializing"})


def on_leader_worker_sets(component: Node) -> bool:
    """Whether a component's object has a LeaderWorkerSet, which goes on where the cluster can't have new ones."""
    return bool(((component.get("status") or {}).get("component") or {}).get("componentKind") == LWS)


async def pods_of(context: Context, obj: Node) -> list[Node]:
    """The unfinished pods of a graph or a component, oldest first, with their account and status alone. Raises: ApiError."""
    metadata = obj["metadata"]
    label = GRAPH_NAME if obj["kind"] == GRAPH else SET_NAME if on_leader_worker_sets(obj) else SELECTOR
    found = await context.cluster.list(PODS, metadata["namespace"], labels=f"{label}={metadata['name']}", limit=PAGE, trim=_trim)
    alive = [one for one in found.items if (one.get("status") or {}).get("phase") not in _ENDED]
    return sorted(alive, key=lambda one: (str(one["metadata"].get("creationTimestamp") or ""), one["metadata"]["name"]))


async def find_used_permissions(context: Context, graph: Node, wanted: set[tuple[str, str]]) -> frozenset[str]:
    """The names of unneeded accounts, roles and bindings that pods still use. Raises: ApiError."""
    unwanted = {one["metadata"]["name"] for one in context.cache.owned(graph) if one["kind"] in _RIGHTS}
    unwanted -= {name for kind, name in wanted if kind in _RIGHTS}
    if not unwanted:
        return frozenset()
    used = {(one.get("spec") or {}).get("serviceAccountName") for one in await pods_of(context, graph)}
    return frozenset(name for name in unwanted if account_of(name) in used)


def _trim(pod: Node) -> None:
    """Leaves what is read of a pod, which may be a hundredth of it."""
    metadata, account = pod["metadata"], (pod.get("spec") or {}).get("serviceAccountName")
    pod["metadata"] = {name: metadata[name] for name in _METADATA if name in metadata}
    pod["spec"] = {"serviceAccountName": account} if account else {}


async def pods_of_job(cluster: Cluster, job: Node) -> list[Node]:
    """The pods of a Job, few as they are. Raises: ApiError."""
    metadata = job["metadata"]
    return (await cluster.list(PODS, metadata["namespace"], labels=f"job-name={metadata['name']}", limit=PAGE)).items


async def add_pod_reasons(context: Context, obj: Node, status: Node, condition: str = READY) -> tuple[Node, float]:
    """A status of what is not ready whose condition also says why pods wait, and the seconds after which to look again."""
    ready = condition_of(status, condition)
    since = parse_time(ready.get("lastTransitionTime"))
    if since is None:
        return status, 0.0
    age = (context.clocks.wall() - since).total_seconds()
    uid = uid_of(obj)
    if 0 <= age < PATIENCE:  # what became so in the future says nothing: the wall clock went back
        return status, PATIENCE - age if context.reads.is_early(uid, since) else EVERY
    pause = min(age, EVERY) if age > 0 else EVERY
    before = str(condition_of(obj.get("status") or {}, condition).get("message") or "")
    left = context.reads.seconds_until(uid, obj["metadata"]["namespace"], pause)
    if not left:
        try:
            context.reads.texts[uid] = _refused(context, obj) or explain_waiting_pods(await pods_of(context, obj))
        except ApiError as error:
            context.reads.texts[uid] = f"pods can't be read: {error.message}"
    text = context.reads.texts.get(uid, before.partition(_MARK)[2])
    if not text:
        return status, left or pause
    told = {**ready, "message": f"{ready['message']}{_MARK}{text}"[:LONGEST]}
    return {**status, "conditions": [told if one is ready else one for one in status["conditions"]]}, left or pause


def _refused(context: Context, obj: Node) -> str:
    """Why Deployments and PodCliques below an object can't even make their pods."""
    failed = ((one["metadata"]["name"], _failure(one)) for one in _list_below(context, obj, _LEVELS))
    return "; ".join([f"{name}: {why[:_CUT]}" for name, why in failed if why][:NAMED])


def _list_below(context: Context, obj: Node, levels: int) -> Iterator[Node]:
    for one in context.cache.owned(obj) if levels else ():
        yield one
        yield from _list_below(context, one, levels - 1)


def _failure(one: Node) -> str:
    status: Node = one.get("status") or {}
    if one["kind"] == CLIQUE:
        errors, wanted = status.get("lastErrors") or (), one["spec"].get("replicas", 1)
        last = errors[-1] if errors and int(status.get("replicas") or 0) < wanted else {}
        return _sentence({"reason": last.get("code"), "message": last.get("description")}, "")
    failed = condition_of(status, "ReplicaFailure")
    return _sentence(failed, "") if failed.get("status") == "True" else ""


def explain_waiting_pods(pods: Sequence[Node]) -> str:
    """What keeps the oldest waiting pod of each component from being ready; empty when nothing is known. Oldest pods come first."""
    reasons: dict[str, str] = {}
    for pod in pods:
        component = str((pod["metadata"].get("labels") or {}).get(COMPONENT) or "")
        if component not in reasons and (reason := _reason(pod)):
            reasons[component] = f"{pod['metadata']['name']}: {reason[:_CUT]}"
    more = f"; and {len(reasons) - NAMED} other components" if len(reasons) > NAMED else ""
    return "; ".join([*reasons.values()][:NAMED]) + more


def explain_end(pod: Node) -> str:
    """Why a pod has ended, from its status: its phase, and what it or a container says."""
    status: Node = pod.get("status") or {}
    said = _sentence(status, "") or next((f"container {one['name']}: {why}" for one in _containers(status) if (why := _ended(one))), "")
    return f"{status.get('phase')}{': ' if said else ''}{said}"[:_CUT]


def _reason(pod: Node) -> str:
    status: Node = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or condition_of(status, "Ready").get("status") == "True":
        return ""
    scheduled = condition_of(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return _sentence(scheduled, "it can't be scheduled")
    return next((f"container {one['name']}: {why_not}" for one in _containers(status) if (why_not := _waits(one))), "")


def _containers(status: Node) -> list[Node]:
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _waits(container: Node) -> str:
    state: Node = container.get("state") or {}
    waiting, ended = state.get("waiting") or {}, (container.get("lastState") or {}).get("terminated") or {}
    if waiting and waiting.get("reason") not in _USUAL:
        last = f"; it ended with exit code {ended.get('exitCode')} ({ended.get('reason')})" if ended else ""
        return _sentence(waiting, "it waits") + last
    return _ended(container)


def _ended(container: Node) -> str:
    now: Node = (container.get("state") or {}).get("terminated") or {}
    return f"it ended with exit code {now['exitCode']} ({now.get('reason')})" if now.get("exitCode") else ""


def _sentence(said: Node, otherwise: str) -> str:
    reason, message = str(said.get("reason") or otherwise), str(said.get("message") or "")
    return f"{reason}: {message}" if message else reason


def find_pull_failures(pods: Iterable[Node]) -> list[str]:
    """Containers that wait for an image, as sentences: `pod p container c: reason: message`. Pods that end don't count."""
    out = []
    for pod in pods:
        status: Node = pod.get("status") or {}
        if pod["metadata"].get("deletionTimestamp"):
            continue
        for one in _containers(status):
            waiting: Node = ((one or {}).get("state") or {}).get("waiting") or {}
            if waiting.get("reason") in _REASONS:
                message = f": {str(waiting['message'])[:_CUT]}" if waiting.get("message") else ""
                out.append(f"pod {pod['metadata']['name']} container {one.get('name')}: {waiting['reason']}{message}")
    return out


def report_pull_failures(status: Node, failures: Sequence[str]) -> tuple[str, tuple[Say, ...]]:
    """What a status says of failures, in its earlier words for the same containers, and an Event for each new container."""
    before = str(condition_of(status, PULLED).get("message") or "")
    fresh = [one for one in failures[:_MOST] if f"{one.partition(':')[0]}:" not in before]
    if not fresh and before.count(" container ") == len(failures[:_MOST]):
        return before, ()
    return "; ".join(failures[:_MOST]), tuple(Say("Warning", PULL_FAILED, one) for one in fresh)
