"""Which objects a change concerns. Status that we wrote ourselves concerns the owner alone: else every write would ask for another."""

from ...kube.protocol import Node
from ...kube.resources import PODS
from ..common.conditions import condition_of as found
from ..common.keys import Key, controller_reference, key_of
from ..common.resources import (
    ADAPTER,
    CLIQUE_GROUP,
    CLIQUES,
    COMPONENT,
    GRAPH,
    LWS,
    OPTED,
    REQUESTS,
    SET_NAME,
    STATEFUL_SET,
    WORKER_METADATA,
)
from ..common.resources import REQUEST_NAME as REQUEST
from ..common.workers import components_of_worker
from ..render.names import GRAPH_NAME
from .cache import Cache

_OPTED: frozenset[str] = frozenset(each.kind for each in OPTED)
_TOLD = frozenset({"phase", "currentPodTemplateHash"})  # words of an orchestrator's status that count
_OWN: frozenset[str] = frozenset({GRAPH, COMPONENT, ADAPTER}) | _OPTED


def route_change(old: Node | None, new: Node | None, cache: Cache, *, ours: bool = False) -> list[Key]:
    """The keys to pass over. An owner's pass knows what it has just written (`ours`); status is another pass's."""
    seen = new or old
    if seen is None:
        return []
    key = key_of(seen)
    keys: list[Key] = []
    if key.kind in _OWN and (old is None or new is None or read_intent(old) != read_intent(new)):
        keys.append(key)
    elif key.kind in _OPTED and not ours and old is not None and new is not None and old.get("status") != new.get("status"):
        keys.append(key)  # another controller may have begun, or ended, to act on it
    known = ours and (key.kind not in _OWN or (old or {}).get("status") == (new or {}).get("status"))
    owner = controller_reference(seen)
    if not known:
        # an owner that is gone may have been the one that controlled it: what else waits for that object, its pass finds
        keys += [one for one, controls in _owners(old, new, key.namespace).items() if controls or cache.get(one) is not None]
    if owner is not None and owner.get("kind") in (CLIQUES, CLIQUE_GROUP) and not known and _counted(old) != _counted(new):
        keys += _of_set(Key(str(owner["kind"]), key.namespace, str(owner["name"])), cache)
    if key.kind == PODS.kind and _counted(old) != _counted(new):
        keys.append(Key(GRAPH, key.namespace, str(seen["metadata"]["labels"].get(GRAPH_NAME))))
    if key.kind == STATEFUL_SET and _counted(old) != _counted(new):
        keys += _of_set(Key(LWS, key.namespace, str((seen["metadata"].get("labels") or {}).get(SET_NAME))), cache)
    if key.kind == COMPONENT and owner is None and (graph := (seen["metadata"].get("labels") or {}).get(GRAPH_NAME)):
        keys.append(Key(GRAPH, key.namespace, str(graph)))
    if key.kind == WORKER_METADATA.kind and (old is None or new is None):
        found_components = (cache.get(one) for one in components_of_worker(seen))
        keys += [one for obj in found_components if obj is not None for one in _owners(None, obj, key.namespace)]
    if key.kind == GRAPH and (name := (seen["metadata"].get("labels") or {}).get(REQUEST)) and _state(old) != _state(new):
        keys.append(Key(REQUESTS.kind, key.namespace, str(name)))
    if key.kind == GRAPH and (old is None or new is None or old.get("spec") != new.get("spec")):
        keys += cache.scaling(key)
    return keys


def is_overwritten(old: Node | None, new: Node | None, *, ours: bool) -> bool:
    """Whether somebody else has written the status of an object of ours, of which its own pass must have another look."""
    if ours or old is None or new is None or new["kind"] not in _OWN - _OPTED:
        return False
    return bool(old.get("status") != new.get("status"))


def _state(graph: Node | None) -> object:
    """What the request that a graph was made for reads of it."""
    if graph is None:
        return None
    metadata, status = graph["metadata"], graph.get("status") or {}
    return metadata.get("uid"), metadata.get("labels"), status.get("state"), status.get("components"), found(status, "Ready")


def _of_set(key: Key, cache: Cache) -> list[Key]:
    """What a set of cliques, a group in one, or a set of leaders and workers belongs to."""
    found = cache.get(key)
    owner = controller_reference(found) if found is not None else None
    if owner is not None and owner.get("kind") == CLIQUES:
        return _of_set(Key(CLIQUES, key.namespace, str(owner["name"])), cache)
    return [Key(str(owner["kind"]), key.namespace, str(owner["name"]))] if owner is not None and owner.get("kind") in _OWN else []


def _counted(obj: Node | None) -> object:
    """What a pass reads of an object that an orchestrator has made."""
    if obj is None:
        return None
    status = {name: value for name, value in (obj.get("status") or {}).items() if isinstance(value, int | float) or name in _TOLD}
    return obj["metadata"].get("uid"), obj["metadata"].get("deletionTimestamp"), (obj.get("spec") or {}).get("replicas"), status


def _owners(old: Node | None, new: Node | None, namespace: str) -> dict[Key, bool]:
    """All owners that an object has or had, of any number, and whether they control it: one that shares it, or has lost it, looks again."""
    found: dict[Key, bool] = {}
    for one in (one for obj in (old, new) if obj is not None for one in obj["metadata"].get("ownerReferences") or ()):
        if one.get("kind") in _OWN:
            key = Key(str(one["kind"]), namespace, str(one["name"]))
            found[key] = found.get(key, False) or bool(one.get("controller"))
    return found


def read_intent(obj: Node) -> object:
    """What somebody else than we may have changed."""
    names = ("uid", "generation", "annotations", "labels", "finalizers", "deletionTimestamp")
    return [obj["metadata"].get(name) for name in names], obj.get("spec")
