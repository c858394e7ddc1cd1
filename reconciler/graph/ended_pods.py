"""Ended pods of a graph on Grove. Grove counts them, but neither deletes nor replaces them; when they are deleted, it makes new ones."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from ...kube.capability import POD_REPLACEMENT
from ...kube.errors import ApiError
from ...kube.protocol import Node
from ...kube.resources import PODS
from ..common.keys import key_of
from ..common.problems import SOON_RETRY_SECONDS, Problem, explain_missing_permission, pick_shortest, problem_of_error
from ..common.resources import CLIQUE
from ..engine.context import Context
from ..render.names import ENGINE_GROUP, GRAPH_NAME
from ..workload.pod_states import explain_end

GROUP: Final = "grove.io/podcliquescalinggroup"
REPLICA: Final = "grove.io/podcliquescalinggroup-replica-index"
INDEX: Final = "grove.io/podclique-pod-index"
_GROUPED: Final = (GROUP, REPLICA, INDEX)
_MAX_ENGINES: Final = 100  # of a clique, whose reasons are listed: a user who may scale it may write any number
# engines in any phase, since one that is gone counts too; of other pods those that failed: what ends well was meant to
SELECTIONS: Final = ((f"{ENGINE_GROUP}=true", ""), (f"{GRAPH_NAME},{ENGINE_GROUP}!=true", "status.phase=Failed"))
_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "labels", "ownerReferences", "deletionTimestamp")
_STATUS: Final = ("phase", "reason", "message", "initContainerStatuses", "containerStatuses")
Cliques = Sequence[tuple[Any, Sequence[Any]]]  # PodCliques, each with its pods
MAX_REPLACED_GROUPS: Final = 10  # of one pass; the others follow in the next


class EndedPod(NamedTuple):
    """A pod that has ended, with the pods that are replaced for it; none where Grove's labels don't say which belong together."""

    name: tuple[str, ...]  # of the place that it had, which the next pod has, too
    why: str
    pods: Sequence[Any]

    @property
    def is_group(self) -> bool:
        """Whether its engine group is replaced."""
        return len(self.name) == 1 + len(_GROUPED)

    @property
    def selection(self) -> str:
        """The words by which kubectl finds the pods."""
        if not self.is_group:
            return " ".join(key_of(pod).name for pod in self.pods)
        terms = zip(_GROUPED, self.name[1:], strict=True)
        return "-l " + ",".join([f"{ENGINE_GROUP}=true", *(f"{label}={value}" for label, value in terms)])


def trim_pod(pod: Node) -> None:
    """Drops what isn't read of a pod."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    pod["metadata"] = {name: metadata[name] for name in _METADATA if name in metadata}
    pod["status"] = {name: status[name] for name in _STATUS if name in status}
    pod.pop("spec", None)


def find_ended(cliques: Cliques) -> list[EndedPod]:
    """List the pods to replace: an ended engine with its group, any other pod alone."""
    pods = [pod for _, each in cliques for pod in each]
    engines: dict[tuple[str, ...], list[Node]] = {}
    for pod in filter(_is_engine, pods):
        engines.setdefault(_locate(pod), []).append(pod)
    ended: dict[tuple[str, ...], EndedPod] = {}
    for pod in pods:
        if not _has_ended(pod):
            continue
        place, why = _locate(pod), f"pod {pod['metadata']['name']} ended: {explain_end(pod)}"
        if not _is_engine(pod):
            ended[place] = EndedPod(place, why, [pod])
        elif place not in ended:
            # what ended goes last: until then the next pass finds the rest of a group that was not deleted as a whole
            ended[place] = EndedPod(place, why, sorted(engines[place], key=_has_ended) if all(place) else ())
    return [*ended.values()]


