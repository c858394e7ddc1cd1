"""Images that pods can't pull: a condition, and an Event once for each container. Pure; who reads the pods is elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ...kube.protocol import Node
from .conditions import Say, condition_of

PULLED: Final = "ImagePulled"  # the condition
FAILED: Final = "ImagePullFailed"  # its reason, and that of the Event
_REASONS: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_MOST: Final = 5  # containers that are named
_CONTAINER: Final = " container "
_CUT: Final = 300  # characters of a kubelet's message


class Said(NamedTuple):
    """What is said of pulls; no text where nothing is."""

    text: str
    events: tuple[Say, ...] = ()


def find_pull_failures(pods: Iterable[Node]) -> list[str]:
    """Containers that wait for an image, as sentences: `pod p container c: reason: message`. Pods that end don't count."""
    out = []
    for pod in pods:
        status: Node = pod.get("status") or {}
        if pod["metadata"].get("deletionTimestamp"):
            continue
        for one in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
            waiting: Node = ((one or {}).get("state") or {}).get("waiting") or {}
            if waiting.get("reason") in _REASONS:
                message = f": {str(waiting['message'])[:_CUT]}" if waiting.get("message") else ""
                out.append(f"pod {pod['metadata']['name']} container {one.get('name')}: {waiting['reason']}{message}")
    return out


def report_pull_failures(status: Node, failures: Sequence[str]) -> Said:
    """What a status says of failures; an Event for each container of which it says nothing yet.

    A kubelet changes its words all the time: the earlier ones stay as long as they are of the same containers.
    """
    before = str(condition_of(status, PULLED).get("message") or "")
    fresh = [one for one in failures[:_MOST] if f"{_who(one)}:" not in before]
    if not fresh and before.count(_CONTAINER) == len(failures[:_MOST]):
        return Said(before)
    return Said("; ".join(failures[:_MOST]), tuple(Say("Warning", FAILED, one) for one in fresh))


def _who(failure: str) -> str:
    return failure.partition(":")[0]
