"""What passes over models share: who loads adapters, where slices and models are found, and what the configuration says of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.kube.resources import SERVICES
from dynamo_webhooks.reconciler.loop.keys import Key, key_of
from dynamo_webhooks.reconciler.loop.kinds import SLICE
from dynamo_webhooks.reconciler.model.endpoints import Found, endpoints_in
from dynamo_webhooks.reconciler.model.index import ModelIndex
from dynamo_webhooks.reconciler.model.loader import Loader, Pace
from dynamo_webhooks.reconciler.model.lora import adapter_of
from dynamo_webhooks.reconciler.model.worker import Caller, Patience
from dynamo_webhooks.reconciler.render.names import BASE_MODEL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dynamo_webhooks.api.operator.settings import ModelSettings
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.reconciler.loop.cache import Cache
    from dynamo_webhooks.reconciler.loop.work import Work

PAUSE: Final = 2.0  # seconds between two writes of a status while loading
REMEMBERED: Final = 10_000  # Services whose base model is known; they never change it


def models_by(
    how: ModelSettings,
    caller: Callable[[Patience], Caller],
    changed: Callable[[Key], None],
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
    chance: Callable[[], float],
) -> Models:
    """As the configuration says; `changed` hears of models whose calls ended."""
    patience = Patience(how.connect, how.load, how.unload, how.verify)
    pace = Pace(how.concurrency, how.per_model, how.verify_interval)
    loader = Loader(caller(patience), changed, pace, clock=clock, sleep=sleep, chance=chance)
    return Models(loader, how.any_slice, how.unload, base_as_reference=how.base_as_reference)


@dataclass(slots=True)
class Models:
    """For one term of leading."""

    loader: Loader
    any_slice: bool  # whether EndpointSlices of others are believed, too
    unload_patience: float  # seconds for which a model that is being deleted waits for its pods
    base_as_reference: bool  # whether pods of base models are told as the Go operator tells them
    index: ModelIndex = field(default_factory=ModelIndex)
    _bases: dict[tuple[str, str], str] = field(default_factory=dict)

    def heard(self, old: Node | None, new: Node | None) -> set[Key]:
        """Takes a change of a model or a slice; gives the models that it concerns beside itself."""
        seen = new or old
        if seen is None:
            return set()
        if seen["kind"] == SLICE:
            return self.index.slice(old, new)
        if new is None:
            self.loader.forget(key_of(seen))
        return self.index.model(old, new) - {key_of(seen)} if old is None or new is None or _asks(old) != _asks(new) else set()

    def seen(self, cache: Cache, model: Node) -> Found:
        """The pods that serve a model's base model."""
        base = str((model.get("spec") or {}).get("baseModelName") or "")
        slices = (cache.get(key) for key in self.index.slices(str(model["metadata"]["namespace"]), base))
        return endpoints_in((one for one in slices if one is not None), any_slice=self.any_slice)

    def same(self, cache: Cache, model: Node) -> list[Node]:
        """The models that ask for the same adapter, this one among them as it is given."""
        found = (cache.get(key) for key in self.index.same(model))
        uid = model["metadata"].get("uid")
        return [model if one["metadata"].get("uid") == uid else one for one in found if one is not None]

    async def base_of(self, work: Work, namespace: str, service: str) -> str:
        """The base model that a Service says it serves; empty where it says none. Raises: ApiError."""
        known = self._bases.get((namespace, service))
        if known is None:
            found = await work.cluster.get(SERVICES, service, namespace)
            if found is None:
                return ""
            known = str((found["metadata"].get("annotations") or {}).get(BASE_MODEL) or "")
            if len(self._bases) >= REMEMBERED:
                self._bases.clear()
            self._bases[namespace, service] = known
        return known


def _asks(model: Node) -> object:
    return adapter_of(model), model["metadata"].get("deletionTimestamp")
