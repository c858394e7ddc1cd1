"""Explains from the status of pods why they wait, ended, or can't pull an image."""

from collections.abc import Iterable, Sequence
from typing import Final

from ...kube.protocol import Node
from ..common.conditions import NewEvent, condition_of
from ..render.names import COMPONENT

PULLED: Final = "ImagePulled"  # the condition
PULL_FAILED: Final = "ImagePullFailed"  # its reason, and that of the Event
_REASONS: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_MAX_NAMED_CONTAINERS: Final = 5
MAX_NAMED_COMPONENTS: Final = 3  # whose oldest waiting pod is named
MAX_REASON_CHARACTERS: Final = 300  # or of a kubelet's message
_USUAL: Final = frozenset({"ContainerCreating", "PodInitializing"})


def explain_waiting_pods(pods: Sequence[Node], *, probes: bool = True) -> str:
    """Explains what keeps each component's oldest waiting pod from being ready; empty when nothing is known. Oldest pods come first.

    `probes` says whether those that fail count, too: not those of pods that may be about to answer.
    """
    reasons: dict[str, str] = {}
    for pod in pods:
        component = str((pod["metadata"].get("labels") or {}).get(COMPONENT) or "")
        if component not in reasons and (reason := _reason(pod, probes=probes)):
            reasons[component] = f"{pod['metadata']['name']}: {reason[:MAX_REASON_CHARACTERS]}"
    more = f"; and {len(reasons) - MAX_NAMED_COMPONENTS} other components" if len(reasons) > MAX_NAMED_COMPONENTS else ""
    return "; ".join([*reasons.values()][:MAX_NAMED_COMPONENTS]) + more


def explain_end(pod: Node) -> str:
    """Explains why a pod has ended, from its status: its phase, and the reason of the pod or of a container."""
    status: Node = pod.get("status") or {}
    reason = format_reason(status, "") or next(
        (f"container {container['name']}: {why}" for container in _containers(status) if (why := _describe_end(container))), ""
    )
    return f"{status.get('phase')}{': ' if reason else ''}{reason}"[:MAX_REASON_CHARACTERS]


def _reason(pod: Node, *, probes: bool) -> str:
    status: Node = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or condition_of(status, "Ready").get("status") == "True":
        return ""
    scheduled = condition_of(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return format_reason(scheduled, "it can't be scheduled")
    return next((f"container {container['name']}: {why}" for container in _containers(status) if (why := _is_waiting(container))), "") or (
        _failing_probe(status) if probes else ""
    )


def _containers(status: Node) -> list[Node]:
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _is_waiting(container: Node) -> str:
    waiting: Node = (container.get("state") or {}).get("waiting") or {}
    if waiting and waiting.get("reason") not in _USUAL:
        return format_reason(waiting, "it waits") + _last(container)
    return _describe_end(container)


def _failing_probe(status: Node) -> str:
    """Explains what keeps the first running container from being ready. The time is that of its start, so that the text stays the same."""
    for container in status.get("containerStatuses") or ():
        if (running := (container.get("state") or {}).get("running")) and not container.get("ready"):
            fails = "startup probe has not succeeded" if container.get("started") is False else "readiness probe fails"
            return f"container {container['name']}: it has run since {running.get('startedAt')}, but its {fails}{_last(container)}"
    return ""


def _last(container: Node) -> str:
    ended: Node = (container.get("lastState") or {}).get("terminated") or {}
    return f"; it ended with exit code {ended.get('exitCode')} ({ended.get('reason')})" if ended else ""


def _describe_end(container: Node) -> str:
    now: Node = (container.get("state") or {}).get("terminated") or {}
    return f"it ended with exit code {now['exitCode']} ({now.get('reason')})" if now.get("exitCode") else ""


def format_reason(state: Node, otherwise: str) -> str:
    """Formats the reason and message of a condition or a container's state as a sentence; `otherwise` replaces a missing reason."""
    reason, message = str(state.get("reason") or otherwise), str(state.get("message") or "")
    return f"{reason}: {message}" if message else reason


def find_pull_failures(pods: Iterable[Node]) -> list[str]:
    """Containers that wait for an image, as sentences: `pod p container c: reason: message`. Pods that end don't count."""
    out = []
    for pod in pods:
        status: Node = pod.get("status") or {}
        if pod["metadata"].get("deletionTimestamp"):
            continue
        for container in _containers(status):
            waiting: Node = ((container or {}).get("state") or {}).get("waiting") or {}
            if waiting.get("reason") in _REASONS:
                message = f": {str(waiting['message'])[:MAX_REASON_CHARACTERS]}" if waiting.get("message") else ""
                out.append(f"pod {pod['metadata']['name']} container {container.get('name')}: {waiting['reason']}{message}")
    return out


def report_pull_failures(status: Node, failures: Sequence[str]) -> tuple[str, tuple[NewEvent, ...]]:
    """Makes a status's message of failures, in its earlier words for the same containers, and an Event for each new container."""
    before = str(condition_of(status, PULLED).get("message") or "")
    fresh = [failure for failure in failures[:_MAX_NAMED_CONTAINERS] if f"{failure.partition(':')[0]}:" not in before]
    if not fresh and before.count(" container ") == len(failures[:_MAX_NAMED_CONTAINERS]):
        return before, ()
    return "; ".join(failures[:_MAX_NAMED_CONTAINERS]), tuple(NewEvent("Warning", PULL_FAILED, failure) for failure in fresh)
