"""The controller of DynamoGraphDeployments."""

from collections.abc import Iterator

from ...kube.protocol import Node
from ...kube.resources import PODS
from ..checkpoint.index import index_user
from ..common.keys import Key, controller_reference
from ..common.problems import PassResult, Problem, Refusal
from ..common.resources import (
    CLIQUE_GROUP,
    CLIQUE_GROUPS,
    CLIQUE_SETS,
    CLIQUES,
    COMPONENT,
    DISAGGREGATED_SET,
    DISAGGREGATED_SETS,
    GRAPH,
    GRAPHS,
    POD_CLIQUES,
    POD_GANGS,
    WORKER_METADATA,
)
from ..common.workers import components_of_worker
from ..common.workers import trim_metadata as lighten_registration
from ..engine.cache import Cache
from ..engine.context import Context
from ..engine.controller import Controller
from ..engine.routing import list_owners
from ..engine.watch import LABELLED, Change, Need, Watch, served
from ..render.names import GRAPH_NAME
from ..workload.watches import CHILDREN, find_owner, read_counts
from . import clique_status, ended_pods
from .act import act, refuse, report_failed_pass
from .decide import decide
from .observe import observe


def _trim(clique: Node) -> None:
    (clique.get("spec") or {}).pop("podSpec", None)


class GraphController(Controller):
    """Runs a graph on Grove, or as objects of components, some of them together as a DisaggregatedSet."""

    kind = GRAPH
    watches = (
        Watch(GRAPHS, need=Need.READABLE, index_values=index_user),
        *CHILDREN,
        Watch(WORKER_METADATA, trim=lighten_registration),
        Watch(DISAGGREGATED_SETS, (LABELLED,), when=served("disaggregated-sets")),
        Watch(CLIQUE_SETS, (LABELLED,), when=served("grove")),
        Watch(POD_CLIQUES, ((GRAPH_NAME, ""),), when=served("grove"), trim=_trim),
        Watch(CLIQUE_GROUPS, when=served("grove")),
        Watch(POD_GANGS, when=served("grove"), trim=clique_status.trim_gang),
        Watch(PODS, ended_pods.SELECTIONS, when=served("grove"), trim=ended_pods.trim_pod),
    )

    def __init__(self) -> None:
        self._keyed: set[str] = set()  # uids of graphs whose Secret was made, though it may not be read

    def keys_of(self, change: Change, cache: Cache) -> Iterator[Key]:
        """The graph of what others made for it: Grove, a DisaggregatedSet's controller, or workers, which come and go.

        Also that of a component's object without an owner, and of a pod.
        """
        key, owner, labels = change.key, controller_reference(change.obj) or {}, change.obj["metadata"].get("labels") or {}
        if owner.get("kind") in (CLIQUES, CLIQUE_GROUP, DISAGGREGATED_SET) and not change.is_own_write and change.differs(read_counts):
            yield from find_owner(cache, Key(str(owner["kind"]), key.namespace, str(owner["name"])), self.kind)
        if (key.kind == PODS.kind and change.differs(read_counts)) or (key.kind == COMPONENT and not owner and labels.get(GRAPH_NAME)):
            yield Key(self.kind, key.namespace, str(labels.get(GRAPH_NAME)))
        if key.kind == WORKER_METADATA.kind and not change.exists:
            for component in map(cache.get, components_of_worker(change.obj)):
                yield from (
                    Key(self.kind, key.namespace, str(each["name"])) for each in list_owners(component) if each.get("kind") == self.kind
                )

    async def reconcile(self, context: Context, obj: Node) -> PassResult:
        """Bring a graph one step nearer to its spec. Raises: ApiError, StandDownError."""
        if await context.finalize_deleted(obj):
            return PassResult()
        state = await observe(context, obj)
        if isinstance(state, Refusal):
            return await refuse(context, obj, state)
        plan = decide(state)
        if isinstance(plan, Refusal):
            return await refuse(context, obj, plan)
        return await act(context, self._keyed, state, plan)

    async def report_failure(self, context: Context, obj: Node, problem: Problem) -> PassResult:
        """Report it in the graph's status. Raises: ApiError, StandDownError."""
        return await report_failed_pass(context, obj, problem)
