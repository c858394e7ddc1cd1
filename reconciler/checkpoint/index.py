"""What passes over checkpoints and over what uses them share: which are of one identity, and who asks for which."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ...kube.protocol import Node
from ..common.keys import Key, key_of, move_key
from ..common.resources import CHECKPOINT, COMPONENT, GRAPH
from ..engine.cache import Cache
from ..render.checkpoint.identity import identity_hash, read_identity_hash
from ..render.graph import experimental
from ..render.merge import object_items, string_map
from ..render.names import ARTIFACT_VERSION
from .phases import IMAGE
from .restore_condition import ANY_IMAGE

_NONE: Final[frozenset[Key]] = frozenset()
_Place = tuple[str, str, str]  # namespace, "hash" or "name", and which one


@dataclass(slots=True)
class Checkpoints:
    """As far as was heard of since the process began to listen."""

    _twins: dict[_Place, set[Key]] = field(default_factory=dict)
    _users: dict[_Place, set[Key]] = field(default_factory=dict)

    def heard(self, old: Node | None, new: Node | None) -> set[Key]:
        """Takes a change of a checkpoint, a graph or a component; gives the objects that it concerns beside itself."""
        seen = new or old
        if seen is None or seen["kind"] not in (CHECKPOINT, GRAPH, COMPONENT):
            return set()
        key = key_of(seen)
        if key.kind != CHECKPOINT:
            return self._asks(key, old, new)
        move_key(self._twins, key, _place(old), _place(new))
        if _standing(old) == _standing(new):
            return set()
        place = _place(seen) or ("", "", "")
        users = self._users.get(place, _NONE) | self._users.get((key.namespace, "name", key.name), _NONE)
        return {*self._twins.get(place, _NONE), *users} - {key}

    def _asks(self, key: Key, old: Node | None, new: Node | None) -> set[Key]:
        """Takes a change of a graph or a component; where other images are admitted or refused now, components must look again."""
        before, now = ({*_asked(one)} if one is not None else set() for one in (old, new))
        for place in before - now:
            move_key(self._users, key, place, None)
        for place in now - before:
            move_key(self._users, key, None, place)
        if old is None or new is None or _any_image(old) == _any_image(new):
            return set()
        return {user for place in now for user in self._users.get(place, _NONE)} - {key}

    def older(self, cache: Cache, checkpoint: Node) -> str:
        """The name of the oldest other checkpoint of the same identity, if that is older than this one; empty otherwise."""
        oldest = self._oldest(cache, _place(checkpoint))
        if oldest is None or _age(oldest) >= _age(checkpoint):
            return ""
        return str(oldest["metadata"]["name"])

    def found(self, cache: Cache, namespace: str, wanted: Node) -> Node | None:
        """The checkpoint that a component asks for; of several of one identity the oldest counts."""
        if name := str(wanted.get("checkpointRef") or ""):
            return cache.get(Key(CHECKPOINT, namespace, name))
        identity = wanted.get("identity")
        return self._oldest(cache, (namespace, "hash", identity_hash(identity))) if isinstance(identity, dict) and identity else None

    def _oldest(self, cache: Cache, place: _Place | None) -> Node | None:
        found = (cache.get(key) for key in self._twins.get(place, _NONE)) if place is not None else ()
        return min((one for one in found if one is not None), key=_age, default=None)


def _age(checkpoint: Node) -> tuple[str, bool, str]:
    """What the older of two is less in; of two of one second, the one that has begun is older."""
    metadata = checkpoint["metadata"]
    begun = bool((checkpoint.get("status") or {}).get("jobName"))
    return str(metadata.get("creationTimestamp") or ""), not begun, str(metadata["name"])


def _place(checkpoint: Node | None) -> _Place | None:
    return (key_of(checkpoint).namespace, "hash", read_identity_hash(checkpoint)) if checkpoint is not None else None


def _asked(obj: Node) -> Iterator[_Place]:
    """The checkpoints that a graph or a component asks for."""
    spec, namespace = obj.get("spec") or {}, key_of(obj).namespace
    for one in object_items(spec.get("components")) if obj["kind"] == GRAPH else (spec,):
        wanted = experimental(one, "checkpoint")
        if wanted is None:
            continue
        if name := wanted.get("checkpointRef"):
            yield namespace, "name", str(name)
        elif isinstance(identity := wanted.get("identity"), dict) and identity:
            yield namespace, "hash", identity_hash(identity)


def _any_image(obj: Node) -> str:
    return string_map(obj["metadata"].get("annotations")).get(ANY_IMAGE, "")


def _standing(checkpoint: Node | None) -> object:
    """What others read of a checkpoint."""
    if checkpoint is None:
        return None
    status, annotations = checkpoint.get("status") or {}, string_map(checkpoint["metadata"].get("annotations"))
    marks = annotations.get(ARTIFACT_VERSION), annotations.get(IMAGE)
    return checkpoint["metadata"].get("uid"), status.get("phase"), status.get("jobName"), status.get("message"), marks
