"""What a cluster already holds and rendering must respect. An offline render knows nothing of it, and leaves it empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from ...conversion.lens.protocol import Fields
    from .checkpoint.restore import Restore


class Held:
    """Objects by kind and namespace, in the order in which they were given. One look-up costs as much as the kind has objects there."""

    def __init__(self, objects: Iterable[Fields] = (), namespace: str = "default") -> None:
        """`namespace` is that of objects that name none; what has no kind or no name is left out."""
        self._kinds: dict[str, list[tuple[str, str, Fields]]] = {}
        for one in objects:
            kind, metadata = one.get("kind"), one.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            if isinstance(kind, str) and isinstance(name, str) and isinstance(metadata, dict):
                self._kinds.setdefault(kind, []).append((str(metadata.get("namespace") or namespace), name, one))

    def all(self, kind: str, namespace: str = "") -> list[Fields]:
        """All objects of a kind; without a namespace those of every one, and those that have none, such as Nodes."""
        return [one for where, _, one in self._kinds.get(kind, ()) if namespace in ("", where)]

    def get(self, kind: str, namespace: str, name: str) -> Fields | None:
        """One object of a namespace, or None."""
        return next((one for where, called, one in self._kinds.get(kind, ()) if where == namespace and called == name), None)


_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


class Observed(NamedTuple):
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
    left: frozenset[str] = frozenset()  # component objects without an owner that belong to the graph which their label names
    checkpoints: frozenset[str] = frozenset()  # components whose checkpoint is there, so that none is made
    waits: frozenset[str] = frozenset()  # component objects, or components on Grove, that have no pods until their checkpoint is ready
    restores: Mapping[str, Restore] = _EMPTY  # component object, or component on Grove -> the snapshot that its pods are restored from


NOTHING: Final = Observed()
