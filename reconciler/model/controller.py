"""The controller of DynamoModels, with the calls to workers that go on beside the passes."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

from ...api.operator.controllers import Models as ModelSettings
from ...kube.protocol import Node
from ...kube.resources import ENDPOINT_SLICES
from ..common.keys import Key, key_of
from ..common.problems import PassResult, Refusal
from ..common.resources import FINALIZER, MODEL, MODELS, SLICE
from ..engine.cache import Cache
from ..engine.context import Context
from ..engine.controller import Controller
from ..engine.queue import Cause
from ..engine.switch import Switch
from ..engine.watch import GATHER, Change, Need, Watch
from ..render.names import BASE_MODEL_HASH
from .decide import Plan, Seen, Verdict, assess, decide, of_lora, report_unload, trim_model
from .endpoints import Found, trim_slice
from .lora import LOADED, Wish, adapter_of, encode_names, owner_of, read_names
from .shared import PAUSE, Models, index_model, index_slice, models_by, models_of_slice
from .worker import Workers

SWITCH = Switch("models")


class ModelController(Controller):
    """Loads adapters on the pods that serve their base models."""

    kind = MODEL
    switch = SWITCH
    watches = (
        Watch(MODELS, need=Need.NONE, trim=trim_model, places=index_model, pause=GATHER),
        Watch(ENDPOINT_SLICES, ((BASE_MODEL_HASH, ""),), when=SWITCH.is_on, trim=trim_slice, places=index_slice, pause=GATHER),
    )

    def __init__(self, caller: Callable[[ModelSettings], Workers] = Workers) -> None:
        """`caller` makes what calls worker pods."""
        self._caller = caller
        self._models: Models | None = None  # while this process leads

    def keys_of(self, change: Change, cache: Cache) -> Iterable[Key]:
        """The models whose pods, or whose rivals for an adapter, have changed. What a deleted model wants is forgotten."""
        places: set[Hashable] = set()
        known = [one for one in (change.old, change.new) if one is not None]
        if change.key.kind == SLICE:
            places = {models_of_slice(one) for one in known}
        elif change.key.kind == MODEL:
            if change.new is None and self._models is not None:
                self._models.loader.forget(change.key)
            if not change.there or change.differs(_asks):
                places = {adapter_of(one) for one in known}
        return {key for place in places for key in cache.keys(place)} - {change.key}

    async def run(self, context: Context) -> None:
        """Calls workers until it is cancelled."""
        if SWITCH.is_off(context.settings):
            return

        def called(key: Key) -> None:
            """Have the status written: at once after the last call, and now and then while more are under way."""
            context.queue.add(key, PAUSE if models.loader.busy(key) else 0.0, Cause.BEGUN)

        models = self._models = models_by(context.cluster, context.settings.models, self._caller, called, context.clocks)
        try:
            await models.loader.run()
        finally:
            self._models = None
            await models.loader.close()

    async def reconcile(self, context: Context, obj: Node) -> PassResult:
        """Loads or unloads the adapter of a obj, and reports its pods. Raises: ApiError, StandDownError."""
        if (models := self._models) is None:
            return PassResult()
        seen = await _observe(context, models, obj)
        plan = decide(seen)
        if isinstance(plan, Refusal):
            await _write_status(context, obj, seen, (), Verdict(False, plan.reason, plan.message))
            return PassResult((), plan.after)
        if obj["metadata"].get("deletionTimestamp"):
            return await _release(context, models, seen, plan)
        if plan.wish is not None:
            return await _load(context, models, seen, plan, plan.wish)
        models.loader.forget(key_of(obj))
        if plan.verdict is not None:
            await _write_status(context, obj, seen, plan.ready, plan.verdict)
        return PassResult()


def _asks(model: Node | None) -> object:
    return (adapter_of(model), model["metadata"].get("deletionTimestamp")) if model is not None else None


async def _observe(context: Context, models: Models, model: Node) -> Seen:
    """The pods and Services of a model, and the owner of its adapter. Raises: ApiError."""
    metadata, unlisted = model["metadata"], "" if context.cache.knows(SLICE) else context.cache.reflectors[SLICE].reason or "not listed yet"
    pods = Found((), ()) if unlisted else models.seen(context.cache, model)
    services = () if metadata.get("deletionTimestamp") else pods.services
    bases = [(name, await models.base_of(context, metadata["namespace"], name)) for name in services]
    owner = owner_of(model, models.same(context.cache, model))
    return Seen(model, pods, bases, str(owner["metadata"]["name"]), unlisted, base_as_reference=models.settings.base_ready == "legacy")


async def _load(context: Context, models: Models, seen: Seen, plan: Plan, wish: Wish) -> PassResult:
    model, key, pods = seen.model, key_of(seen.model), seen.pods.endpoints
    finalizers = model["metadata"].get("finalizers") or ()
    if FINALIZER not in finalizers:
        change = {"finalizers": [*finalizers, FINALIZER], "resourceVersion": model["metadata"]["resourceVersion"]}
        model = await context.writer.patch_metadata(model, change)
    model = await _record_names(context, model, plan.names)
    models.loader.keep(key, wish, pods, check=plan.check)
    state = models.loader.standing(key)
    if state.clean:
        model = await _record_names(context, model, {wish.lora.name: wish.lora.digest})
    await _write_status(context, model, seen, state.ready, of_lora(pods, state.ready, state.failures, busy=state.busy))
    return PassResult()


async def _release(context: Context, models: Models, seen: Seen, plan: Plan) -> PassResult:
    """Unloads adapters for a bounded time, and removes the finalizer."""
    model, key, event = seen.model, key_of(seen.model), plan.event
    if plan.wish is not None:
        models.loader.keep(key, plan.wish, seen.pods.endpoints, check=False)
        left = models.settings.unload_timeout - models.loader.seconds(key)
        event = report_unload(seen, models.loader.standing(key), left)
        if event is None:
            return PassResult((), left)
    if event is not None:
        await context.say(model, *event)
    models.loader.forget(key)
    await context.let_go_deleted(model)
    return PassResult()


async def _record_names(context: Context, model: Node, names: Mapping[str, str]) -> Node:
    """Writes the loaded adapters into an annotation, before pods load them."""
    if read_names(model) == names:
        return model
    return await context.writer.patch_metadata(model, {"annotations": {LOADED: encode_names(names)}})


async def _write_status(context: Context, model: Node, seen: Seen, ready: Collection[str], verdict: Verdict) -> None:
    """Writes the status, and Events if it has changed."""
    status, events = assess(model, seen.pods, ready, verdict, context.clocks.wall())
    if await context.writer.patch_status(model, status):
        for event in events:
            await context.say(model, *event)
