"""Finds checkpoints by identity, and what asks for them, by indexes of the cache."""

from collections.abc import Hashable, Iterator

from ...kube.protocol import Node
from ..common.keys import Key, key_of
from ..common.resources import CHECKPOINT, GRAPH
from ..engine.cache import Cache
from ..render.checkpoint.identity import hash_identity, read_identity_hash
from ..render.graph import read_experimental
from ..render.merge import object_items

_IndexValue = tuple[str, str, str]  # namespace, "hash" or "name", and which one
_SAME, _USERS = "checkpoints of an identity", "users of a checkpoint"


def index_checkpoint(checkpoint: Node) -> Iterator[Hashable]:
    """Yield the key at which the index has a checkpoint."""
    yield _SAME, _index_value(checkpoint)


def index_user(obj: Node) -> Iterator[Hashable]:
    """Yield the keys at which the index has a graph or a component: one for each checkpoint that it asks for."""
    spec, namespace = obj.get("spec") or {}, key_of(obj).namespace
    for component in object_items(spec.get("components")) if obj["kind"] == GRAPH else (spec,):
        wanted = read_experimental(component, "checkpoint")
        if wanted is None:
            continue
        if name := wanted.get("checkpointRef"):
            yield _USERS, (namespace, "name", str(name))
        elif isinstance(identity := wanted.get("identity"), dict) and identity:
            yield _USERS, (namespace, "hash", hash_identity(identity))


def list_concerned(cache: Cache, checkpoint: Node) -> set[Key]:
    """List the other checkpoints of the same identity, and the graphs and components that ask for this one."""
    value, key = _index_value(checkpoint), key_of(checkpoint)
    values = ((_SAME, value), (_USERS, value), (_USERS, (key.namespace, "name", key.name)))
    return {concerned for each in values for concerned in cache.index_keys(each)} - {key}


def list_fellows(cache: Cache, user: Node) -> set[Key]:
    """List the other graphs and components that ask for the same checkpoints."""
    return {fellow for value in index_user(user) for fellow in cache.index_keys(value)} - {key_of(user)}


def find_older(cache: Cache, checkpoint: Node) -> str:
    """The name of the oldest other checkpoint of the same identity, if that is older than this one; empty otherwise."""
    oldest = _oldest(cache, _index_value(checkpoint))
    if oldest is None or _age(oldest) >= _age(checkpoint):
        return ""
    return str(oldest["metadata"]["name"])


def find_checkpoint(cache: Cache, namespace: str, wanted: Node) -> Node | None:
    """The checkpoint that a component asks for; of several of one identity the oldest counts."""
    if name := str(wanted.get("checkpointRef") or ""):
        return cache.get(Key(CHECKPOINT, namespace, name))
    identity = wanted.get("identity")
    return _oldest(cache, (namespace, "hash", hash_identity(identity))) if isinstance(identity, dict) and identity else None


def _oldest(cache: Cache, value: _IndexValue) -> Node | None:
    return min(cache.by_index((_SAME, value)), key=_age, default=None)


def _age(checkpoint: Node) -> tuple[str, bool, str]:
    """Return a sort key that is less for the older checkpoint; of two of the same second, one that has begun is older."""
    metadata = checkpoint["metadata"]
    begun = bool((checkpoint.get("status") or {}).get("jobName"))
    return str(metadata.get("creationTimestamp") or ""), not begun, str(metadata["name"])


def _index_value(checkpoint: Node) -> _IndexValue:
    return key_of(checkpoint).namespace, "hash", read_identity_hash(checkpoint)
