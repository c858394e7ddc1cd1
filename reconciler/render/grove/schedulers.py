"""The scheduler of a component's pods on Grove: the author's choice, else Volcano or KAI; and its queue and node pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ....conversion.lens.protocol import Fields
from ....policies.domain import read_pod
from ....policies.no_effect import KAI_NODE_POOL, KAI_QUEUE, VOLCANO_QUEUE
from ..settings import Settings

QUEUE: Final = "kai.scheduler/queue"
_USUAL_QUEUE: Final = "dynamo"
_NODE_POOL: Final = "kai.scheduler/node-pool"
KAI: Final = "kai-scheduler"
VOLCANO: Final = "volcano"
_QUEUE_OF_VOLCANO: Final = "scheduling.volcano.sh/queue-name"


def choose_scheduler(component: Fields, settings: Settings) -> str:
    """The name of the scheduler; empty: the cluster's default."""
    chosen = read_pod(component).get("schedulerName")
    return str(chosen or (VOLCANO if settings.volcano else KAI if settings.kai else ""))


def give_labels(of_graph: Mapping[str, str], component: Fields, settings: Settings) -> dict[str, str]:
    """What KAI reads of its pods; `of_graph` are the graph's annotations."""
    if not settings.kai or choose_scheduler(component, settings) != KAI:
        return {}
    pool = of_graph.get(KAI_NODE_POOL)
    return {QUEUE: of_graph.get(KAI_QUEUE) or _USUAL_QUEUE} | ({_NODE_POOL: pool} if pool else {})


def give_annotations(of_graph: Mapping[str, str], component: Fields, settings: Settings) -> dict[str, str]:
    """What Volcano reads of its pods; without a queue, it takes its own default."""
    queue = of_graph.get(VOLCANO_QUEUE)
    return {_QUEUE_OF_VOLCANO: queue} if queue and choose_scheduler(component, settings) == VOLCANO else {}


def list_unused(of_graph: Mapping[str, str], components: Sequence[Fields], settings: Settings) -> Iterator[tuple[str, str]]:
    """The graph's annotations for schedulers that place none of its pods, with the reason."""
    chosen = {choose_scheduler(one, settings) for one in components}
    for name in (KAI_QUEUE, KAI_NODE_POOL):
        if name in of_graph and not (settings.kai and KAI in chosen):
            yield name, "has no effect: there is no KAI scheduler, it is switched off, or it places none of the pods"
    if VOLCANO_QUEUE in of_graph and VOLCANO not in chosen:
        yield VOLCANO_QUEUE, "has no effect: Volcano places none of the pods; set orchestrators.volcanoScheduler.enabled, or schedulerName"
