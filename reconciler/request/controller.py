"""The controller of DynamoGraphDeploymentRequests, with the search for GPUs that goes on beside the passes."""

from collections.abc import Callable, Iterable
from functools import partial

from ...kube.protocol import Node
from ..common.conditions import condition_of
from ..common.keys import Key
from ..common.problems import PassResult
from ..common.resources import GRAPH, JOBS, REQUEST_NAME, REQUESTS
from ..engine.cache import Cache
from ..engine.context import Context
from ..engine.controller import Controller
from ..engine.queue import Cause
from ..engine.switch import Switch
from ..engine.watch import LABELLED, Change, Need, Watch
from .phases import trim_request
from .reconcile import reconcile_request
from .shared import GpuDiscovery, RequestContext, Scraper

SWITCH = Switch("requests")


class RequestController(Controller):
    """Has requests profiled by Jobs, and makes their graphs."""

    kind = REQUESTS.kind
    switch = SWITCH
    watches = (Watch(REQUESTS, need=Need.NONE, trim=trim_request), Watch(JOBS, (LABELLED,), when=SWITCH.is_on))

    def __init__(self, scraper: Callable[[], Scraper] = Scraper) -> None:
        """`scraper` makes what reads metrics of GPUs."""
        self._scraper = scraper
        self._requests: RequestContext | None = None  # while this process leads

    def keys_of(self, change: Change, _cache: Cache) -> Iterable[Key]:
        """The request that a graph was made for."""
        name = (change.obj["metadata"].get("labels") or {}).get(REQUEST_NAME) if change.key.kind == GRAPH else None
        return [Key(self.kind, change.key.namespace, str(name))] if name and change.differs(_state) else ()

    async def run(self, context: Context) -> None:
        """Looks for GPUs whenever a request asks, until it is cancelled."""
        if SWITCH.is_off(context.settings):
            return
        requeue = partial(context.queue.add, cause=Cause.IN_PROGRESS)
        gpus = GpuDiscovery(context.cluster, context.settings, self._scraper(), requeue, context.clocks.monotonic)
        self._requests = RequestContext(context.cluster, context.settings, gpus)
        try:
            await gpus.run()
        finally:
            self._requests = None

    async def reconcile(self, context: Context, obj: Node) -> PassResult:
        """Brings a request as far as it can go now. Raises: ApiError, StandDownError."""
        return await reconcile_request(context, self._requests, obj) if self._requests is not None else PassResult()


def _state(graph: Node | None) -> object:
    """Returns what a request reads of its graph."""
    if graph is None:
        return None
    metadata, status = graph["metadata"], graph.get("status") or {}
    return metadata.get("uid"), metadata.get("labels"), status.get("state"), status.get("components"), condition_of(status, "Ready")
