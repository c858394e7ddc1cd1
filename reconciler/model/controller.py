"""The controller of DynamoModels, with the calls to workers that go on beside the passes."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from ...api.operator.controllers import Models as ModelSettings
from ...kube.errors import ApiError
from ...kube.protocol import Cluster, Node
from ...kube.resources import ENDPOINT_SLICES, PODS, SERVICES
from ..common.keys import Key, key_of
from ..common.problems import PassResult, Refusal
from ..common.resources import FINALIZER, MODEL, MODELS, SLICE
from ..engine.cache import Cache
from ..engine.context import Context
from ..engine.controller import Controller
from ..engine.queue import Cause
from ..engine.switch import Switch
from ..engine.watch import GATHER_SECONDS, Change, Need, Watch
from ..render.names import BASE_MODEL, BASE_MODEL_HASH, digest
from .decide import ModelPlan, ModelState, Verdict, decide, judge_lora, make_status, report_unload, trim_model
from .endpoints import Endpoint, ModelEndpoints, list_endpoints, trim_slice
from .loader import Loader
from .lora import LOADED, WantedAdapter, adapter_of, encode_names, owner_of, read_names
from .worker import WorkerClient

SWITCH: Final = Switch("models")
STATUS_PAUSE_SECONDS: Final = 2.0  # between two writes while loading
MAX_CACHED_SERVICES: Final = 10_000  # whose base model is known; they never change it


def _index_model(model: Node) -> Iterator[Hashable]:
    """Yields the keys at which the index has a model: its adapter, and its base model."""
    namespace, base, _ = adapter = adapter_of(model)
    yield adapter
    yield "models", namespace, digest(base)


def _index_slice(endpoint_slice: Node) -> Iterator[Hashable]:
    """Yields the key at which the index has a slice: the digest of the base model."""
    yield "slices", key_of(endpoint_slice).namespace, _base_of(endpoint_slice)


def _base_of(endpoint_slice: Node) -> str:
    """The digest of the base model that a slice's pods serve."""
    return str((endpoint_slice["metadata"].get("labels") or {}).get(BASE_MODEL_HASH) or "")


class ModelController(Controller):
    """Loads adapters on the pods that serve their base models."""

    kind = MODEL
    switch = SWITCH
    watches = (
        Watch(MODELS, need=Need.NONE, trim=trim_model, index_values=_index_model, pause=GATHER_SECONDS),
        Watch(
            ENDPOINT_SLICES, ((BASE_MODEL_HASH, ""),), when=SWITCH.is_on, trim=trim_slice, index_values=_index_slice, pause=GATHER_SECONDS
        ),
    )

    def __init__(self, caller: Callable[[ModelSettings], WorkerClient] = WorkerClient) -> None:
        """`caller` makes what calls worker pods."""
        self._caller = caller
        self._loader: Loader | None = None  # while this process leads
        self._bases: dict[tuple[str, str], str] = {}  # namespace and name of a Service -> its base model

    def keys_of(self, change: Change, cache: Cache) -> Iterable[Key]:
        """The models whose pods, or whose rivals for an adapter, have changed. What a deleted model wants is forgotten."""
        places: set[Hashable] = set()
        known = [obj for obj in (change.old, change.new) if obj is not None]
        if change.key.kind == SLICE:
            places = {("models", change.key.namespace, _base_of(endpoint_slice)) for endpoint_slice in known}
        elif change.key.kind == MODEL:
            if change.new is None and self._loader is not None:
                self._loader.forget(change.key)
            if not change.exists or change.differs(_read_request):
                places = {adapter_of(model) for model in known}
        return {key for place in places for key in cache.index_keys(place)} - {change.key}

    async def run(self, context: Context) -> None:
        """Calls workers until it is cancelled."""
        if SWITCH.is_off(context.settings):
            return

        def called(key: Key) -> None:
            """Have the status written: at once after the last call, and now and then while more are under way."""
            context.queue.add(key, STATUS_PAUSE_SECONDS if loader.busy(key) else 0.0, Cause.IN_PROGRESS)

        how = context.settings.models
        stray = None if how.any_slice else partial(_explain_stray, context.cluster)
        loader = self._loader = Loader(self._caller(how), called, how, stray=stray, clocks=context.clocks)
        try:
            await loader.run()
        finally:
            self._loader = None
            self._bases.clear()
            await loader.close()

    async def reconcile(self, context: Context, obj: Node) -> PassResult:
        """Load or unload the adapter of a model, and report its pods. Raises: ApiError, StandDownError."""
        if (loader := self._loader) is None:
            return PassResult()
        state = await self._observe(context, obj)
        plan = decide(state)
        if isinstance(plan, Refusal):
            await _write_status(context, obj, state, (), Verdict(False, plan.reason, plan.message))
            return PassResult((), plan.requeue_after)
        if obj["metadata"].get("deletionTimestamp"):
            return await _release(context, loader, state, plan)
        if plan.wanted is not None:
            return await _load(context, loader, state, plan, plan.wanted)
        loader.forget(key_of(obj))
        if plan.verdict is not None:
            await _write_status(context, obj, state, plan.ready, plan.verdict)
        return PassResult()

    async def _observe(self, context: Context, model: Node) -> ModelState:
        """Read the pods and Services of a model, and the owner of its adapter. Raises: ApiError."""
        metadata, cache, how = model["metadata"], context.cache, context.settings.models
        unlisted = "" if cache.knows(SLICE) else cache.reflectors[SLICE].reason or "not listed yet"
        base = digest(str((model.get("spec") or {}).get("baseModelName") or ""))
        slices = cache.by_index(("slices", str(metadata["namespace"]), base))
        pods = ModelEndpoints((), ()) if unlisted else list_endpoints(slices, any_slice=how.any_slice)
        services = () if metadata.get("deletionTimestamp") else pods.services
        bases = [(name, await self._base_of(context, metadata["namespace"], name)) for name in services]
        same = [model if other["metadata"].get("uid") == metadata.get("uid") else other for other in cache.by_index(adapter_of(model))]
        owner = str(owner_of(model, same)["metadata"]["name"])
        return ModelState(model, pods, bases, owner, unlisted, base_as_reference=how.base_ready == "legacy")

    async def _base_of(self, context: Context, namespace: str, service: str) -> str:
        """The base model that a Service says it serves; empty where it says none. Raises: ApiError."""
        known = self._bases.get((namespace, service))
        if known is None:
            live = await context.cluster.get(SERVICES, service, namespace)
            if live is None:
                return ""
            known = str((live["metadata"].get("annotations") or {}).get(BASE_MODEL) or "")
            if len(self._bases) >= MAX_CACHED_SERVICES:
                self._bases.clear()
            self._bases[namespace, service] = known
        return known


