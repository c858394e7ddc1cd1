"""What passes over models share: who loads adapters, where slices and models are found, and what the configuration says of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Final

from ...api.operator.controllers import Models as ModelSettings
from ...kube.clocks import Clocks
from ...kube.errors import ApiError
from ...kube.protocol import Cluster, Node
from ...kube.resources import PODS, SERVICES
from ..common.keys import Key, key_of, move_key
from ..common.resources import SLICE
from ..engine.cache import Cache
from ..engine.work import Work
from ..render.names import BASE_MODEL, BASE_MODEL_HASH, digest
from .endpoints import Endpoint, Found, list_endpoints
from .loader import Loader
from .lora import adapter_of
from .worker import Workers

PAUSE: Final = 2.0  # seconds between two writes of a status while loading
_NONE: Final[frozenset[Key]] = frozenset()
REMEMBERED: Final = 10_000  # Services whose base model is known; they never change it


def models_by(
    cluster: Cluster,
    how: ModelSettings,
    caller: Callable[[ModelSettings], Workers],
    changed: Callable[[Key], None],
    clocks: Clocks,
) -> Models:
    """As the configuration says; `changed` hears of models whose calls ended."""
    stray = None if how.any_slice else partial(_stray, cluster)
    return Models(Loader(caller(how), changed, how, stray=stray, clocks=clocks), how)


@dataclass(slots=True)
class Models:
    """For one term of leading."""

    loader: Loader
    settings: ModelSettings
    # keys of models by their adapter, and by the digest of their base model; keys of slices by the digest
    _keys: dict[Hashable, set[Key]] = field(default_factory=dict)
    _bases: dict[tuple[str, str], str] = field(default_factory=dict)

    def heard(self, old: Node | None, new: Node | None) -> set[Key]:
        """Takes a change of a model or a slice; gives the models that it concerns beside itself."""
        seen = new or old
        if seen is None:
            return set()
        for before, now in zip_longest(_places(old) if old else (), _places(new) if new else ()):
            move_key(self._keys, key_of(seen), before, now)
        known = [one for one in (old, new) if one is not None]
        if seen["kind"] == SLICE:
            return {key for one in known for key in self._keys.get(("models", *_place(one)), _NONE)}
        if new is None:
            self.loader.forget(key_of(seen))
        asks_anew = old is None or new is None or _asks(old) != _asks(new)
        return {key for one in known for key in self._keys.get(adapter_of(one), _NONE)} - {key_of(seen)} if asks_anew else set()

    def seen(self, cache: Cache, model: Node) -> Found:
        """The pods that serve a model's base model."""
        base = str((model.get("spec") or {}).get("baseModelName") or "")
        slices = (cache.get(key) for key in self._keys.get(("slices", str(model["metadata"]["namespace"]), digest(base)), _NONE))
        return list_endpoints((one for one in slices if one is not None), any_slice=self.settings.any_slice)

    def same(self, cache: Cache, model: Node) -> list[Node]:
        """The models that ask for the same adapter, this one among them as it is given."""
        found = (cache.get(key) for key in self._keys.get(adapter_of(model), _NONE))
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


async def _stray(cluster: Cluster, model: Key, endpoint: Endpoint) -> str:
    """Why an endpoint isn't called: whoever may write slices may write any address, and the label of the controller, into them."""
    try:
        pod = await cluster.get(PODS, endpoint.pod, model.namespace)
    except ApiError as error:
        return f"the pod can't be read: {error.message}"
    status = (pod or {}).get("status") or {}
    own = {str(status.get("podIP") or ""), *(str(each.get("ip") or "") for each in status.get("podIPs") or ())}
    foreign = {endpoint.address, endpoint.other} - own - {""}
    return f"status.podIPs must hold the address that an EndpointSlice gives, {', '.join(sorted(foreign))}" if foreign else ""


def _places(found: Node) -> tuple[Hashable, ...]:
    if found["kind"] == SLICE:
        return (("slices", *_place(found)),)
    adapter = adapter_of(found)
    return adapter, ("models", adapter[0], digest(adapter[1]))


def _place(found: Node) -> tuple[str, str]:
    metadata = found["metadata"]
    return str(metadata.get("namespace") or ""), str((metadata.get("labels") or {}).get(BASE_MODEL_HASH) or "")


def _asks(model: Node) -> object:
    return adapter_of(model), model["metadata"].get("deletionTimestamp")
