"""One pass over a DynamoModel: reads, decides, loads, unloads, and writes status and Events."""

from collections.abc import Collection, Mapping

from ...kube.protocol import Node
from ..common.keys import key_of
from ..common.problems import PassResult, Refusal
from ..common.resources import FINALIZER, SLICE
from ..engine.work import Work
from .decide import Plan, Seen, Verdict, assess, decide, of_lora, report_unload
from .endpoints import Found
from .lora import LOADED, Wish, encode_names, owner_of, read_names
from .shared import Models


async def reconcile_model(work: Work, model: Node) -> PassResult:
    """Loads or unloads the adapter of a model, and reports its pods. Raises: ApiError, StandDownError."""
    models = work.models
    if models is None:
        return PassResult()
    seen = await _observe(work, models, model)
    plan = decide(seen)
    if isinstance(plan, Refusal):
        await _write_status(work, model, seen, (), Verdict(False, plan.reason, plan.message))
        return PassResult((), plan.after)
    if model["metadata"].get("deletionTimestamp"):
        return await _release(work, models, seen, plan)
    if plan.wish is not None:
        return await _load(work, models, seen, plan, plan.wish)
    models.loader.forget(key_of(model))
    if plan.verdict is not None:
        await _write_status(work, model, seen, plan.ready, plan.verdict)
    return PassResult()


async def _observe(work: Work, models: Models, model: Node) -> Seen:
    """The pods and Services of a model, and the owner of its adapter. Raises: ApiError."""
    metadata, unlisted = model["metadata"], "" if work.cache.knows(SLICE) else work.cache.reflectors[SLICE].reason or "not listed yet"
    pods = Found((), ()) if unlisted else models.seen(work.cache, model)
    services = () if metadata.get("deletionTimestamp") else pods.services
    bases = [(name, await models.base_of(work, metadata["namespace"], name)) for name in services]
    owner = owner_of(model, models.same(work.cache, model))
    return Seen(model, pods, bases, str(owner["metadata"]["name"]), unlisted, base_as_reference=models.settings.base_ready == "legacy")


async def _load(work: Work, models: Models, seen: Seen, plan: Plan, wish: Wish) -> PassResult:
    model, key, pods = seen.model, key_of(seen.model), seen.pods.endpoints
    finalizers = model["metadata"].get("finalizers") or ()
    if FINALIZER not in finalizers:
        change = {"finalizers": [*finalizers, FINALIZER], "resourceVersion": model["metadata"]["resourceVersion"]}
        model = await work.patch_metadata(model, change)
    model = await _record_names(work, model, plan.names)
    models.loader.keep(key, wish, pods, check=plan.check)
    state = models.loader.standing(key)
    if state.clean:
        model = await _record_names(work, model, {wish.lora.name: wish.lora.digest})
    await _write_status(work, model, seen, state.ready, of_lora(pods, state.ready, state.failures, busy=state.busy))
    return PassResult()


async def _release(work: Work, models: Models, seen: Seen, plan: Plan) -> PassResult:
    """Unloads adapters for a bounded time, and removes the finalizer."""
    model, key, event = seen.model, key_of(seen.model), plan.event
    if plan.wish is not None:
        models.loader.keep(key, plan.wish, seen.pods.endpoints, check=False)
        left = models.settings.unload_timeout - models.loader.seconds(key)
        event = report_unload(seen, models.loader.standing(key), left)
        if event is None:
            return PassResult((), left)
    if event is not None:
        await work.say(model, *event)
    models.loader.forget(key)
    await work.let_go(model)
    return PassResult()


async def _record_names(work: Work, model: Node, names: Mapping[str, str]) -> Node:
    """Writes the loaded adapters into an annotation, before pods load them."""
    return model if read_names(model) == names else await work.patch_metadata(model, {"annotations": {LOADED: encode_names(names)}})


async def _write_status(work: Work, model: Node, seen: Seen, ready: Collection[str], verdict: Verdict) -> None:
    """Writes the status, and Events if it has changed."""
    status, events = assess(model, seen.pods, ready, verdict, work.now())
    if await work.patch_status(model, status):
        for event in events:
            await work.say(model, *event)