def explain_missing_engines(cliques: Cliques, replaced: Callable[[tuple[str, ...]], str]) -> dict[str, str]:
    """Explain why engine groups lack engines, which Grove calls available; `replaced` says why one was replaced lately, empty if not."""
    waiting_reasons: dict[str, str] = {}
    for clique, pods in cliques:
        labels, wanted = clique["metadata"].get("labels") or {}, (clique.get("spec") or {}).get("replicas")
        if labels.get(ENGINE_GROUP) != "true" or not isinstance(wanted, int):
            continue
        runs = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")]
        if len(runs) < wanted:
            there = {_locate(pod) for pod in runs}
            places = (_locate(clique, str(index)) for index in range(min(wanted, _MAX_ENGINES)))
            why = [f"replaced since {reason}" for place in places if place not in there and (reason := replaced(place))]
            waiting_reasons[f"podclique/{clique['metadata']['name']}"] = "; ".join([f"desired={wanted}, running={len(runs)}", *why])
    return waiting_reasons


def _has_ended(pod: Node) -> bool:
    phases = ("Failed", "Succeeded") if _is_engine(pod) else ("Failed",)
    return not pod["metadata"].get("deletionTimestamp") and (pod.get("status") or {}).get("phase") in phases


def _is_engine(pod: Node) -> bool:
    return bool((pod["metadata"].get("labels") or {}).get(ENGINE_GROUP) == "true")


def _locate(pod: Node, index: str = "") -> tuple[str, ...]:
    """The place of a pod, or that of a clique's pod of an index."""
    labels = pod["metadata"].get("labels") or {}
    namespace = str(pod["metadata"].get("namespace") or "")
    if labels.get(ENGINE_GROUP) == "true":
        return (namespace, *(str(labels.get(name) or "") for name in (GROUP, REPLICA)), index or str(labels.get(INDEX) or ""))
    owner = next((reference["name"] for reference in pod["metadata"].get("ownerReferences") or () if reference.get("controller")), "")
    return (namespace, str(owner), str(labels.get(INDEX) or pod["metadata"]["name"]))


async def replace_ended_pods(context: Context, graph: Node, below: Sequence[Node], problems: list[Problem]) -> tuple[dict[str, str], float]:
    """Replace ended pods; returns why pods and cliques are incomplete, and seconds until the next look or 0. Raises: StandDownError."""
    if not context.cache.knows(PODS.kind):
        return {}, 0.0
    cliques = [
        (clique, [pod for pod in context.cache.owned(clique) if pod["kind"] == PODS.kind]) for clique in below if clique["kind"] == CLIQUE
    ]
    waiting_reasons, looks = dict[str, str](), list[float]()
    allowed = context.may(POD_REPLACEMENT)
    replaced = 0
    for ended in find_ended(cliques):
        left, tries = context.retries.left(ended.name), context.retries.find(ended.name)
        again = f"; it ended {tries.times + 1} times in a row, and is replaced after {tries.pause:.0f} s" if left else ""
        waiting_reasons["/".join(("pod", *ended.name[1:]))] = ended.why + (
            again if allowed and ended.pods else _explain_remedy(ended, graph)
        )
        if not allowed or not ended.pods:
            continue
        if left or replaced == MAX_REPLACED_GROUPS:
            looks.append(left or SOON_RETRY_SECONDS)
            continue
        replaced += 1
        await _replace(context, graph, ended, problems)
    missing = explain_missing_engines(cliques, lambda place: context.retries.find(place).why)
    return {**missing, **waiting_reasons}, pick_shortest(*looks)


async def _replace(context: Context, graph: Node, ended: EndedPod, problems: list[Problem]) -> None:
    try:
        for pod in ended.pods:
            await context.writer.drop(pod, grace=0 if ended.is_group else None)
    except ApiError as error:
        problems.append(problem_of_error(error, ended.why))
        return
    context.retries.note(ended.name, ended.why)
    names = ", ".join(pod["metadata"]["name"] for pod in ended.pods)
    reason = "FailoverCascade" if ended.is_group else "PodReplaced"
    await context.record_event(graph, "Warning", reason, f"{ended.why}; deleted {names}, which Grove makes anew")


def _explain_remedy(ended: EndedPod, graph: Node) -> str:
    """Explain what a user can do where the reconciler may not, or can't."""
    if not ended.pods:
        return "; Grove's labels don't say which engines belong to it: delete the engines of its group"
    command = f"kubectl delete pod -n {graph['metadata']['namespace']} {ended.selection}"
    return f"; Grove does not replace it: {command}, or {explain_missing_permission(POD_REPLACEMENT.name, 'podReplacement')}"
