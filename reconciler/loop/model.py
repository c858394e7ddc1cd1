"""One pass over a DynamoModel: what its pods should have loaded, and how that stands. Calls to pods are the loader's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.loop.keys import key_of
from dynamo_webhooks.reconciler.loop.kinds import MODELS, SLICE
from dynamo_webhooks.reconciler.loop.marks import FINALIZER
from dynamo_webhooks.reconciler.loop.work import SLOWLY, PassResult
from dynamo_webhooks.reconciler.model.assessment import NAMED, Verdict, assessed, none_found, of_base, of_lora
from dynamo_webhooks.reconciler.model.endpoints import Found
from dynamo_webhooks.reconciler.model.loader import Wish
from dynamo_webhooks.reconciler.model.lora import (
    LOADED,
    InvalidNameError,
    Lora,
    is_lora,
    lora_of,
    owner_of,
    path_of,
    remembered,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.models import Models
    from dynamo_webhooks.reconciler.loop.work import Work

NOTHING: Final = Found((), ())


async def reconcile_model(work: Work, obj: Node) -> PassResult:
    """Brings a model one step further. Raises: ApiError, StandDownError."""
    models = work.models
    if models is None:
        return PassResult()
    if obj["metadata"].get("deletionTimestamp"):
        return await _release(work, models, obj)
    key, base = key_of(obj), str((obj.get("spec") or {}).get("baseModelName") or "")
    if not work.cache.knows(SLICE):
        why = work.cache.why(SLICE) or "not listed yet"
        return await _told(work, obj, NOTHING, (), Verdict(False, "Forbidden", f"EndpointSlices can't be read: {why}"), SLOWLY)
    seen = models.seen(work.cache, obj)
    if not seen.endpoints:
        models.loader.forget(key)
        return await _told(work, obj, seen, (), none_found(base))
    if (hindrance := await _hindrance(work, models, obj, seen)) is not None:
        models.loader.forget(key)
        return await _told(work, obj, seen, (), hindrance)
    if is_lora(obj):
        return await _load(work, models, obj, seen)
    total = len(seen.endpoints)
    if models.base_as_reference:
        return await _told(work, obj, seen, (), of_base(total, total))
    ready = {one.uid for one in seen.endpoints if one.callable}
    return await _told(work, obj, seen, ready, of_base(total, len(ready)))


async def _load(work: Work, models: Models, obj: Node, seen: Found) -> PassResult:
    key, lora, known = key_of(obj), lora_of(obj), remembered(obj)
    if FINALIZER not in (obj["metadata"].get("finalizers") or ()):
        obj = await _add_finalizer(work, obj)
    if lora.name not in known:
        obj = await _remember(work, obj, {**known, lora.name: lora.digest})
    was = known.get(lora.name, lora.digest)
    stale = tuple(name for name in known if name != lora.name)
    models.loader.keep(key, Wish(lora, stale, replace=was != lora.digest), seen.endpoints, check=lora.name in known)
    standing = models.loader.standing(key)
    if standing.clean and (stale or was != lora.digest):
        obj = await _remember(work, obj, {lora.name: lora.digest})
    return await _told(work, obj, seen, standing.ready, of_lora(seen.endpoints, standing.ready, standing.failures, busy=standing.busy))


async def _hindrance(work: Work, models: Models, obj: Node, seen: Found) -> Verdict | None:
    """Why nothing may be loaded for a model, or its pods may be others'."""
    base = str((obj.get("spec") or {}).get("baseModelName") or "")
    for name in seen.services:
        found = await models.base_of(work, key_of(obj).namespace, name)
        if found and found != base:
            text = f"baseModelName: Service {name} serves {found}, whose name has the same digest; rename one of both base models"
            return Verdict(False, "HashCollision", text)
    if not is_lora(obj):
        return None
    lora = lora_of(obj)
    try:
        path_of(lora.name)
    except InvalidNameError as error:
        return Verdict(False, "InvalidModelName", str(error))
    owner = owner_of(obj, models.same(work.cache, obj))
    if key_of(owner) != key_of(obj):
        text = f"modelName: DynamoModel {owner['metadata']['name']} has loaded an adapter of this name; rename or delete one of both"
        return Verdict(False, "Conflict", text)
    if not lora.uri:
        text = "source URI is required for LoRA models"
        return Verdict(False, "NoEndpoints", "No endpoints found", ("LoadFailed", f"spec.source.uri: {text}"))
    return None


async def _release(work: Work, models: Models, obj: Node) -> PassResult:
    """Unloads what was loaded, for a bounded time, and lets the model go."""
    key = key_of(obj)
    if FINALIZER in (obj["metadata"].get("finalizers") or ()) and is_lora(obj):
        if not work.cache.knows(SLICE):
            await work.say(obj, "Warning", "CleanupFailed", f"EndpointSlices can't be read: {work.cache.why(SLICE) or 'not listed yet'}")
        elif (left := await _unload(work, models, obj)) > 0:
            return PassResult((), left)
    models.loader.forget(key)
    await work.let_go(obj)
    return PassResult()


async def _unload(work: Work, models: Models, obj: Node) -> float:
    """Seconds for which pods may still take to unload; 0 when all did, or had their time."""
    key = key_of(obj)
    taken = owner_of(obj, models.same(work.cache, obj)) is not obj  # another model goes on with it
    names = [name for name in dict.fromkeys((lora_of(obj).name, *remembered(obj))) if not (taken and name == lora_of(obj).name)]
    seen = models.seen(work.cache, obj)
    if not names or not seen.endpoints:
        return 0.0
    models.loader.keep(key, Wish(Lora(names[0], ""), tuple(names[1:]), unload=True), seen.endpoints, check=False)
    standing = models.loader.standing(key)
    left = models.unload_patience - models.loader.seconds(key)
    if standing.clean:
        await work.say(obj, "Normal", "LoRAUnloaded", f"Unloaded LoRA from {len(seen.endpoints)} endpoint(s)")
        return 0.0
    if left > 0:
        return left
    late = [one.pod for one in seen.endpoints if one.uid not in standing.ready]
    text = f"Failed to unload LoRA from some endpoints: {len(late)} task(s) failed: {', '.join(late[:NAMED])}"
    await work.say(obj, "Warning", "LoRAUnloadFailed", text)
    return 0.0


async def _add_finalizer(work: Work, obj: Node) -> Node:
    """Only an adapter needs one: nothing else must happen before a model goes."""
    finalizers = [*(obj["metadata"].get("finalizers") or ()), FINALIZER]
    return await _patch_metadata(work, obj, {"finalizers": finalizers, "resourceVersion": obj["metadata"]["resourceVersion"]})


async def _remember(work: Work, obj: Node, names: dict[str, str]) -> Node:
    return await _patch_metadata(work, obj, {"annotations": {LOADED: written(names)}})


async def _patch_metadata(work: Work, obj: Node, metadata: Node) -> Node:
    return await work.merge(obj, MODELS, key_of(obj).name, {"metadata": metadata})


async def _told(work: Work, obj: Node, seen: Found, ready: Collection[str], verdict: Verdict, after: float = 0.0) -> PassResult:
    """Writes the status, and says what changed."""
    made = assessed(obj, seen, ready, verdict, work.now())
    if await work.patch_status(obj, made.status):
        for level, reason, message in made.events:
            await work.say(obj, level, reason, message)
    return PassResult((), after)
