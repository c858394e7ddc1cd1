"""Reads pods of graphs, components and Jobs, only when it matters."""

from typing import Final

from ...kube.errors import ApiError
from ...kube.protocol import Cluster, Node
from ...kube.resources import PODS
from ...kube.times import parse_time
from ..common.conditions import READY, condition_of
from ..common.keys import uid_of
from ..common.problems import MAX_MESSAGE_CHARACTERS
from ..common.resources import GRAPH, LWS, SET_NAME
from ..engine.context import Context
from ..engine.reads import READ_SECONDS, SETTLE_SECONDS
from ..render.accounts import account_of
from ..render.names import GRAPH_NAME, SELECTOR
from .pod_states import explain_waiting_pods
from .refused_pods import explain_refused_pods

_RIGHTS: Final = frozenset({"ServiceAccount", "Role", "RoleBinding"})
_ENDED: Final = ("Succeeded", "Failed")
PROBE_SECONDS: Final = 30.0  # that an object waits before failing probes are reported
MAX_PODS: Final = 100  # of an object that are read; any user may label large pods
_METADATA: Final = ("name", "labels", "creationTimestamp", "deletionTimestamp")
_MARK: Final = ". Pods wait: "


def runs_on_leader_worker_sets(component: Node) -> bool:
    """Whether a component's object has a LeaderWorkerSet, which goes on where the cluster can't have new ones."""
    return bool(((component.get("status") or {}).get("component") or {}).get("componentKind") == LWS)


async def list_pods(context: Context, obj: Node) -> list[Node]:
    """The unfinished pods of a graph or a component, oldest first, with their account and status alone. Raises: ApiError."""
    metadata = obj["metadata"]
    label = GRAPH_NAME if obj["kind"] == GRAPH else SET_NAME if runs_on_leader_worker_sets(obj) else SELECTOR
    listing = await context.cluster.list(PODS, metadata["namespace"], labels=f"{label}={metadata['name']}", limit=MAX_PODS, trim=_trim)
    alive = [pod for pod in listing.items if (pod.get("status") or {}).get("phase") not in _ENDED]
    return sorted(alive, key=lambda pod: (str(pod["metadata"].get("creationTimestamp") or ""), pod["metadata"]["name"]))


async def find_used_permissions(context: Context, graph: Node, wanted: set[tuple[str, str]]) -> frozenset[str]:
    """The names of unneeded accounts, roles and bindings that pods still use. Raises: ApiError."""
    unwanted = {child["metadata"]["name"] for child in context.cache.owned(graph) if child["kind"] in _RIGHTS}
    unwanted -= {name for kind, name in wanted if kind in _RIGHTS}
    if not unwanted:
        return frozenset()
    used = {(pod.get("spec") or {}).get("serviceAccountName") for pod in await list_pods(context, graph)}
    return frozenset(name for name in unwanted if account_of(name) in used)


def _trim(pod: Node) -> None:
    """Reduces a pod to the fields that are read, which may be a hundredth of it."""
    metadata, account = pod["metadata"], (pod.get("spec") or {}).get("serviceAccountName")
    pod["metadata"] = {name: metadata[name] for name in _METADATA if name in metadata}
    pod["spec"] = {"serviceAccountName": account} if account else {}


async def list_job_pods(cluster: Cluster, job: Node) -> list[Node]:
    """The pods of a Job, few as they are. Raises: ApiError."""
    metadata = job["metadata"]
    return (await cluster.list(PODS, metadata["namespace"], labels=f"job-name={metadata['name']}", limit=MAX_PODS)).items


async def add_pod_reasons(context: Context, obj: Node, status: Node, condition: str = READY) -> tuple[Node, float]:
    """Adds why pods wait to the condition of a status that isn't ready; also returns the seconds after which to look again.

    A changed reason is also recorded as an Event. Until pods are read for the first time after an edit, the previous reason stays.
    """
    ready, before = condition_of(status, condition), condition_of(obj.get("status") or {}, condition)
    uid, moment = uid_of(obj), context.clocks.wall()
    unready = parse_time(ready["lastTransitionTime"]) or moment
    text = previous = str(before.get("message") or "").partition(_MARK)[2]
    since, early = context.reads.begin(obj, unready, moment)
    age = (moment - since).total_seconds()
    if 0 <= age < SETTLE_SECONDS:  # a time in the future means nothing: the wall clock went back
        left = SETTLE_SECONDS - age if early else READ_SECONDS
    else:
        pause = min(age, READ_SECONDS) if age > 0 else READ_SECONDS
        left = context.reads.seconds_until(uid, obj["metadata"]["namespace"], pause)
        if not left:
            left = pause
            probes = not 0 <= (moment - unready).total_seconds() < PROBE_SECONDS
            context.reads.texts[uid] = await _explain(context, obj, probes=probes)
        text = context.reads.texts.get(uid, previous)
    if not text:
        return status, left
    message = f"{ready['message']}{_MARK}{text}"[:MAX_MESSAGE_CHARACTERS]
    if message.partition(_MARK)[2] != previous:
        await context.record_event(obj, "Warning", "PodsWait", text)
    return {**status, "conditions": [{**ready, "message": message} if entry is ready else entry for entry in status["conditions"]]}, left


async def _explain(context: Context, obj: Node, *, probes: bool) -> str:
    try:
        return await explain_refused_pods(context, obj) or explain_waiting_pods(await list_pods(context, obj), probes=probes)
    except ApiError as error:
        return f"pods can't be read: {error.message}"
