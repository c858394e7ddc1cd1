"""Deletes pods on Grove that have ended, so that Grove makes them anew: engines by whole groups, those that fail again and again later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...kube.capability import POD_REPLACEMENT, Presence
from ...kube.errors import ApiError
from ...kube.protocol import Node
from ...kube.resources import PODS
from ..common.problems import Problem, explain_missing_permission, problem_of_error
from ..engine.passes import RETRY_SOON, first_of
from ..engine.work import Work
from .ended_pods import Ended, explain_missing_engines, find_ended, list_cliques

AT_ONCE: Final = 10  # groups that one pass replaces; the others follow in the next
_EVENTS: Final = {True: "FailoverCascade", False: "PodReplaced"}


async def replace_ended_pods(work: Work, graph: Node, below: Sequence[Node], problems: list[Problem]) -> tuple[dict[str, str], float]:
    """Replace pods that ended below a graph's set.

    Returns what is not whole, each with the reason, and the seconds until the next look; 0 for the next change. Raises: StandDownError.
    """
    if not work.cache.knows(PODS.kind):
        return {}, 0.0
    cliques, waits, looks = list_cliques(work.cache, below), dict[str, str](), list[float]()
    allowed = work.known().get(POD_REPLACEMENT.name) is Presence.USABLE
    replaced = 0
    for one in find_ended(cliques):
        left, tries = work.retries.left(one.name), work.retries.find(one.name)
        again = f"; it ended {tries.times + 1} times in a row, and is replaced after {tries.pause:.0f} s" if left else ""
        waits["/".join(("pod", *one.name[1:]))] = one.why + (again if allowed and one.pods else _remedy(one, graph))
        if not allowed or not one.pods:
            continue
        if left or replaced == AT_ONCE:
            looks.append(left or RETRY_SOON)
            continue
        replaced += 1
        await _replace(work, graph, one, problems)
    missing = explain_missing_engines(cliques, lambda place: work.retries.find(place).why)
    return {**missing, **waits}, first_of(*looks)


async def _replace(work: Work, graph: Node, one: Ended, problems: list[Problem]) -> None:
    try:
        for pod in one.pods:
            await work.writer.drop(pod, grace=0 if one.is_group else None)
    except ApiError as error:
        problems.append(problem_of_error(error, one.why))
        return
    work.retries.note(one.name, one.why)
    names = ", ".join(pod["metadata"]["name"] for pod in one.pods)
    await work.say(graph, "Warning", _EVENTS[one.is_group], f"{one.why}; deleted {names}, which Grove makes anew")


def _remedy(one: Ended, graph: Node) -> str:
    """What a user can do where the reconciler may not, or can't."""
    if not one.pods:
        return "; Grove's labels don't say which engines belong to it: delete the engines of its group"
    command = f"kubectl delete pod -n {graph['metadata']['namespace']} {one.selection}"
    return f"; Grove does not replace it: {command}, or {explain_missing_permission(POD_REPLACEMENT.name, 'podReplacement')}"
