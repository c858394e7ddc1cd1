"""Which models an EndpointSlice concerns, and which ask for one adapter; kept up as models come, change and go."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.loop.keys import Key, key_of, move
from dynamo_webhooks.reconciler.model.lora import adapter_of
from dynamo_webhooks.reconciler.render.names import BASE_MODEL_HASH, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dynamo_webhooks.kube.protocol import Node

_NONE: Final[frozenset[Key]] = frozenset()


class ModelIndex:
    """Keys of models by the digest of their base model, and by their adapter; keys of slices by the digest."""

    def __init__(self) -> None:
        """Knows none yet."""
        self._keys: dict[Hashable, set[Key]] = {}

    def model(self, old: Node | None, new: Node | None) -> set[Key]:
        """Takes a change of a model; gives the models that ask for the same adapter as before or as now."""
        self._move(old, new, _of_model)
        beside = (self._keys.get(adapter_of(one), _NONE) for one in (old, new) if one is not None)
        return set().union(*beside)

    def slice(self, old: Node | None, new: Node | None) -> set[Key]:
        """Takes a change of a slice; gives the models whose endpoints it holds or held."""
        self._move(old, new, _of_slice)
        concerned = (self._keys.get(("models", *_place(one)), _NONE) for one in (old, new) if one is not None)
        return set().union(*concerned)

    def slices(self, namespace: str, base: str) -> set[Key]:
        """The slices of a base model."""
        return {*self._keys.get(("slices", namespace, digest(base)), _NONE)}

    def same(self, model: Node) -> set[Key]:
        """The models that ask for the adapter of one of them, itself among them."""
        return {*self._keys.get(adapter_of(model), _NONE)}

    def _move(self, old: Node | None, new: Node | None, places: Callable[[Node], tuple[Hashable, ...]]) -> None:
        key = key_of(new or old or {})
        for before, now in zip_longest(places(old) if old else (), places(new) if new else ()):
            move(self._keys, key, before, now)


def _of_model(model: Node) -> tuple[Hashable, ...]:
    adapter = adapter_of(model)
    return adapter, ("models", adapter[0], digest(adapter[1]))


def _of_slice(found: Node) -> tuple[Hashable, ...]:
    return (("slices", *_place(found)),)


def _place(found: Node) -> tuple[str, str]:
    metadata = found["metadata"]
    return str(metadata.get("namespace") or ""), str((metadata.get("labels") or {}).get(BASE_MODEL_HASH) or "")
