"""What graphs and checkpoints need and nobody makes for them: claims, and the queue of pods. One call each in a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.kube.errors import ApiError, ForbiddenError, NotServedError
from dynamo_webhooks.kube.resources import CLAIMS, QUEUES
from dynamo_webhooks.reconciler.checkpoint import storage
from dynamo_webhooks.reconciler.loop.kinds import CLIQUES
from dynamo_webhooks.reconciler.loop.problems import Problem, of_error
from dynamo_webhooks.reconciler.render.grove.member import QUEUE, QUEUE_SAID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.work import Work
    from dynamo_webhooks.reconciler.render.graph import Graph
    from dynamo_webhooks.reconciler.render.settings import Checkpoints


async def look_for_claims(work: Work, graph: Graph, problems: list[Problem]) -> None:
    """Claims that a graph names without asking for them must be there."""
    for entry in graph.claims:
        name = str(entry.get("name") or "")
        if not name or entry.get("create") is True:
            continue
        try:
            there = await work.cluster.get(CLAIMS, name, graph.namespace)
        except ApiError as error:
            problems.append(of_error(error, f"PersistentVolumeClaim {name}"))
            continue
        if there is None:
            problems.append(
                Problem(f"PersistentVolumeClaim {name} must exist, since create is not true; make it, or set create", "not_found")
            )


async def lacking_storage(work: Work, asked: Checkpoints, namespace: str) -> str:
    """What is said where the claim that the configuration names for snapshots isn't there, and isn't to be made.

    Raises: ApiError, RenderError.
    """
    kept = storage.configured(asked)
    if kept is None or asked.claim_create or await work.cluster.get(CLAIMS, kept.claim, namespace) is not None:
        return ""
    return storage.missing(kept, namespace)


async def look_for_queue(work: Work, children: Sequence[Node], problems: list[Problem]) -> None:
    """The queue from which the KAI scheduler takes pods must be there; where it may not be read, nobody can say."""
    cliques = [one for child in children if child["kind"] == CLIQUES for one in child["spec"]["template"]["cliques"]]
    for name in sorted({one["labels"][QUEUE] for one in cliques if QUEUE in one["labels"]}):
        try:
            there = await work.cluster.get(QUEUES, name)
        except (ForbiddenError, NotServedError):
            continue
        except ApiError as error:
            problems.append(of_error(error, f"Queue {name}"))
            continue
        if there is None:
            text = f"Queue {name} must exist for the KAI scheduler to place pods; make it, or name another by the annotation {QUEUE_SAID}"
            problems.append(Problem(text, "not_found"))