def _read_request(model: Node | None) -> object:
    return (adapter_of(model), model["metadata"].get("deletionTimestamp")) if model is not None else None


async def _explain_stray(cluster: Cluster, model: Key, endpoint: Endpoint) -> str:
    """Explains why an endpoint isn't called: users who may write slices may write any address, and the controller's label, into them."""
    try:
        pod = await cluster.get(PODS, endpoint.pod, model.namespace)
    except ApiError as error:
        return f"the pod can't be read: {error.message}"
    status = (pod or {}).get("status") or {}
    own = {str(status.get("podIP") or ""), *(str(each.get("ip") or "") for each in status.get("podIPs") or ())}
    foreign = {endpoint.address, endpoint.other} - own - {""}
    return f"status.podIPs must hold the address that an EndpointSlice gives, {', '.join(sorted(foreign))}" if foreign else ""


async def _load(context: Context, loader: Loader, state: ModelState, plan: ModelPlan, wanted: WantedAdapter) -> PassResult:
    model, key, pods = state.model, key_of(state.model), state.pods.endpoints
    finalizers = model["metadata"].get("finalizers") or ()
    if FINALIZER not in finalizers:
        change = {"finalizers": [*finalizers, FINALIZER], "resourceVersion": model["metadata"]["resourceVersion"]}
        model = await context.writer.patch_metadata(model, change)
    model = await _record_names(context, model, plan.names)
    loader.set_wanted(key, wanted, pods, check=plan.check)
    progress = loader.progress(key)
    if progress.clean:
        model = await _record_names(context, model, {wanted.lora.name: wanted.lora.digest})
    await _write_status(context, model, state, progress.ready, judge_lora(pods, progress.ready, progress.failures, busy=progress.busy))
    return PassResult()


async def _release(context: Context, loader: Loader, state: ModelState, plan: ModelPlan) -> PassResult:
    """Unloads adapters for a bounded time, and removes the finalizer."""
    model, key, event = state.model, key_of(state.model), plan.event
    if plan.wanted is not None:
        loader.set_wanted(key, plan.wanted, state.pods.endpoints, check=False)
        left = context.settings.models.unload_timeout - loader.seconds(key)
        event = report_unload(state, loader.progress(key), left)
        if event is None:
            return PassResult((), left)
    if event is not None:
        await context.record_event(model, *event)
    loader.forget(key)
    await context.finalize_deleted(model)
    return PassResult()


async def _record_names(context: Context, model: Node, names: Mapping[str, str]) -> Node:
    """Writes the loaded adapters into an annotation, before pods load them."""
    if read_names(model) == names:
        return model
    return await context.writer.patch_metadata(model, {"annotations": {LOADED: encode_names(names)}})


async def _write_status(context: Context, model: Node, state: ModelState, ready: Collection[str], verdict: Verdict) -> None:
    """Writes the status, and Events if it has changed."""
    status, events = make_status(model, state.pods, ready, verdict, context.clocks.wall())
    if await context.writer.patch_status(model, status):
        for event in events:
            await context.record_event(model, *event)
