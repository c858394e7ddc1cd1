"""State that a cluster already holds and rendering must respect. An offline render knows nothing of it, and leaves it empty."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from .checkpoint.restore import Restore


_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


class ObservedState(NamedTuple):
    """Facts of one graph's life, gathered by the loop."""

    worker_hash: str = ""  # the generation that the workers are named after; empty: computed from the object
    restart_at: Mapping[str, str] = _EMPTY  # component -> restart id that its pods carry; such a mark stays for good
    restarted: frozenset[str] = frozenset()  # components that have completed the restart which the object asks for
    rolling: bool = False  # a roll of the workers is under way: no restart begins
    replicas: Mapping[str, int] = _EMPTY  # worker component -> replicas of the new generation during a roll
    frameworks: Mapping[str, str] = _EMPTY  # component -> framework that its object was made with
    # component objects, or components on Grove, whose pods are still selected as `worker` with a sub-type
    grove: bool | None = None  # whether the graph runs on Grove, or is to; None: as the cluster serves it and the graph says
    old_selectors: frozenset[str] = frozenset()
    orphans: frozenset[str] = frozenset()  # component objects without an owner that belong to the graph which their label names
    checkpoints: frozenset[str] = frozenset()  # components whose checkpoint is there, so that none is made
    waiting_components: frozenset[str] = (
        frozenset()
    )  # component objects, or components on Grove, that have no pods until their checkpoint is ready
    revision: str = ""  # of the graph's DisaggregatedSet, which Services of its roles select; empty: not known yet
    kept_revisions: Mapping[str, str] = _EMPTY  # Service of a role -> the revision that it selects until the new one is ready
    restores: Mapping[str, Restore] = _EMPTY  # component object, or component on Grove -> the snapshot that its pods are restored from


NOTHING: Final = ObservedState()
